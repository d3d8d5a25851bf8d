// Makes the pages live and quick to answer. Without it everything still works: forms are forms.
"use strict";

const page = document.body.dataset;
const live = document.getElementById("live");
const say = (text) => { if (live && live.textContent !== text) live.textContent = text; };

// -- news ------------------------------------------------------------------------------------

async function refreshInbox() {
  const answer = await fetch(location.href, { headers: { "x-part": "list" } });
  if (!answer.ok) return;
  const list = document.getElementById("list");
  const focused = document.activeElement && document.activeElement.getAttribute("href");
  list.innerHTML = await answer.text(); // made by the same escaping template as the page itself
  const count = list.querySelectorAll(".inbox > li").length;
  document.title = (count ? `(${count}) ` : "") + "Inbox · Quandary";
  if (focused) for (const link of list.querySelectorAll("a")) {
    if (link.getAttribute("href") === focused) link.focus();
  }
}

async function refreshRun() {
  const answer = await fetch(`/api/runs/${page.run}`);
  if (!answer.ok) return;
  const state = await answer.json();
  const key = state.ask ? state.ask.key : "";
  if (key === page.key) return;
  if (document.querySelector("[data-ask]") && touched()) {
    say("This question was answered elsewhere. Reload to see what came of it.");
    const button = document.querySelector(".send button");
    if (button) button.disabled = true;
  } else location.reload();
}

const touched = () => [...document.querySelectorAll("[data-ask] input, [data-ask] textarea")].some(
  (input) => (input.type === "text" || input.tagName === "TEXTAREA" ? input.value : input.checked));

function listen() {
  if (page.page !== "inbox" && page.page !== "run") return;
  let lost = false;
  let due = 0;
  const refresh = () => {
    clearTimeout(due);
    due = setTimeout(() => {
      (page.page === "inbox" ? refreshInbox() : refreshRun()).catch(() => {});
    }, 80);
  };
  const source = new EventSource("/events");
  source.addEventListener("news", (event) => {
    if (page.page === "inbox" || event.data.startsWith(page.run)) refresh();
  });
  source.addEventListener("hello", () => { if (lost) { say(""); refresh(); } lost = false; });
  source.onerror = () => { lost = true; say("The server is away. What you typed is still here."); };
}

// -- answering -------------------------------------------------------------------------------

function prepareForm(form) {
  const sets = [...form.querySelectorAll("fieldset")];
  const hint = form.querySelector("[data-hint]");
  if (hint) hint.textContent = "1–9 choose, Enter sends, ? explains";
  for (const set of sets) {
    const words = set.querySelector("[data-words]");
    const other = set.querySelector(".other input[type=radio], .other input[type=checkbox]");
    const reading = set.querySelector("[data-reading]");
    let due = 0;
    words.addEventListener("input", () => {
      if (words.value && other) other.checked = true;
      clearTimeout(due);
      due = setTimeout(() => show(set, words, reading), 120);
    });
  }
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("input[type=text], textarea, button, a, summary");
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing) return;
    const set = event.target.closest("fieldset") || sets.find((one) => !answered(one)) || sets[0];
    if (/^[1-9]$/.test(event.key)) {
      const inputs = set.querySelectorAll("input[type=radio], input[type=checkbox]");
      const chosen = inputs[Number(event.key) - 1];
      if (!chosen) return;
      event.preventDefault();
      chosen.focus();
      chosen.checked = chosen.type === "radio" || !chosen.checked;
      if (chosen.closest(".other")) set.querySelector("[data-words]").focus();
    } else if (event.key === "?") {
      event.preventDefault();
      const words = set.querySelector("[data-words]");
      words.value = "?";
      form.requestSubmit();
    } else if (event.key === "Enter") {
      event.preventDefault();
      const open = sets.find((one) => !answered(one));
      if (open) open.querySelector("input").focus();
      else form.requestSubmit();
    }
  });
  form.addEventListener("submit", () => { form.querySelector(".send button").disabled = true; });
  window.addEventListener("pageshow", () => { form.querySelector(".send button").disabled = false; });
}

const answered = (set) => set.querySelector("input:checked") !== null;

async function show(set, words, reading) {
  const text = words.value.trim();
  if (!text) { reading.textContent = ""; return; }
  const query = new URLSearchParams({ key: set.dataset.question, text });
  try {
    const answer = await fetch(`/api/runs/${page.run}/read?${query}`);
    if (!answer.ok || words.value.trim() !== text) return;
    const read = await answer.json();
    const kinds = { "own-words": "your own words", ambiguous: "fits several; you will be asked which" };
    reading.textContent = "→ " + (kinds[read.kind] || read.matched || read.kind);
  } catch { reading.textContent = ""; }
}

listen();
for (const form of document.querySelectorAll("[data-ask]")) prepareForm(form);
