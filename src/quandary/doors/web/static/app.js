// Makes the pages live and quick to answer. Without it everything still works: forms are forms.
"use strict";

const page = document.body.dataset;
const live = document.getElementById("live");
const say = (text) => { if (live && live.textContent !== text) live.textContent = text; };
const each = (within, what) => [...within.querySelectorAll(what)];
const AWAY = "The server cannot be reached. What you filled in is still here.";
const LATE = "This was answered elsewhere. Reload to see the result.";

// -- news ------------------------------------------------------------------------------------

async function part(address) {
  const answer = await fetch(address, { headers: { "x-part": "1" } });
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.text(); // made by the same escaping templates as the page itself
}

function same(part, fresh) {
  const made = document.createElement("template");
  made.innerHTML = fresh;
  return made.innerHTML === part.innerHTML;
}

async function refreshList() {
  const list = document.getElementById("list");
  const fresh = await part(location.href);
  if (same(list, fresh)) return;
  // Whoever is just pressing a link would press nothing if it were replaced under the finger.
  if (list.querySelector(":active")) { setTimeout(refreshList, 300); return; }
  const focused = list.contains(document.activeElement) && document.activeElement.getAttribute("href");
  list.innerHTML = fresh;
  if (focused) each(list, "a").find((link) => link.getAttribute("href") === focused)?.focus();
  if (page.page !== "inbox") return;
  const count = each(list, ".inbox > li").length;
  const more = list.querySelector(".inbox ~ p a") ? "+" : "";
  document.title = (count ? `(${count}${more}) ` : "") + "Inbox · Quandary";
}

async function refreshRun() {
  const answer = await fetch(`/api/runs/${page.run}`);
  if (!answer.ok) throw new Error(String(answer.status));
  const state = await answer.json();
  const key = state.ask ? state.ask.key : "";
  const form = document.querySelector("[data-ask]");
  if (form && form.dataset.ask !== key) {
    if (!touched(form)) return reload();
    say(LATE);
    form.querySelector(".send button").disabled = true;
    return undefined;
  }
  if (!form && key) {
    if (!each(document, "#doing input[type=text]").some((one) => one.value)) return reload();
    say("The run has a new question. Reload to see it.");
  }
  const status = document.querySelector("#asked .status");
  if (status) {
    status.textContent = state.status;
    status.className = `status ${state.status}`;
  }
  const made = document.createElement("template");
  made.innerHTML = await part(home);
  for (const name of ["doing", "told"]) {
    renew(document.getElementById(name), made.content.getElementById(name));
  }
  return undefined;
}

const home = `/runs/${page.run}`; // where a form was refused, the address is the form's
const reload = () => (location.pathname === home ? location.reload() : location.replace(home));

// Changes only what is different, so that whoever reads, types or scrolls there is not disturbed.
function renew(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeType !== Node.ELEMENT_NODE || old.nodeName !== fresh.nodeName) {
    old.replaceWith(fresh);
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  const before = [...old.childNodes];
  const after = [...fresh.childNodes];
  after.forEach((child, place) => (place < before.length ? renew(before[place], child) : old.append(child)));
  for (const child of before.slice(after.length)) child.remove();
}

function tick() { // how long somebody has been at work; the next news set it right
  for (const one of each(document, "[data-seconds]")) {
    const seconds = Number(one.dataset.seconds) + 1;
    one.dataset.seconds = seconds;
    one.textContent = `, for ${seconds} s`;
  }
}

const touched = (form) => each(form, "input, textarea").some((one) =>
  (one.type === "radio" || one.type === "checkbox" ? one.checked && !one.disabled
    : one.type !== "hidden" && one.value));

function listen() {
  const refresh = { inbox: refreshList, runs: refreshList, run: refreshRun }[page.page];
  if (!refresh) return;
  let lost = false;
  let due = 0;
  let last = 0;
  const soon = () => { // at most once a second, however much happens
    if (due) return;
    due = setTimeout(() => {
      due = 0;
      last = Date.now();
      refresh().catch(() => {});
    }, Math.max(80, last + 1000 - Date.now()));
  };
  const source = new EventSource(page.page === "run" ? `/events?run=${page.run}` : "/events");
  source.addEventListener("news", soon);
  source.addEventListener("hello", () => { if (lost) say(""); lost = false; soon(); });
  source.onerror = () => {
    lost = true;
    say(AWAY);
    if (source.readyState === EventSource.CLOSED) setTimeout(() => { source.close(); listen(); }, 3000);
  };
  window.addEventListener("pagehide", () => source.close());
  window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
}

