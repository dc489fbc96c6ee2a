// Keep the keyboard's focus where the reader is: Streamlit draws an open menu at the end of the page, and a rerun may
// remove the button that was pressed.
import { mainOf } from "./shared.js";

/** Start keeping the focus. Call this once per page. */
export function keepFocus() {
  let path = [];   // the element that last had the focus, and everything around it

  addEventListener("focusin", (event) => { path = event.composedPath(); });
  addEventListener("click", () => {   // a click on nothing ends the focus
    if (document.activeElement === document.body && path[0]?.isConnected) path = [];
  }, { capture: true });
  new MutationObserver(() => {
    if (document.activeElement !== document.body || !path.includes(mainOf()) || path[0].isConnected) return;
    const left = path.find((each) => each.isConnected && "tabIndex" in each);
    if (left.tabIndex === -1) left.tabIndex = -1;   // a container takes the focus only with the attribute
    left.focus({ preventScroll: true });
  }).observe(document.body, { childList: true, subtree: true });

  addEventListener("keydown", ({ key, shiftKey, target }) => {
    const menu = /** @type {HTMLElement} */ (document.querySelector("[role=dialog]"));
    const opener = /** @type {HTMLElement} */ (document.querySelector("[aria-haspopup=dialog][aria-expanded=true]"));
    if (key !== "Tab" || !menu || !opener) return;
    if (target === opener && !shiftKey) menu.focus();   // the browser goes on to its first control
    else if (menu.contains(/** @type {Node} */ (target))) {
      setTimeout(() => menu.contains(document.activeElement) || opener.focus());
    }
  }, { capture: true });
}
