// Makes the pages live and quick to answer. Without it everything still works: forms are forms.
"use strict";

const page = document.body.dataset;
const live = document.getElementById("live");
const say = (text) => { if (live && live.textContent !== text) live.textContent = text; };
const each = (within, what) => [...within.querySelectorAll(what)];
const find = (what) => document.querySelector(what);
const AWAY = "The server cannot be reached. What you filled in is still here.";
const LATE = "This was answered elsewhere. Reload to see the result.";

// -- going from page to page -----------------------------------------------------------------

// Every page is whole; what changes is put in its place, so that the list keeps still.
async function visit(address, sent = {}, kept = false) {
  const main = find("main");
  if (main.ariaBusy === "true") return;
  main.ariaBusy = "true";
  try {
    const answer = await fetch(address, { ...sent, headers: { Accept: "text/html" } });
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const came = new URL(answer.url);
    if (came.pathname === "/login") { location.assign(came); return; }
    if (!fresh.body.dataset.page) {
      if (!sent.method) location.assign(came);
      else say(fresh.querySelector(".problem")?.textContent || AWAY);
      for (const button of each(document, "form button")) button.disabled = false;
      return;
    }
    show_page(fresh);
    came.searchParams.delete("answered");
    came.searchParams.delete("past");
    came.searchParams.delete("later");
    if (answer.ok && !kept && came.href !== location.href) history.pushState(null, "", came);
    lost = false;
  } catch {
    say(AWAY);
    for (const button of each(document, "form button")) button.disabled = false;
  } finally { find("main").ariaBusy = null; }
}

let turned = 0; // how many pages were shown; what was fetched for one is not put into another

function show_page(fresh) {
  turned += 1;
  say(""); // what was said of the page before
  const scrolled = find(".list")?.scrollTop || 0;
  const ticked = each(document, ".tick input:checked").map((one) => one.value);
  document.title = fresh.title;
  for (const name of Object.keys(page)) delete page[name];
  Object.assign(page, fresh.body.dataset);
  find("main").replaceWith(document.adoptNode(fresh.querySelector("main")));
  if (find(".list")) find(".list").scrollTop = scrolled;
  for (const one of each(document, ".tick input")) one.checked = ticked.includes(one.value);
  count_selected();
  find(".current")?.scrollIntoView({ block: "nearest" });
  prepare_page();
  window.scrollTo({ top: 0 });
  const pane = find("#pane");
  (pane?.checkVisibility() ? pane : find("main")).focus({ preventScroll: true });
}

function prepare_page() {
  for (const form of each(document, "[data-ask]")) prepare(form);
  const pane = document.getElementById("pane");
  if (pane) pane.tabIndex = -1;
  prepare_search();
  tell_ages();
  for (const one of each(document, "[name=zone]")) one.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if ("counting" in page) setTimeout(reload, 1000); // figures that are not there yet
  if (matchMedia("(max-width: 100rem)").matches) find(".whole")?.removeAttribute("open");
}

// The journal's clock is in UTC; whoever looks has one of their own.
const UTC = /\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?Z/;
const by_clock = (said) => {
  const at = new Date(said.replace(" ", "T"));
  return new Date(at - at.getTimezoneOffset() * 60000).toISOString().replace("T", " ").slice(0, said.length - 1);
};
const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
let alarm = 0;

function tell_ages() { // how long something has waited, and when what is snoozed comes back
  for (const one of each(document, "[data-since]")) {
    const seconds = Math.max((Date.now() - Date.parse(one.dataset.since)) / 1000, 0);
    const [size, unit] = UNITS.find(([size]) => seconds >= size) || [1, "s"];
    const age = `${Math.floor(seconds / size)} ${unit}`;
    one.textContent = "ago" in one.dataset ? `waits ${age}` : age;
    one.title = `since ${by_clock(`${one.dataset.since.slice(0, 16)}Z`)}`;
  }
  for (const one of each(document, "time:not([data-since])")) one.textContent = one.textContent.replace(UTC, by_clock);
  const due = find("[data-due]")?.dataset.due;
  clearTimeout(alarm);
  if (due) alarm = setTimeout(() => refreshList().catch(() => {}), Math.min(Math.max(Date.parse(due) - Date.now(), 0) + 1000, 2 ** 31 - 1));
}

// -- news ------------------------------------------------------------------------------------

