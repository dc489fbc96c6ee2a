// Create SVG elements, lines with an arrowhead, and axes.
import { within } from "./shared.js";

/** @typedef {Record<string, string | number | boolean>} Attributes */

const NAMESPACE = "http://www.w3.org/2000/svg";

/**
 * Create an SVG element.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} attributes
 * @param {Element} parent
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function shape(tag, attributes, parent) {
  const made = document.createElementNS(NAMESPACE, tag);
  set(made, attributes);
  parent.append(made);
  return made;
}

/**
 * Create a text.
 * @param {Element} parent
 * @param {string} words
 * @param {Attributes} attributes
 */
export const label = (parent, words, attributes) => { shape("text", attributes, parent).textContent = words; };

/**
 * @param {Element} made
 * @param {Attributes} attributes
 */
export function set(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
}

/**
 * Draw a box with lines of text around its centre.
 * @param {Element} parent
 * @param {string} name  CSS classes
 * @param {number[]} place  x and y of the centre, width and height
 * @param {string[]} lines
 * @returns {SVGElement}
 */
export function box(parent, name, [x, y, width, height], lines) {
  const group = shape("g", { class: `box ${name}` }, parent);
  shape("rect", { x: x - width / 2, y: y - height / 2, width, height, rx: 6 }, group);
  lines.forEach((words, at) => label(group, words, { x, y: y + 5 + (at - (lines.length - 1) / 2) * 17 }));
  return group;
}

/**
 * Draw an arrow through points [x, y, x, y, …] with right-angled corners, styled by the classes wire and tip-of-wire.
 * @param {Element} parent
 * @param {number[]} points
 * @param {string} [look]  another class
 */
export function wire(parent, points, look = "") {
  const [x0, y0, x, y] = points.slice(-4), [dx, dy] = [Math.sign(x - x0), Math.sign(y - y0)];
  const [left, top, across, down] = [x - 7 * dx, y - 7 * dy, 3.5 * dy, 3.5 * dx];
  shape("polyline", { class: `wire ${look}`, points: points.join(" ") }, parent);
  const d = `M${x},${y}L${left + across},${top + down}L${left - across},${top - down}Z`;
  shape("path", { class: `tip-of-wire ${look}`, d }, parent);
}

/**
 * A part of an SVG with two axes that run from low to high: its edges in pixels, and the functions between values and
 * pixels.
 * @typedef {{left: number, right: number, top: number, bottom: number}} Box
 * @typedef {Box & {x: (value: number) => number, y: (value: number) => number, at: (event: PointerEvent) => number[]}} Plane
 *   at: the values under the pointer, across and up
 */
/**
 * @param {SVGElement} svg
 * @param {Box} box
 * @param {number} [low]
 * @param {number} [high]
 * @returns {Plane}
 */
export function plane(svg, box, low = 0, high = 1) {
  const { left, right, top, bottom } = box;
  const share = (value) => (value - low) / (high - low), value = (share) => low + share * (high - low);
  return {
    ...box,
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
 * Fill an element with the axes of a plane.
 * @param {Element} parent
 * @param {Plane} plane
 * @param {[value: number, label: string][]} across
 * @param {[value: number, label: string][]} up
 * @param {string} name  of the vertical axis
 */
export function drawAxes(parent, { left, right, top, bottom, x, y }, across, up, name) {
  parent.replaceChildren();
  for (const [value, text] of across) {
    axis(parent, x(value), x(value), top, bottom);
    label(parent, text, { x: x(value), y: bottom + 16, class: { 0: "first", 1: "last" }[value] ?? "" });
  }
  for (const [value, text] of up) {
    axis(parent, left, right, y(value), y(value));
    label(parent, text, { x: left - 6, y: y(value) + 4, class: "up" });
  }
  label(parent, name, { x: left, y: 12, class: "first" });
}

/**
 * Return the attributes of what can be dragged.
 * @param {number} low
 * @param {number} high
 * @returns {Attributes}
 */
export const draggable = (low, high) => ({ tabindex: 0, role: "slider", "aria-valuemin": low, "aria-valuemax": high });