// -- answering -------------------------------------------------------------------------------

const picks = (set) => each(set, "input[type=radio], input[type=checkbox]");
const words = (set) => set.querySelector("[data-words]");
const other = (set) => set.querySelector(".other input[type=radio], .other input[type=checkbox]");
const answered = (set) => picks(set).some((one) => one.checked) || words(set).value.trim() !== "";
const sets = () => each(document, "[data-ask] fieldset");
const current = () => document.activeElement?.closest?.("fieldset")
  || sets().find((set) => !answered(set)) || sets()[0];

function prepare(form) {
  const hint = form.querySelector("[data-hint]");
  hint.textContent = "1–9 or a letter chooses, ↑↓ move, ←→ other question, Enter continues, ? explains";
  for (const set of sets()) {
    restore(set);
    const box = words(set);
    let due = 0;
    box.addEventListener("input", () => {
      if (box.value) other(set).checked = true;
      clearTimeout(due);
      due = setTimeout(() => show(set), 120);
    });
    for (const one of picks(set)) one.addEventListener("change", () => show(set));
    if (box.value) show(set);
  }
  form.addEventListener("submit", (event) => {
    for (const set of sets()) { // where an option was chosen after all, the words beside it are not meant
      const left = other(set).type === "radio" && !other(set).checked && picks(set).some((one) => one.checked);
      words(set).disabled = left;
    }
    const extra = event.submitter?.matches(".extra") ? event.submitter : null;
    const asking = extra?.closest("fieldset") || sets().find((set) => !("value" in set.dataset) && /^(\?+|q:)/i.test(words(set).value.trim()) && other(set).checked);
    if (asking && sets().length > 1) {
      event.preventDefault();
      explain(form, asking, extra);
      return;
    }
    forget(sets());
    form.querySelector(".send button").disabled = true;
  });
}

// What is asked back is answered in place: only that question is sent. What was chosen for the others
// is kept in the browser until they come again.
async function explain(form, set, pressed) {
  const sent = new FormData(form, pressed);
  const own = new Set([...set.elements].map((one) => one.name));
  for (const name of [...sent.keys()]) {
    if (!own.has(name) && !["mark", "to", "token"].includes(name)) sent.delete(name);
  }
  keep(sets().filter((one) => one !== set && answered(one)).map(remember));
  try {
    const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(sent) });
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const asked = fresh.getElementById("asked");
    if (!asked || !asked.querySelector("form")) { location.reload(); return; }
    document.getElementById("asked").replaceWith(document.adoptNode(asked));
    document.getElementById("told").replaceWith(document.adoptNode(fresh.getElementById("told")));
    prepare(document.querySelector("[data-ask]"));
    picks(sets()[0])[0].focus();
    window.scrollTo({ top: 0 });
    say("The explanation is above the questions.");
  } catch { say(AWAY); }
}

const drawer = `quandary:${page.run}`;
const kept = () => JSON.parse(sessionStorage.getItem(drawer) || "[]");
const keep = (fresh) => sessionStorage.setItem(drawer, JSON.stringify(
  [...kept().filter((old) => fresh.every((one) => one.same !== old.same)), ...fresh]));
const forget = (gone) => sessionStorage.setItem(drawer, JSON.stringify(
  kept().filter((old) => gone.every((set) => set.dataset.same !== old.same))));

const remember = (set) => ({
  same: set.dataset.same,
  picked: picks(set).filter((one) => one.checked).map((one) => one.value),
  words: words(set).value,
  remark: set.querySelector("textarea").value,
});

function restore(set) {
  const old = kept().find((one) => one.same === set.dataset.same);
  if (!old || answered(set)) return;
  for (const one of picks(set)) if (old.picked.includes(one.value)) one.checked = true;
  words(set).value = old.words;
  set.querySelector("textarea").value = old.remark;
  if (old.remark) set.querySelector(".remark").open = true;
}

