// Create SVG elements, and lines with an arrowhead.
const NAMESPACE = "http://www.w3.org/2000/svg";

/**
 * Create an SVG element.
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @param {Element} parent
 * @returns {SVGElement}
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
 * @param {Record<string, string | number>} attributes
 */
export const label = (parent, words, attributes) => { shape("text", attributes, parent).textContent = words; };

/**
 * @param {Element} made
 * @param {Record<string, string | number>} attributes
 */
export function set(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
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
 */
export function wire(parent, points) {
  const [x0, y0, x, y] = points.slice(-4), [dx, dy] = [Math.sign(x - x0), Math.sign(y - y0)];
  const [left, top, across, down] = [x - 7 * dx, y - 7 * dy, 3.5 * dy, 3.5 * dx];
  shape("polyline", { class: "wire", points: points.join(" ") }, parent);
  const d = `M${x},${y}L${left + across},${top + down}L${left - across},${top - down}Z`;
  shape("path", { class: "tip-of-wire", d }, parent);
}
