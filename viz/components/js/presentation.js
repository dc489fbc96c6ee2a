// Keyboard control of presentations, independent of the focus, with a single listener that survives redraws: P toggles
// presenting, arrows step, and Escape ends it. An element focused with Tab keeps its arrow keys, but never Page Up and
// Page Down, which presenter remotes send. Remotes also send a full stop for a black screen, and F5 to start.
import { keepFocus } from "./focus.js";
import { SCREENS } from "./input.js";
import { mountOnce } from "./lifecycle.js";
import { button, div, fill, span } from "./shared.js";
import { present, TITLE } from "./screens.js";
import { store, stored } from "./storage.js";

const PATIENCE = 5000;   // ms from asking for an entry to its first screen, at most
const STARTS = ":is(.st-key-present, .st-key-handout-present) button";
const BEGAN = "clearhead presentation began";   // in milliseconds since 1970

// commands while presenting: functions of presented() without an argument
const COMMANDS = { p: "leave", escape: "leave", b: "dark", ".": "dark", f5: "full", home: "first", end: "last" };
const TYPED = "input:not([type=range], [type=radio], [type=checkbox]), textarea, select, [contenteditable=true]";
const MOVED = "[role=application], [role=slider], [role=radio], [role=radiogroup], input[type=range], "
  + "input[type=radio]";
const PRESSED = "button, a, input[type=checkbox], summary, [role=switch], [role=button]";

// Return whether the focused element needs the key. An element focused by a mouse click does not claim the arrow keys.
function taken(event, on) {
  const path = event.composedPath(), within = (what) => path.some((each) => each.matches?.(what));
  if (within(TYPED)) return true;
  if (!on || event.key.startsWith("Page") || !path[0]?.matches?.(":focus-visible")) return false;
  return within(MOVED) ? event.key in SCREENS : event.key === " " && within(PRESSED);
}

/**
 * Return a key's command, if it has one: the name of a function of presented(), or "start", and its argument.
 * @param {KeyboardEvent} event
 * @param {boolean} on  whether the page is presented
 * @param {boolean} letters  whether letters, digits and the full stop are commands
 * @returns {[name: string, given?: *] | undefined}
 */
export function said(event, on, letters) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || taken(event, on)) return undefined;
  const { key, code, shiftKey } = event, name = key.toLowerCase(), digit = /^(?:Digit|Numpad)([1-9])$/.exec(code)?.[1];
  if (!letters && key.length === 1 && key !== " ") return undefined;
  if (!on) return name === "p" ? ["start"] : undefined;
  if (digit) return ["hand", { hand: Number(digit) - 1, by: shiftKey ? -1 : 1 }];
  if (SCREENS[key]) return ["move", SCREENS[key]];
  return COMMANDS[name] && [COMMANDS[name]];
}

// Show the minutes since a list's presentation began, and those planned until the end of this entry. The tab stores when
// it began, so that a reload keeps it.
function runClock(clock, { planned, text }) {
  if (!planned) return undefined;
  const began = stored("sessionStorage", BEGAN) ?? Date.now();
  store("sessionStorage", BEGAN, began);
  clock.title = text.clock_about;
  const tick = () => {
    clock.textContent = fill(text.clock, { elapsed: Math.floor((Date.now() - began) / 60_000), planned });
  };
  tick();
  return setInterval(tick, 5000);
}

// The commands of keys that were pressed before what they are for appeared, which may be another page.
const early = [];

// The page's current screen. When Streamlit redraws this element, it resumes here; the server may not know the latest
// screen yet.
let latest;

