// Handles as an SVG: bars or points over two axes.
import { div, figure, fill, fixed, palette, within } from "../js/shared.js";
import { set, shape } from "../js/svg.js";

const TOP = 24, FOOT = 24;

/**
 * Create the picture of handles.js in its root.
 * @param {HTMLElement} root
 * @returns {{svg: SVGElement, build: (body: object) => void, draw: (values: number[], faint: number[]) => void,
 *   handleOf: (target: Node) => number, valuesAt: (event: PointerEvent) => number[], focus: (at: number) => void}}
 *   handleOf: -1 for none; valuesAt: the pointer's position in the axes' units, across and up
 */
export function viewOf(root) {
  const svg = shape("svg", { role: "group" }, root), axes = shape("g", {}, svg), hint = div("hint", root);
  let body, handles = [], box;

  function build(read) {
    body = read;
    for (const each of handles) each.group.remove();
    handles = body.labels.map(handle);
    svg.setAttribute("aria-label", fill(body.text.group, { name: body.name }));
    hint.textContent = body.frozen ? "" : body.text[body.mode];
    root.classList.toggle("frozen", body.frozen === true);
  }

  const points = () => body.mode === "points";

  function handle(label) {
    const slider = { tabindex: 0, role: "slider", "aria-valuemin": body.low, "aria-valuemax": body.high };
    const group = shape("g", { class: "handle", ...(body.frozen ? { role: "img" } : slider) }, svg);
    const bar = points() ? undefined : shape("rect", { class: "column", rx: 2 }, group);
    const hit = shape("rect", { class: "hit" }, group), dot = shape("circle", { r: 7 }, group);
    const number = shape("text", { class: "number", "text-anchor": "middle" }, group);
    const name = shape("text", { class: "label", "text-anchor": "middle" }, group);
    name.textContent = label;
    return { group, bar, hit, dot, number, name };
  }

  function draw(values, faint) {
    // in lecture mode, text is large and there is little height
    const height = body.height * (parseFloat(getComputedStyle(root).getPropertyValue("--picture-share")) || 1);
    const { heads } = palette(root, body.colours);
    box = { left: 34, right: Math.max(80, root.clientWidth - 12), top: TOP, bottom: height - FOOT };
    svg.setAttribute("height", height);
    drawAxes();
    handles.forEach((each, at) => {
      each.group.classList.toggle("faint", faint.includes(at));
      (points() ? drawPoint : drawBar)(each, at, values, heads[at % heads.length]);
    });
    if (points()) thin(values);
  }

  const span = () => body.high - body.low;
  const toX = (value) => box.left + ((value - body.low) / span()) * (box.right - box.left);
  const toY = (value) => box.bottom - ((value - body.low) / span()) * (box.bottom - box.top);
  const zero = () => Math.max(body.low, Math.min(0, body.high));

  function drawAxes() {
    const { left, right, top, bottom } = box;
    axes.replaceChildren();
    for (const value of new Set([body.low, zero(), body.high])) {
      const y = toY(value), x = toX(value), written = figure(value).replace(/\.?0+$/, "") || "0";
      shape("line", { class: "axis", x1: left, x2: right, y1: y, y2: y }, axes);
      shape("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, axes).textContent = written;
      if (points()) shape("line", { class: "axis", x1: x, x2: x, y1: top, y2: bottom }, axes);
    }
    shape("text", { x: left, y: 12 }, axes).textContent = body.unit;
  }

  function drawBar(each, at, values, colour) {
    const room = (box.right - box.left) / body.labels.length, wide = Math.min(46, room * 0.62);
    const x = box.left + (at + 0.5) * room, y = toY(values[at]), foot = toY(zero()), text = fixed(values[at], 2);
    const height = Math.max(1, Math.abs(foot - y));
    set(each.bar, { x: x - wide / 2, y: Math.min(y, foot), width: wide, height, fill: colour, "fill-opacity": 0.55 });
    set(each.hit, { x: x - wide / 2 - 4, y: box.top - 8, width: wide + 8, height: box.bottom - box.top + 16 });
    set(each.dot, { cx: x, cy: y, fill: colour });
    set(each.number, { x, y: y <= foot ? y - 12 : y + 22 });
    set(each.name, { x, y: box.bottom + FOOT - 6 });
    each.number.textContent = text;
    say(each, at, values[at], text);
  }

  function drawPoint(each, at, values, colour) {
    const pair = values.slice(2 * at, 2 * at + 2), [x, y] = [toX(pair[0]), toY(pair[1])];
    const written = pair.map((value) => fixed(value, 2));
    set(each.hit, { x: x - 20, y: y - 20, width: 40, height: 40 });
    set(each.dot, { cx: x, cy: y, fill: colour });
    set(each.name, { x, y: y - 12 });
    set(each.number, { x, y: y + 22 });
    each.number.textContent = written.join(", ");
    say(each, at, pair[0], `x ${written[0]}, y ${written[1]}`);
  }

  function say({ group }, at, value, text) {
    const label = `${body.labels[at]}: ${body.unit || body.name}`;
    set(group, body.frozen ? { "aria-label": `${label}, ${text}` }
      : { "aria-valuenow": value, "aria-valuetext": text, "aria-label": label });
  }

  // Hide a point's numbers that overlap something else until the pointer is near.
  function thin(values) {
    const spots = handles.map((_, at) => [toX(values[2 * at]), toY(values[2 * at + 1])]);
    const taken = spots.flatMap(([x, y]) => [[x, y, 9, 9], [x, y - 16, 5, 7]]);
    handles.forEach((each, at) => {
      const [x, y] = spots[at], own = [x, y + 18, each.number.textContent.length * 3.5, 7];
      const crowded = taken.some((other, i) => (i >= 2 * handles.length || i >> 1 !== at) && meet(own, other));
      each.group.classList.toggle("crowded", crowded);
      if (!crowded) taken.push(own);
    });
  }

  const meet = ([x, y, wide, high], [a, b, w, h]) => Math.abs(x - a) < wide + w && Math.abs(y - b) < high + h;

  function valuesAt(event) {
    const [across, down] = within(svg, event), { left, right, top, bottom } = box;
    return [body.low + ((across - left) / (right - left)) * span(), body.low + ((bottom - down) / (bottom - top)) * span()];
  }

  const handleOf = (target) => handles.findIndex(({ group }) => group.contains(target));
  const focus = (at) => handles[at].group.focus({ focusVisible: false });
  return { svg, build, draw, handleOf, valuesAt, focus };
}
