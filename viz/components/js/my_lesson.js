// The page My lesson: drag an entry by its handle, its first button, or press an arrow key on the handle; copy the link.
import { mountOnce } from "./lifecycle.js";
import { node } from "./shared.js";

const BY = { ArrowUp: -1, ArrowDown: 1 };

/** @type {() => HTMLElement[]} */
const entries = () => Array.from(document.querySelectorAll("[class*='st-key-item-']"));
const entryAt = ({ target }) => entries().find((each) => each.querySelector("button").contains(target));
const middleOf = (entry) => entry.getBoundingClientRect().top + entry.offsetHeight / 2;

function begin(parent, first, on) {
  let held, grip, by, focused, link, tell;
  on(document, "pointerdown", (event) => {
    held = entryAt(event);
    if (held) [grip, by] = [event.clientY - middleOf(held), 0];
  });
  on(document, "pointermove", ({ clientY }) => {
    if (!held) return;
    by += clientY - grip - middleOf(held);
    held.style.transform = `translateY(${by}px)`;
    held.scrollIntoView({ block: "nearest" });
  });
  on(document, "pointerup", () => {
    if (!held) return;
    const to = entries().filter((each) => middleOf(each) < middleOf(held)).length;
    held.style.transform = "";
    if (by) tell([entries().indexOf(held), to]);
    held = undefined;
  });
  on(document, "keydown", (event) => {
    const from = entries().indexOf(entryAt(event)), to = from + BY[event.key];
    if (from < 0 || !entries()[to]) return;
    event.preventDefault();
    focused = to;
    tell([from, to]);
  });

  on(document, "click", (event) => {
    if (entryAt(event)) event.stopPropagation();   // its rerun could overtake that of the move
    if (!event.target.closest(".st-key-handout-link")) return;
    const field = node("textarea", document.body);   // navigator.clipboard exists only with https
    field.value = link;
    field.select();
    document.execCommand("copy");
    field.remove();
  }, { capture: true });

  function update({ data, setTriggerValue }) {
    [link] = data;   // the entries' ids follow, so that a moved one is drawn before it has the focus
    tell = (moved) => setTriggerValue("event", moved);
    entries()[focused]?.querySelector("button").focus();
    focused = undefined;
  }
  return { update };
}

/** @type {(call: import("./lifecycle.js").Call) => () => void} */
export const myLesson = mountOnce(begin);
