// Draw tokens, and compute window positions for their tooltips.
import { inWindow, node } from "./shared.js";

/**
 * A token, as text only, and isolated, so that right-to-left text cannot reorder its neighbours. Flags: 1 special, 2
 * unknown, 4 joined.
 * @param {string} text
 * @param {number} [flags]
 * @param {ParentNode} [parent]
 * @returns {HTMLElement}
 */
export function token(text, flags = 0, parent = undefined) {
  const made = node("bdi", "token", text, parent);
  if (flags & 1) made.classList.add("special");
  if (flags & 2) made.classList.add("unknown");
  return made;
}

/**
 * Where a place inside an element is in the window, in a presentation that enlarges it too.
 * @param {Element} element
 * @param {number} x
 * @param {number} y
 * @returns {number[]}
 */
export function pointOf(element, x, y) {
  const { left, top, zoom } = inWindow(element);
  return [left + x * zoom, top + y * zoom];
}
