// Reorder the entries of My lesson: drag one by its handle, or press an arrow key on the handle.
import { mountOnce } from "./lifecycle.js";

const HANDLE = "[class*='st-key-drag-'] button", ENTRY = "[class*='st-key-item-']", BY = { ArrowUp: -1, ArrowDown: 1 };

const idOf = (entry) => /st-key-item-(\w+)/.exec(entry.className)[1];
const middleOf = (entry) => entry.getBoundingClientRect().top + entry.offsetHeight / 2;

function begin(parent, first, on) {
  let tell, focused;
  const within = (event) => event.target.closest?.(HANDLE)?.closest(ENTRY);
  const entries = () => [...document.querySelectorAll(ENTRY)];

  function drag(entry, pressed) {
    const others = entries().filter((each) => each !== entry), from = entries().indexOf(entry);
    const grip = pressed.clientY - entry.getBoundingClientRect().top, ended = new AbortController();
    let to = from, by = 0;
    const listen = (type, act) => document.addEventListener(type, act, { signal: ended.signal });
    listen("pointermove", ({ clientY }) => {
      by += clientY - grip - entry.getBoundingClientRect().top;
      entry.style.transform = `translateY(${by}px)`;
      entry.scrollIntoView({ block: "nearest" });
      to = others.filter((each) => middleOf(each) < clientY).length;
      others.forEach((each, at) => each.toggleAttribute("data-drop", at === to));
    });
    const end = (dropped) => () => {
      ended.abort();
      entry.style.transform = "";
      for (const each of others) each.removeAttribute("data-drop");
      if (dropped && to !== from) tell({ move: idOf(entry), to });
    };
    listen("pointerup", end(true));
    listen("pointercancel", end(false));
  }

  on(document, "pointerdown", (event) => {
    if (event.button || !within(event)) return;
    event.preventDefault();   // selects no text
    drag(within(event), event);
  });
  on(document, "click", (event) => within(event) && event.stopPropagation(), { capture: true });
  on(document, "keydown", (event) => {
    const entry = within(event), to = entries().indexOf(entry) + BY[event.key];
    if (!entry || !entries()[to]) return;
    event.preventDefault();
    tell({ move: (focused = idOf(entry)), to });
  });

  function update(call) {
    tell = (what) => call.setTriggerValue("event", what);
    /** @type {HTMLElement} */
    const moved = document.querySelector(`.st-key-drag-${focused} button`);
    moved?.focus();
    focused = undefined;
  }
  return { update };
}

/** @type {(call: import("./lifecycle.js").Call) => () => void} */
export const order = mountOnce(begin);