async function part(address, name, known = "") { // 304 where the page has just what is known
  const answer = await fetch(address, { headers: { "x-part": name, ...(known && { "if-none-match": known }) } });
  if (!answer.ok && answer.status !== 304) throw new Error(String(answer.status));
  return answer; // made by the same escaping templates as the page itself
}

function same(part, fresh) {
  const made = document.createElement("template");
  made.innerHTML = fresh;
  const now = part.cloneNode(true);
  for (const one of [...each(made.content, "time"), ...each(now, "time")]) {
    one.textContent = "";
    one.removeAttribute("title");
  }
  each(now, "li.current").forEach(unmark);
  each(made.content, "li.current").forEach(unmark);
  return made.innerHTML === now.innerHTML;
}

const unmark = (row) => { row.removeAttribute("class"); row.removeAttribute("aria-current"); };
const mark = (row) => { row.className = "current"; row.setAttribute("aria-current", "true"); };

async function refreshList(address = location.href) {
  const [list, before] = [document.getElementById("list"), turned];
  const answer = await part(address, page.page === "runs" ? "runs_list" : "inbox_list", list.tag);
  if (answer.status === 304) return;
  const [fresh, tag] = [await answer.text(), answer.headers.get("etag") ?? ""];
  if (before !== turned) return;
  if (same(list, fresh)) { list.tag = tag; return; }
  // Whoever is just pressing a link would press nothing if it were replaced under the finger.
  if (list.querySelector(":active")) { setTimeout(refreshList, 300); return; }
  const focused = list.contains(document.activeElement) && document.activeElement.getAttribute("href");
  const ticked = each(list, ".tick input:checked").map((one) => one.value);
  list.innerHTML = fresh;
  list.tag = tag;
  for (const one of each(list, ".tick input")) one.checked = ticked.includes(one.value);
  count_selected();
  if (focused) each(list, "a").find((link) => link.getAttribute("href") === focused)?.focus();
  tell_ages();
  if (page.page !== "inbox") return;
  const row = page.run && find(`[data-row="${page.run}"]`);
  if (row) mark(row);
  const { count } = list.querySelector("[data-count]").dataset;
  find("h1 .count").textContent = count;
  if (location.pathname === "/") document.title = (rows().length ? `(${count}) ` : "") + "Inbox · Quandary";
  if (!page.run && rows().length && is_wide() && !find("#q").value) reload(); // nothing is open, and something waits
}

async function refreshRun() {
  const before = turned;
  const answer = await fetch(`/api/runs/${page.run}`);
  if (!answer.ok) throw new Error(String(answer.status));
  const state = await answer.json();
  if (before !== turned) return undefined;
  const key = state.ask ? state.ask.key : "";
  const form = find("[data-ask]");
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
  const status = find("#asked .status");
  if (status) {
    status.textContent = state.status;
    status.className = `status ${state.status}`;
  }
  const made = document.createElement("template");
  made.innerHTML = await (await part(`/runs/${page.run}`, "parts")).text();
  if (before !== turned) return undefined;
  for (const name of ["doing", "told"]) {
    renew(document.getElementById(name), made.content.getElementById(name));
  }
  tell_ages();
  return undefined;
}

// Where a form was refused, the address is still that of the page before.
const reload = () => visit(location.href, {}, true);

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
    : "field" in one.dataset ? one.value !== one.defaultValue : one.type !== "hidden" && one.value));

let lost = false;

function listen() {
  let due = 0;
  let ready = 0;
  let runs = "";
  const refresh = async () => {
    const told = ` ${runs} `;
    runs = "";
    if (document.getElementById("list")) await refreshList();
    if (page.run && page.page !== "together" && / (\*|hello) /.test(told) | told.includes(page.run)) await refreshRun();
  };
  const plan = () => { // at once, and the less often the longer it takes, however much happens
    due = setTimeout(async () => {
      const begun = Date.now();
      await refresh().catch(() => {});
      ready = Date.now() + Math.min(3 * (Date.now() - begun), 500);
      due = 0;
      if (runs) plan();
    }, Math.max(30, ready - Date.now()));
  };
  const soon = (event) => {
    runs += ` ${event.data}`;
    if (!due) plan();
  };
  const source = new EventSource("/events");
  source.addEventListener("news", soon);
  source.addEventListener("hello", (event) => { if (lost) say(""); lost = false; soon(event); });
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
const sets = () => each(document, "[data-ask] fieldset").filter((one) => one.checkVisibility()); // nobody answers unseen
const current = () => document.activeElement?.closest?.("fieldset")
  || sets().find((set) => !answered(set)) || sets()[0];

const HINT = "<kbd>1</kbd>–<kbd>9</kbd> chooses <kbd>Enter</kbd> sends <kbd>?</kbd> all keys";
const LINES = "<kbd>Enter</kbd> begins a line <kbd>Ctrl</kbd>+<kbd>Enter</kbd> sends <kbd>Esc</kbd> leaves the box";

function prepare(form) {
  form.querySelector("[data-hint]").innerHTML = HINT;
  for (const set of each(form, "fieldset")) {
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
    if (extra && sets().length > 1) {
      event.preventDefault();
      send_one(form, extra.closest("fieldset"), extra);
      return;
    }
    forget(sets());
  });
}

