import { equal } from "../check.js";
import { keys, said } from "./presentation.js";

const FIELD = "<input>", SLIDER = "<input type=range>";

// What a key says that comes to an element of the page.
function heard(key, { code = key, shiftKey, html = "<p>text</p>", on = true, letters = true } = {}) {
  let found;
  document.body.innerHTML = html;
  document.addEventListener("keydown", (event) => { found = said(event, on, letters) ?? null; }, { once: true });
  const target = document.body.firstElementChild;
  target.focus();
  target.dispatchEvent(new KeyboardEvent("keydown", { key, code, shiftKey, bubbles: true, composed: true }));
  return found;
}

export function keysWhilePresenting() {
  const wanted = { p: ["leave"], Escape: ["leave"], PageDown: ["move", 1], PageUp: ["move", -1],
    ArrowRight: ["move", 1], " ": ["move", 1], b: ["dark"], ".": ["dark"], F5: ["full"], Home: ["first"], x: null };
  for (const [key, says] of Object.entries(wanted)) equal(heard(key), says, key);
  equal(heard("2", { code: "Digit2" }), ["hand", { hand: 1, by: 1 }]);
  equal(heard("@", { code: "Digit2", shiftKey: true }), ["hand", { hand: 1, by: -1 }]);
}

export function keyGoesToTheFocusedElement() {
  equal(["p", "PageDown"].map((key) => heard(key, { html: FIELD })), [null, null]);
  equal(["ArrowRight", "PageDown"].map((key) => heard(key, { html: SLIDER })), [null, ["move", 1]]);
  equal(heard("ArrowDown", { html: "<button>x</button>" }), ["move", 1]);
}

export function keysOutsidePresenting() {
  equal(["p", "PageDown", "F5"].map((key) => heard(key, { on: false })), [["start"], null, null]);
  equal(heard("p", { html: "<div role=application tabindex=0>", on: false }), ["start"]);
  equal(heard("p", { html: "<select></select>", on: false }), null);
}

export function lettersCanBeSwitchedOff() {
  const off = { letters: false };
  equal(["p", "b", ".", "2"].map((key) => heard(key, off)), [null, null, null, null]);
  equal([" ", "ArrowLeft", "Escape"].map((key) => heard(key, off)), [["move", 1], ["move", -1], ["leave"]]);
}

export function secondListenerEndsThePresentationOfTheFirst() {
  document.body.innerHTML = `<main data-testid="stMain"><div data-testid="stMainBlockContainer">
    <div data-testid="stVerticalBlock"><div class="st-key-section-a"><h3>A</h3></div></div></div></main>`;
  const draw = (on) => keys({ data: [{ on, id: "L", lesson: ["lead"], only: "", title: "L", text: {} }],
    setTriggerValue: () => {}, parentElement: document.body.appendChild(document.createElement("div")) });
  const seen = () => document.querySelectorAll("[data-seen]").length;
  draw(true);
  equal(seen(), 1);
  draw(false);
  equal([seen(), document.querySelectorAll(".clearhead-line").length], [0, 0]);
}

export function keyPressedBeforeTheListenerWasLoadedCounts() {
  const told = [];
  globalThis.clearheadEarly = [new KeyboardEvent("keydown", { key: "x" }), new KeyboardEvent("keydown", { key: "p" })];
  keys({ data: [{ on: false, letters: true }], setTriggerValue: (_, what) => told.push(what),
    parentElement: document.body.appendChild(document.createElement("div")) });
  equal(told, [{ on: true }]);
  equal(said(new KeyboardEvent("keydown", { key: "ArrowRight" }), true, true), ["move", 1], "after it was dispatched");
}
