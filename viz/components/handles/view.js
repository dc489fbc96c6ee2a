// Handles as an SVG: bars or points over two axes.
import { axis, draggable, plane } from "../js/plane.js";
import { div, figure, fill, fixed } from "../js/shared.js";
import { label, set, shape } from "../js/svg.js";

const TOP = 24, FOOT = 24;

/**
 * Create the picture of handles.js in its root.
 * @param {HTMLElement} root
 * @returns {{svg: SVGElement, build: (body: object) => void,
 *   draw: (values: number[], faint: number[], colours: string[]) => void, handleOf: (target: Node) => number,
 *   valuesAt: (event: PointerEvent) => number[], focus: (at: number) => void}}
 *   handleOf: -1 for none; valuesAt: the pointer's position in the axes' units, across and up
 */
export function viewOf(root) {
  const svg = shape("svg", { role: "group" }, root), axes = shape("g", {}, svg), hint = div("hint", root);
  let body, handles = [], box, area;

  function build(read) {
    body = read;
    for (const each of handles) each.group.remove();
    handles = body.labels.map(handle);
    svg.setAttribute("aria-label", fill(body.text.group, { name: body.name }));
    hint.textContent = body.frozen ? "" : body.text[body.mode];
    root.classList.toggle("frozen", body.frozen);
  }

  const points = () => body.mode === "points";

  function handle(name) {
    const acts = body.frozen ? { role: "img" } : draggable(body.low, body.high);
    const group = shape("g", { class: "handle", ...acts }, svg), text = (kind) => shape("text", { class: kind }, group);
    const bar = points() ? undefined : shape("rect", { class: "column", rx: 2 }, group);
    const made = { group, bar, hit: shape("rect", { class: "hit" }, group), dot: shape("circle", { r: 7 }, group),
      number: text("number"), name: text("label") };
    made.name.textContent = name;
    return made;
  }

  function draw(values, faint, colours) {
    // in lecture mode, text is large and there is little height
    const height = body.height * (parseFloat(getComputedStyle(root).getPropertyValue("--picture-share")) || 1);
    box = { left: 34, right: Math.max(80, root.clientWidth - 12), top: TOP, bottom: height - FOOT };
    area = plane(svg, box, body.low, body.high);
    svg.setAttribute("height", height);
    drawAxes();
    handles.forEach((each, at) => {
      each.group.classList.toggle("faint", faint.includes(at));
      each.dot.setAttribute("fill", colours[at % colours.length]);
      if (points()) drawPoint(each, at, values.slice(2 * at, 2 * at + 2));
      else drawBar(each, at, values[at], colours[at % colours.length]);
    });
    if (points()) thin(values);
  }

  const zero = () => Math.max(body.low, Math.min(0, body.high));

  function drawAxes() {
    const { left, right, top, bottom } = box;
    axes.replaceChildren();
    for (const value of new Set([body.low, zero(), body.high])) {
      const y = area.y(value), x = area.x(value);
      axis(axes, left, right, y, y);
      label(axes, figure(value).replace(/\.?0+$/, "") || "0", { x: left - 6, y: y + 4, class: "scale" });
      if (points()) axis(axes, x, x, top, bottom);
    }
    label(axes, body.unit, { x: left, y: 12, class: "unit" });
  }

  function drawBar(each, at, value, fill) {
    const { left, right, top, bottom } = box, room = (right - left) / body.labels.length;
    const x = left + (at + 0.5) * room, y = area.y(value), foot = area.y(zero());
    const width = Math.min(46, room * 0.62), height = Math.max(1, Math.abs(foot - y));
    set(each.bar, { x: x - width / 2, y: Math.min(y, foot), width, height, fill });
    set(each.hit, { x: x - width / 2 - 4, y: top - 8, width: width + 8, height: bottom - top + 16 });
    set(each.dot, { cx: x, cy: y });
    set(each.number, { x, y: y <= foot ? y - 12 : y + 22 });
    set(each.name, { x, y: bottom + FOOT - 6 });
    say(each, at, value, fixed(value, 2));
  }

  function drawPoint(each, at, pair) {
    const x = area.x(pair[0]), y = area.y(pair[1]), written = pair.map((value) => fixed(value, 2));
    set(each.hit, { x: x - 20, y: y - 20, width: 40, height: 40 });
    set(each.dot, { cx: x, cy: y });
    set(each.name, { x, y: y - 12 });
    set(each.number, { x, y: y + 22 });
    say(each, at, pair[0], written.join(", "), `x ${written[0]}, y ${written[1]}`);
  }

  function say({ group, number }, at, value, text, said = text) {
    const name = `${body.labels[at]}: ${body.unit || body.name}`;
    number.textContent = text;
    set(group, body.frozen ? { "aria-label": `${name}, ${said}` }
      : { "aria-valuenow": value, "aria-valuetext": said, "aria-label": name });
  }

  // Hide a point's numbers that overlap something else until the pointer is near.
  function thin(values) {
    const spots = handles.map((_, at) => [area.x(values[2 * at]), area.y(values[2 * at + 1])]);
    const taken = spots.flatMap(([x, y]) => [[x, y, 9, 9], [x, y - 16, 5, 7]]);
    handles.forEach((each, at) => {
      const [x, y] = spots[at], own = [x, y + 18, each.number.textContent.length * 3.5, 7];
      const crowded = taken.some((other, i) => (i >= 2 * handles.length || i >> 1 !== at) && meet(own, other));
      each.group.classList.toggle("crowded", crowded);
      if (!crowded) taken.push(own);
    });
  }

  const meet = ([x, y, wide, high], [a, b, w, h]) => Math.abs(x - a) < wide + w && Math.abs(y - b) < high + h;
  const valuesAt = (event) => area.at(event), focus = (at) => handles[at].group.focus({ focusVisible: false });
  const handleOf = (target) => handles.findIndex(({ group }) => group.contains(target));
  return { svg, build, draw, handleOf, valuesAt, focus };
}