// An extra is pressed for its own question, and only that is sent. What was chosen for the others is
// kept in the browser until they come again. Send sends them all, whatever was asked back beside them.
async function send_one(form, set, pressed) {
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
    show_page(fresh);
  } catch { say(AWAY); }
}

const drawer = () => `quandary:${page.run}`;
const kept = () => JSON.parse(sessionStorage.getItem(drawer()) || "[]");
const keep = (fresh) => sessionStorage.setItem(drawer(), JSON.stringify(
  [...kept().filter((old) => fresh.every((one) => one.same !== old.same)), ...fresh]));
const forget = (gone) => sessionStorage.setItem(drawer(), JSON.stringify(
  kept().filter((old) => gone.every((set) => set.dataset.same !== old.same))));

const remember = (set) => ({
  same: set.dataset.same,
  picked: picks(set).filter((one) => one.checked).map((one) => one.value),
  words: words(set).value,
  remark: set.querySelector(".remark textarea").value,
});

function restore(set) {
  const old = kept().find((one) => one.same === set.dataset.same);
  if (!old || answered(set)) return;
  for (const one of picks(set)) if (old.picked.includes(one.value)) one.checked = true;
  words(set).value = old.words;
  set.querySelector(".remark textarea").value = old.remark;
  if (old.remark) set.querySelector(".remark").open = true;
}