// Show a page's screens and the line below them, with the position, and buttons for use without a keyboard or remote.
// settle: called for each screen.
function presented(parent, data, tell, settle) {
  const black = div(parent, "clearhead-black"), { text, title } = data;
  black.hidden = true;
  black.onclick = () => { black.hidden = true; };
  let told = data.screen || TITLE, waiting = told, ready = false, later;
  const patient = performance.now() + PATIENCE;
  const leave = () => (clearTimeout(later), tell({ on: false }));   // a pending event must not follow
  const row = div(parent, "clearhead-line"), made = (name, act, sign = text[name]) =>
    Object.assign(button(row, name, sign, act), { ariaLabel: text[name], title: text[name] });
  const back = made("back", () => move(-1), "‹"), place = span(row, "place"), on = made("on", () => move(1), "›");
  const clock = span(row, "clock");
  span(row, "name", title);
  const proof = made("proof", () => screens.prove());
  made("leave", leave);
  const ticking = runClock(clock, data);
  const start = latest?.id === data.id && !data.back ? latest.screen : told;
  const screens = present(start, data, ({ name, place: at, of, proof: proves, whole }) => {
    place.textContent = data.place || (of > 1 ? `${at} / ${of}` : "");
    proof.hidden = !proves;
    back.hidden = on.hidden = !place.textContent;   // a single screen has nothing to step to
    ready = whole;
    settle();
    if (name) latest = { id: data.id, screen: name };
    if (name === waiting) return;   // drawn again, such as to fit
    clearTimeout(later);
    waiting = name;
    if (name && name !== told) later = setTimeout(() => tell({ screen: (told = name) }), 300);
  });
  const move = (by) => {
    if (black.hidden && !screens.move(by) && data.beside.includes(by)) tell({ step: by });
    black.hidden = true;
  };
  const turn = (screen) => screens.turn((told = screen || TITLE));   // the browser's Back button
  const end = () => (clearTimeout(later), clearInterval(ticking), screens.end(), row.remove(), black.remove());
  const dark = () => { black.hidden = !black.hidden; };
  const full = () => (document.fullscreenElement ? document.exitFullscreen()
    : document.fullscreenEnabled && document.documentElement.requestFullscreen());
  const hand = (detail) => document.dispatchEvent(new CustomEvent("clearhead-hand", { detail }));
  return { ...screens, move, turn, end, leave, dark, full, hand, ready: () => ready || performance.now() > patient };
}

function begin(parent) {
  globalThis.clearheadKeys?.abort();
  const ended = (globalThis.clearheadKeys = new AbortController()), { signal } = ended;
  let data, open, shown, trigger, until = 0;   // until: when keys are no longer kept for the entry that was asked for
  const expect = () => { until = performance.now() + PATIENCE; };
  const tell = (what) => {
    if (what.on || what.step) expect();
    trigger("event", what);
  };
  // a new listener also ends this one, because Streamlit may clean up later or never
  signal.addEventListener("abort", () => shown?.end());
  const waits = () => performance.now() < until || shown?.ready() === false;

  function settle() {
    while (shown && early.length && !waits()) {
      const [name, given] = early.shift();
      shown[name](given);
    }
  }

  function press(event) {
    const [name, given] = said(event, data.on || waits(), data.letters) ?? [];
    if (!name) return;
    event.preventDefault();
    event.stopPropagation();
    if (waits()) early.push([name, given]);
    else if (shown) shown[name](given);
    else tell({ on: true });
  }

  document.addEventListener("keydown", press, { signal, capture: true });
  document.addEventListener("click", ({ target }) => target instanceof Element && target.closest(STARTS) && expect(), { signal, capture: true });

  function update(call) {
    if (signal.aborted) return;   // a newer listener is active, and this one will be cleaned up
    ({ data: [data], setTriggerValue: trigger } = call);
    if (data.passing) return;
    const next = data.on ? data.id : undefined;
    if (!next) {
      latest = undefined;
      store("sessionStorage", BEGAN, null);
    }
    if (next === open && data.back) shown?.turn(data.screen);
    if (next !== open) {
      shown?.end();
      shown = undefined;
      [open, until] = [next, 0];
      if (next) shown = presented(parent, data, tell, settle);
    }
    settle();
    for (const event of globalThis.clearheadEarly?.splice(0) ?? []) press(event);
  }
  return { update, end: () => ended.abort() };
}

keepFocus();

// For print, scale the page down from its width on screen (page.css).
addEventListener("beforeprint", () => {
  const head = document.querySelector(".st-key-page-head");
  if (head) document.documentElement.style.setProperty("--screen", `${Math.ceil(head.getBoundingClientRect().width)}`);
});

/** @type {(call: import("./lifecycle.js").Call) => () => void} */
export const keys = mountOnce(begin);
