// Draw tokens, and compute window positions for their tooltips.
import { inWindow, node } from "./shared.js";

/**
 * Create a token's element. Its text is isolated, so that right-to-left text cannot reorder its neighbours.
 * @param {string} text
 * @param {number} [flags]  sum of 1 (special), 2 (unknown) and 4 (joined)
 * @param {ParentNode} [parent]
 * @param {string} [tag]
 * @returns {HTMLElement}
 */
export const token = (text, flags, parent, tag = "bdi") =>
  node(tag, `token${flags & 1 ? " special" : ""}${flags & 2 ? " unknown" : ""}`, text, parent);

/**
 * Return the window position of a point inside an element, even if lecture mode enlarges the element.
 * @param {Element} element
 * @param {number} x
 * @param {number} y
 * @returns {number[]}
 */
export function pointOf(element, x, y) {
  const { left, top, zoom } = inWindow(element);
  return [left + x * zoom, top + y * zoom];
}
