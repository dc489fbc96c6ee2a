// The keys of a presentation, wherever on the page the focus is. One listener, whatever is drawn anew: P turns it on
// and off, and while it is on arrows step and Escape ends. Where something else listens to keys they stay with it, but
// for Page Up and Page Down: those are a clicker's. It also sends a full stop for a black screen, and F5 for its start.
import { mountOnce } from "./lifecycle.js";
import { node } from "./shared.js";
import { stage, TITLE } from "./stage.js";

const STEPS = { ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1 };
const CLICKER = ["PageDown", "PageUp"], BLACK = ["b", "B", "."];
const TYPED = "input:not([type=range], [type=radio], [type=checkbox]), textarea, [contenteditable=true]";
const MOVED = "[role=application], [role=slider], [role=radio], [role=radiogroup], input[type=range], input[type=radio]";
const PRESSED = "button, a, select, summary, input[type=checkbox], [role=switch]";
// in the page's upper margin, where no picture stands
const LEAVE = "position: fixed; right: 16px; top: 2px; padding: 0 8px; border: 0; background: none;"
  + "color: var(--st-text-color); opacity: .75; font: 11px/16px var(--st-font); cursor: pointer;";

// Whether the key is for what has the focus. A mouse leaves the focus on what it pressed: that listens to no arrows.
function taken(event, on) {
  const within = (what) => event.composedPath().some((each) => each.matches?.(what));
  if (within(TYPED)) return true;
  if (!on) return within(`${MOVED}, ${PRESSED}`);
  if (CLICKER.includes(event.key)) return false;
  if (within("[role=application], [role=slider], input[type=range]")) return event.key in STEPS;
  if (!event.composedPath()[0].matches?.(":focus-visible")) return false;
  return within(MOVED) ? event.key in STEPS : event.key === " " && within(PRESSED);
}

/**
 * What a key says: {on}, {step}, {black}, {end}, {hand, by} or nothing.
 * @param {KeyboardEvent} event
 * @param {boolean} on  whether the presentation is on
 * @param {string} [lecture]  the lesson, if one is presented
 * @returns {object | undefined}
 */
export function said(event, on, lecture) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || taken(event, on)) return undefined;
  if (event.key === "p" || event.key === "P") return { on: !on };
  if (!on) return undefined;
  if (event.key === "Escape") return { on: false };
  if (STEPS[event.key]) return { step: STEPS[event.key] };
  return lecture ? ofLecture(event) : undefined;
}

function ofLecture({ key, code, shiftKey }) {
  const digit = /^(?:Digit|Numpad)([1-9])$/.exec(code)?.[1];
  if (digit) return { hand: digit - 1, by: shiftKey ? -1 : 1 };
  if (BLACK.includes(key)) return { black: true };
  if (key === "F5") return { full: true };
  return { Home: { to: "first" }, End: { to: "last" } }[key];
}

function fillScreen() {
  if (document.fullscreenElement) document.exitFullscreen();
  else if (document.fullscreenEnabled) document.documentElement.requestFullscreen();
}

// The line under a screen: where one is, and buttons for whoever has neither keys nor a clicker.
function line(parent, { text, lesson }, act) {
  const row = node("div", "clearhead-line", undefined, parent);
  const button = (name, sign = text[name]) => {
    const made = node("button", name, sign, row);
    [made.type, made.ariaLabel, made.title] = ["button", text[name], text[name]];
    made.onclick = () => act(name);
    return made;
  };
  button("back", "‹");
  const place = node("span", "place", "", row);
  button("on", "›");
  node("span", "name", lesson, row);
  const proof = button("proof");
  button("leave");
  return { row, place, proof };
}

// What is seen of which lesson. Streamlit draws this element anew when a page changes above it; it then goes on where it
// was, which the server may not have heard yet.
let latest;

// A lesson's screens, with their line.
function lecture(parent, data, tell) {
  const black = node("div", "clearhead-black", undefined, parent);
  black.hidden = true;
  black.onclick = () => { black.hidden = true; };
  const acts = { leave: () => tell({ on: false }), proof: () => screens.prove(), on: () => screens.move(1),
    back: () => screens.move(-1) };
  const { row, place, proof } = line(parent, data, (name) => acts[name]());
  let told = data.screen || TITLE, later;
  const start = latest?.lesson === data.lesson && !data.back ? latest.screen : told;
  const screens = stage(start, ({ name, place: at, of, proof: proves }) => {
    place.textContent = `${at} / ${of}`;
    proof.hidden = !proves;
    clearTimeout(later);
    if (name) latest = { lesson: data.lesson, screen: name };
    if (name && name !== told) later = setTimeout(() => tell({ screen: (told = name) }), 300);
  });
  const move = (by) => {
    if (black.hidden) screens.move(by);
    black.hidden = true;
  };
  const turn = (screen) => screens.turn((told = screen || TITLE));   // the browser's Back
  const end = () => (clearTimeout(later), screens.end(), row.remove(), black.remove());
  return { ...screens, move, turn, end, dark: () => { black.hidden = !black.hidden; } };
}

function obey(key, shown, tell) {
  if (!shown || key.on !== undefined) tell(key);
  else if (key.step) shown.move(key.step);
  else if (key.black) shown.dark();
  else if (key.full) fillScreen();
  else if (key.to) shown[key.to]();
  else document.dispatchEvent(new CustomEvent("clearhead-hand", { detail: key }));
}

function begin(parent) {
  globalThis.clearheadKeys?.abort();
  const ended = (globalThis.clearheadKeys = new AbortController()), one = {}, tell = (what) => one.tell(what);
  const leave = node("button", "", "", parent);
  leave.style.cssText = LEAVE;
  leave.onclick = () => tell({ on: false });
  let data, lesson, shown;
  // another one that begins ends this one, too: Streamlit may clean up later, or never
  ended.signal.addEventListener("abort", () => shown?.end());

  document.addEventListener("keydown", (event) => {
    const key = said(event, data.on, lesson);
    if (!key) return;
    event.preventDefault();
    event.stopPropagation();
    obey(key, shown, tell);
  }, { signal: ended.signal, capture: true });

  one.update = (call) => {
    [data] = call.data;
    one.tell = (what) => call.setTriggerValue("event", what);
    leave.hidden = !data.on || data.lesson;
    leave.textContent = data.leave;
    const next = data.on ? data.lesson : undefined;
    if (!next) latest = undefined;
    if (next === lesson && data.back) shown?.turn(data.screen);
    if (next === lesson) return;
    shown?.end();
    [lesson, shown] = [next, next && lecture(parent, data, tell)];
  };
  one.end = () => {
    ended.abort();
    leave.remove();
  };
  return one;
}

// Paper gets the page as wide as it is on screen, made smaller (page.css).
addEventListener("beforeprint", () => {
  const main = document.querySelector("[data-testid=stMainBlockContainer]");
  if (!main) return;
  const { width, paddingLeft, paddingRight } = getComputedStyle(main);
  const inside = parseFloat(width) - parseFloat(paddingLeft) - parseFloat(paddingRight);
  document.documentElement.style.setProperty("--screen", `${Math.ceil(inside)}`);
});

/** @type {(call: object) => () => void} */
export const keys = mountOnce(begin);