async function show(set) {
  if (!set.isConnected) return; // the page was turned meanwhile
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

// -- the list --------------------------------------------------------------------------------

const is_wide = () => matchMedia("(min-width: 60rem)").matches;
const rows = () => each(document, "#list .inbox > li").filter((row) => row.querySelector("a.to"));

function step_row(step) { // opens the next question; on a small screen only goes to its link
  const all = rows();
  const here = all.findIndex((row) => row.matches(".current") || row.contains(document.activeElement));
  const to = all[here < 0 ? (step > 0 ? 0 : all.length - 1) : here + step];
  if (!to) { if (step > 0) find("[data-more]")?.click(); return; }
  const link = to.querySelector("a.to");
  if (!document.getElementById("pane") || !is_wide()) { link.focus(); return; }
  each(document, "#list .current").forEach(unmark);
  mark(to);
  to.scrollIntoView({ block: "nearest" });
  visit(link.href);
}

function select_row() {
  const row = rows().find((one) => one.contains(document.activeElement)) || find("#list .current");
  const box = row?.querySelector(".tick input");
  if (!box) { say("This question can only be answered on its own."); return; }
  box.checked = !box.checked;
  tell_selected(box);
}

function tell_selected(box) {
  const count = count_selected();
  say(count ? `${count} selected${box.checked ? "" : " now"}` : "");
}

function count_selected() { // only questions that ask the same can be selected together
  const all = each(document, ".tick input");
  const chosen = all.filter((one) => one.checked);
  for (const one of all) one.disabled = chosen.length > 0 && one.dataset.same !== chosen[0].dataset.same;
  const told = find("[data-together]");
  if (told && chosen.length) told.textContent = `Answer ${chosen.length} together`;
  return chosen.length;
}

function prepare_search() {
  const box = document.getElementById("q");
  if (!box) return;
  box.form.addEventListener("input", () => {
    clearTimeout(searching);
    searching = setTimeout(() => search(box).catch(() => say(AWAY)), 150);
  });
}

let searching = 0;

function search(box) {
  clearTimeout(searching);
  const wishes = new URLSearchParams([...new FormData(box.form)].filter(([, said]) => said));
  const address = new URL(`${location.pathname}?${wishes}`.replace(/\?$/, ""), location.href);
  history.replaceState(null, "", address);
  return refreshList(address);
}

async function open_hit(box) {
  try { await search(box); } catch { say(AWAY); return; }
  const first = rows()[0]?.querySelector("a.to");
  if (first) visit(first.href); else say("Nothing fits.");
}

function clear_search() {
  const box = find("#q");
  if (!box?.value) return false;
  box.value = "";
  box.dispatchEvent(new Event("input", { bubbles: true }));
  return true;
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


const PLACES = { i: "/", r: "/runs", t: "/trees", s: "/stats" };
let leading = 0; // until when the key behind a `g` is waited for

function command(key) { // keys that mean the same on every page; these letters choose no option
  if (Date.now() < leading) {
    leading = 0;
    if (PLACES[key]) { location.assign(PLACES[key]); return true; }
  }
  if (key === "g") leading = Date.now() + 1500;
  else if (key === "?") document.getElementById("keys")?.showModal();
  else if (key === "/" && find("#q")) { find("#q").focus(); find("#q").select(); }
  else if (key === "Escape") return clear_search();
  else if (key === "j" || key === "k") step_row(key === "j" ? 1 : -1);
  else if (key === "u") undo();
  else if (key === "e" && find("[data-snooze]")?.checkVisibility()) {
    find("[data-snooze]").open = true;
    find("[data-snooze] button").focus();
  } else if (key === "x" && find(".tick")) select_row();
  else if (key === "=" && find(".fields")?.checkVisibility()) {
    const field = find(".fields [data-field]");
    field.focus();
    field.select?.(); // what is typed takes the place of what was there
  }
  else if (key === ";" && sets().length) { // on lines where there are some, else on the question
    const box = find(".remarks textarea") || current().querySelector(".remark textarea");
    box.closest("details").open = true;
    box.focus();
  }
  else return "gex".includes(key);
  return true;
}

function undo() { // where that cannot be done, the reason is said
  const form = find("[data-undo]");
  const nothing = find(".who form") ? "There is no answer to undo here." : "Log in to undo an answer.";
  if (form) form.requestSubmit();
  else say(find("[data-kept]")?.textContent || nothing);
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (find("main").ariaBusy === "true" || find("dialog[open]")) return;
  const set = sets().length ? current() : null;
  const menu = find("[data-snooze][open]");
  if (menu && event.key === "Escape") {
    menu.open = false;
    find("#pane").focus();
    return;
  }
  if (menu?.contains(event.target) && step_menu(menu, event)) { event.preventDefault(); return; }
  if (event.target.matches("input:not([type=radio], [type=checkbox]), textarea, select")) {
    if (event.key === "Escape") {
      event.preventDefault();
      if (event.target.matches("[data-words]")) other(set).focus();
      else event.target.blur();
      if (event.target.matches("#q")) clear_search();
    } else if (event.key === "Enter" && event.target.matches("#q") && page.page === "inbox") {
      event.preventDefault();
      open_hit(event.target);
    } else if (event.key === "Enter" && event.target.matches("[data-words]")) {
      event.preventDefault();
      onward(set, true);
    }
    return;
  }
  if (event.repeat && !/^Arrow|^[jk]$/.test(event.key)) return; // a key that is held down answers once
  let done = true;
  const sign = /^[\p{L}\d]$/u.test(event.key) && event.target.closest("[data-ask]"); // chooses all the same
  const button = event.target.matches("button, a, summary") && !sign;
  if (command(event.key)) { /* done */ }
  else if (button) return;
  else if (event.key === "Enter" && find(".tick input:checked") && !event.target.closest("[data-ask]")) find("form.select").requestSubmit();
  else if (!set) done = /^Arrow(Down|Up)$/.test(event.key) && rows().length > 0 && !step_row(event.key === "ArrowDown" ? 1 : -1);
  else done = answer_by(event.key, set);
  if (done) event.preventDefault();
}

function step_menu(menu, event) { // arrows go around; Enter in a date means that date
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const all = each(menu, "button, input:not([type=hidden])");
  const at = all.indexOf(event.target);
  if (step) all[at < 0 && step < 0 ? all.length - 1 : (at + step + all.length) % all.length].focus();
  else if (event.key === "Enter" && event.target.matches("input")) all[at + 1].click();
  else return false;
  return true;
}

function answer_by(key, set) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[key];
  const turn = { ArrowRight: 1, ArrowLeft: -1 }[key];
  if (/^[1-9]$/.test(key)) {
    const chosen = picks(set)[Number(key) - 1];
    if (!chosen) return false;
    choose(set, chosen);
  } else if (step) move(set, step);
  else if (turn) { const to = sets()[sets().indexOf(set) + turn]; if (to) goTo(to); }
  else if (key === "<") find("[data-up]")?.click();
  else if (key === "Enter") {
    const here = document.activeElement;
    if (picks(set).includes(here) && here.type === "radio" && !here.checked) choose(set, here);
    else onward(set, true);
  } else if (/^\p{L}$/u.test(key)) {
    const extra = each(set, ".extra").find((one) => one.value === key.toUpperCase());
    const chosen = picks(set).find((one) => one.closest(".card").dataset.letter === key.toLowerCase());
    if (extra) extra.focus();
    else if (chosen) choose(set, chosen);
    else return false;
  } else return false;
  return true;
}

document.addEventListener("keydown", pressed);
document.addEventListener("keydown", () => document.documentElement.classList.add("keyboard"), { once: true });
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  if (!form.closest("main") || !["inbox", "run", "together"].includes(page.page)) {
    if (form.matches("[data-once]")) each(form, "button").forEach((button) => { button.disabled = true; });
    return;
  }
  event.preventDefault();
  const sent = new URLSearchParams(new FormData(form, event.submitter));
  for (const button of each(form, ".send button")) button.disabled = true;
  visit(form.action, { method: "POST", body: sent });
});
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("#list a, #pane a.back");
  if (event.target.matches?.(".tick input")) tell_selected(event.target);
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || page.page !== "inbox") return;
  event.preventDefault();
  visit(link.href);
});
window.addEventListener("popstate", reload);
window.addEventListener("pageshow", () => {
  for (const button of each(document, "form button")) button.disabled = false;
});
const keys = document.getElementById("keys-button");
if (keys) { keys.hidden = false; keys.addEventListener("click", () => command("?")); }
prepare_page();
if (page.page) {
  if (["inbox", "runs", "run", "preview"].includes(page.page)) listen();
  setInterval(tick, 1000);
  setInterval(tell_ages, 15000);
}

