// Adapt components to Streamlit, which calls a function repeatedly for the same element, with one clean-up at the end.
// While a module loads, one call can overtake another, and Streamlit then cleans up after the overtaken one, which may be
// either of the two. A clean-up therefore ends a component only if its element is gone.
import { div, listeners, node } from "./shared.js";

/**
 * What Streamlit calls a component with.
 * @typedef {{data: *, parentElement: HTMLElement & {clearheadPart?: *},
 *   setTriggerValue: (name: string, value: *) => void, setStateValue: (name: string, value: *) => void}} Call
 */
/**
 * Return a function for Streamlit that creates the element's content once and then updates it.
 * @param {(root: HTMLElement, call: Call, on: import("./shared.js").On) => {update: (call: Call) => void,
 *   end?: () => void}} begin  creates the content; update is called every time, and end before the root and the
 *   listeners are removed
 * @param {string} [css]  style sheet of the element
 * @returns {(call: Call) => () => void} the function that Streamlit calls
 */
export const mountOnce = (begin, css = "") => (call) => {
  const at = call.parentElement;
  if (!at.isConnected) return () => {};   // gone while the module was being loaded; nobody would end it
  // stored on the element, because a restarted server with changed files loads a new copy of this module
  if (at.clearheadPart?.begin !== begin) {
    at.clearheadPart?.end();
    at.clearheadPart = start(begin, css, call);
  }
  const one = at.clearheadPart;
  one.update(call);
  return () => {
    if (at.isConnected || at.clearheadPart !== one) return;
    delete at.clearheadPart;
    one.end();
  };
};

function start(begin, css, call) {
  const root = div(call.parentElement), { on, stop } = listeners();
  node("style", root, "", css);
  const { update, end } = begin(root, call, on);
  return { begin, update, end: () => (end?.(), stop(), root.remove()) };
}

// Load a style sheet from this module's parent folder.
const sheet = async (name) => {
  const answer = await fetch(new URL(`../${name}`, import.meta.url));
  if (!answer.ok) throw new Error(`${answer.status} ${answer.url}`);
  return answer.text();
};

/**
 * @param {...string} names
 * @returns {Promise<string>}
 */
export const styles = async (...names) => (await Promise.all(names.map(sheet))).join("\n");
