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
 * @param {Element} made
 * @param {Record<string, string | number>} attributes
 */
export function set(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
}

/**
 * Draw an arrow through points [x, y, x, y, …] with right-angled corners, styled by the classes wire and tip-of-wire.
 * @param {Element} parent
 * @param {number[]} points
 */
export function wire(parent, points) {
  const pairs = points.reduce((all, each, at) => (at % 2 ? all : [...all, [each, points[at + 1]]]), []);
  const [before, last] = pairs.slice(-2), [dx, dy] = last.map((each, i) => Math.sign(each - before[i]));
  shape("polyline", { class: "wire", points: pairs.map((each) => each.join()).join(" ") }, parent);
  const back = [last[0] - 7 * dx, last[1] - 7 * dy], [px, py] = [3.5 * dy, 3.5 * dx];
  const d = `M${last.join()}L${back[0] + px},${back[1] + py}L${back[0] - px},${back[1] - py}Z`;
  shape("path", { class: "tip-of-wire", d }, parent);
}