// -- values that go with an answer -----------------------------------------------------------------

// Keys typed there are for the field; Enter goes to the next one, and from the last to the options.
document.addEventListener("keydown", (event) => {
  if (!event.target.matches?.("[data-field]")) return;
  event.stopPropagation();
  const set = event.target.closest("fieldset") || sets()[0];
  if (event.key === "Escape") goTo(set);
  if (event.key !== "Enter" || event.target.matches("textarea")) return;
  event.preventDefault();
  const fields = each(set, "[data-field]");
  const next = fields[fields.indexOf(event.target) + 1];
  if (next) next.focus(); else goTo(set);
}, true);

// -- boxes of several lines ------------------------------------------------------------------------

// Enter begins a line there, so another key sends; the hint says which, as long as one is in the box.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.repeat) return;
  if (!event.target.matches?.("[data-ask] textarea") || find("main").ariaBusy === "true") return;
  event.preventDefault();
  onward(event.target.closest("fieldset") || sets()[0], true);
}, true);
for (const turn of ["focusin", "focusout"]) {
  document.addEventListener(turn, (event) => {
    const box = turn === "focusin" ? event.target : event.relatedTarget;
    const hint = event.target.closest?.("[data-ask]")?.querySelector("[data-hint]");
    if (hint) hint.innerHTML = box?.matches("textarea") ? LINES : HINT;
  });
}

// -- remarks on lines ------------------------------------------------------------------------------

// A click on a line begins a remark on it; without scripts, its number is typed.
document.addEventListener("click", (event) => {
  const line = event.target.closest?.("[data-lines] [data-line]");
  const box = line?.closest(".attached").querySelector(".remarks textarea");
  if (!box || event.target.closest("a, summary") || String(getSelection())) return;
  const file = line.closest(".file")?.querySelector("summary code")?.textContent;
  box.value += `${box.value && !box.value.endsWith("\n") ? "\n" : ""}${file ? `${file}:` : ""}${line.dataset.line}: `;
  box.focus();
});
