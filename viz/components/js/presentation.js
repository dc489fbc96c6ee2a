// The keys of a presentation, wherever on the page the focus is. One listener, whatever is drawn anew: P turns it on
// and off, and while it is on arrows step and Escape ends. Where something else listens to keys they stay with it.
import { node } from "./shared.js";

const STEPS = { ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1 };
const TYPED = "input, textarea, [contenteditable=true], [role=application]";
const OTHERS = `${TYPED}, select, button, a, [role=slider], [role=radio]`;
// in the page's upper margin, where no picture stands
const LEAVE = "position: fixed; right: 16px; top: 2px; padding: 0 8px; border: 0; background: none;"
  + "color: var(--st-text-color); opacity: .75; font: 11px/16px var(--st-font); cursor: pointer;";

function pressed(event, on) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return undefined;
  const typing = event.composedPath().some((each) => each.matches?.(on ? TYPED : OTHERS));
  if (typing) return undefined;
  if (event.key === "p" || event.key === "P") return { on: !on };
  if (!on) return undefined;
  return event.key === "Escape" ? { on: false } : STEPS[event.key] && { step: STEPS[event.key] };
}

export const keys = ({ data: [data], parentElement, setTriggerValue }) => {
  globalThis.clearheadKeys?.abort();
  const ended = (globalThis.clearheadKeys = new AbortController()), tell = (said) => setTriggerValue("event", said);
  document.addEventListener("keydown", (event) => {
    const said = pressed(event, data.on);
    if (!said) return;
    event.preventDefault();
    tell(said);
  }, { signal: ended.signal });
  parentElement.querySelector("button")?.remove();
  if (data.on) {
    const leave = node("button", "", data.leave, parentElement);
    leave.style.cssText = LEAVE;
    leave.onclick = () => tell({ on: false });
  }
  return () => ended.abort();
};