async function show(set) {
  const reading = set.querySelector("[data-reading]");
  const text = words(set).value.trim();
  if (!text) { reading.textContent = ""; return; }
  if (!other(set).checked) { reading.textContent = "not sent, because an option is chosen"; return; }
  const query = new URLSearchParams({ key: set.dataset.question, text });
  try {
    const answer = await fetch(`/api/runs/${page.run}/read?${query}`);
    if (words(set).value.trim() !== text) return;
    reading.textContent = answer.ok ? `→ ${(await answer.json()).says}` : "";
  } catch { reading.textContent = ""; }
}

// -- keys ------------------------------------------------------------------------------------

function choose(set, one) {
  if (one.disabled) return;
  one.focus();
  one.checked = one.type === "radio" || !one.checked;
  one.dispatchEvent(new Event("change", { bubbles: true }));
  if (one === other(set)) { if (one.checked) words(set).focus(); }
  else if (one.type === "radio") onward(set, false);
}

function onward(set, send) { // to the next open question; if there is none, the form can be sent
  const all = sets();
  const behind = [...all.slice(all.indexOf(set) + 1), ...all];
  const next = behind.find((one) => !answered(one));
  if (next) goTo(next);
  else if (send) document.querySelector("[data-ask]").requestSubmit();
}

function goTo(set) {
  (picks(set).find((one) => one.checked && !one.disabled) || picks(set).find((one) => !one.disabled))?.focus();
  set.scrollIntoView({ block: "nearest" });
}

function move(set, step) {
  const all = picks(set).filter((one) => !one.disabled);
  const at = all.indexOf(document.activeElement);
  all[at < 0 ? (step > 0 ? 0 : all.length - 1) : (at + step + all.length) % all.length].focus();
}

function byLetter(set, letter) {
  const fitting = picks(set).filter((one) => one.closest(".card").dataset.letter === letter && !one.disabled);
  if (!fitting.length) return false;
  const at = fitting.indexOf(document.activeElement);
  choose(set, fitting[(at + 1) % fitting.length]);
  return true;
}

function pressed(event) {
  if (!sets().length || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const set = current();
  const typing = event.target.matches("input[type=text], textarea");
  if (typing) {
    if (event.key === "Escape") { event.preventDefault(); other(set).focus(); }
    else if (event.key === "Enter" && event.target.matches("[data-words]")) {
      event.preventDefault();
      onward(set, true);
    }
    return;
  }
  if (event.target.matches("button, a, summary")) return;
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const turn = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  let done = true;
  if (/^[1-9]$/.test(event.key)) {
    const chosen = picks(set)[Number(event.key) - 1];
    if (chosen) choose(set, chosen); else done = false;
  } else if (step) move(set, step);
  else if (turn) { const to = sets()[sets().indexOf(set) + turn]; if (to) goTo(to); }
  else if (event.key === "<") document.querySelector("[data-up]")?.click();
  else if (event.key === "?" && !("value" in set.dataset)) {
    words(set).value = "?";
    other(set).checked = true;
    document.querySelector("[data-ask]").requestSubmit();
  } else if (event.key === "Enter") {
    const here = document.activeElement;
    if (picks(set).includes(here) && here.type === "radio" && !here.checked) choose(set, here);
    else onward(set, true);
  } else if (/^\p{L}$/u.test(event.key)) {
    const extra = each(set, ".extra").find((one) => one.value === event.key.toUpperCase());
    done = byLetter(set, event.key.toLowerCase());
    if (!done && extra) { extra.focus(); done = true; }
  } else done = false;
  if (done) event.preventDefault();
}

listen();
for (const form of each(document, "[data-ask]")) prepare(form);
document.addEventListener("keydown", pressed);
document.addEventListener("submit", (event) => {
  if (event.target.matches("[data-once]")) event.target.querySelector("button").disabled = true;
});
window.addEventListener("pageshow", () => {
  for (const button of each(document, ".send button, [data-once] button")) button.disabled = false;
});
if (page.page === "run") setInterval(tick, 1000);
if (matchMedia("(max-width: 60rem)").matches) document.querySelector(".whole")?.removeAttribute("open");
