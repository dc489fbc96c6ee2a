// A part of an SVG with two axes that run from low to high, and what is on it.
import { within } from "./shared.js";
import { shape } from "./svg.js";

/**
 * Return the functions between values and pixels.
 * @param {SVGElement} svg
 * @param {{left: number, right: number, top: number, bottom: number}} box  in pixels
 * @param {number} [low]
 * @param {number} [high]
 * @returns {{x: (value: number) => number, y: (value: number) => number, at: (event: PointerEvent) => number[]}}
 *   at: the values under the pointer, across and up
 */
export function plane(svg, { left, right, top, bottom }, low = 0, high = 1) {
  const share = (value) => (value - low) / (high - low), value = (share) => low + share * (high - low);
  return {
    x: (value) => left + share(value) * (right - left),
    y: (value) => bottom - share(value) * (bottom - top),
    at(event) {
      const [across, down] = within(svg, event);
      return [value((across - left) / (right - left)), value((bottom - down) / (bottom - top))];
    },
  };
}

/**
 * Draw an axis.
 * @param {Element} parent
 * @param {number} x1
 * @param {number} x2
 * @param {number} y1
 * @param {number} y2
 */
export const axis = (parent, x1, x2, y1, y2) => shape("line", { class: "axis", x1, x2, y1, y2 }, parent);

/**
 * Return the attributes of what can be dragged.
 * @param {number} low
 * @param {number} high
 * @returns {Record<string, string | number>}
 */
export const draggable = (low, high) => ({ tabindex: 0, role: "slider", "aria-valuemin": low, "aria-valuemax": high });
