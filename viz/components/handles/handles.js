// Handles on an SVG: bars, shares of a whole, or points. Dragging happens here; sends {values}.
import { dragging, NUDGES, onKeys, telling } from "../js/input.js";
import { clamp, div, figure, fill, fixed, framed, hundredth } from "../js/shared.js";
import { axis, draggable, label, plane, set, shape } from "../js/svg.js";

const TOP = 24, FOOT = 24;

/**
 * Draw the handles over two axes.
 * @param {HTMLElement} root
 * @returns {{svg: SVGElement, build: (body: object) => void,
 *   draw: (values: number[], faint: number[], colours: string[]) => void, handleOf: (target: EventTarget) => number,
 *   valuesAt: (event: PointerEvent) => number[], focus: (at: number) => void}}
 *   handleOf: -1 for none; valuesAt: the pointer's position in the axes' units, across and up
 */
function viewOf(root) {
  const svg = shape("svg", { role: "group" }, root), axes = shape("g", {}, svg), hint = div(root, "hint");
  let body, handles = [], box, area;

  function build(read) {
    body = read;
    for (const each of handles) each.group.remove();
    handles = body.labels.map(handle);
    svg.setAttribute("aria-label", fill(body.text.group, { name: body.name }));
    svg.classList.toggle("crowded", points() && handles.length > 1);
    hint.textContent = body.text[body.mode];
  }

  const points = () => body.mode === "points";

  function handle(name) {
    const group = shape("g", { class: "handle", ...draggable(body.low, body.high) }, svg), text = (kind) => shape("text", { class: kind }, group);
    const bar = points() ? undefined : shape("rect", { class: "column", rx: 2 }, group);
    const made = { group, bar, hit: shape("rect", { class: "hit" }, group), dot: shape("circle", { r: 7 }, group),
      number: text("number"), name: text("label") };
    made.name.textContent = name;
    return made;
  }

  function draw(values, faint, colours) {
    // while presenting, text is large and there is little height
    const height = body.height * (+getComputedStyle(root).getPropertyValue("--picture-share") || 1);
    box = { left: 34, right: Math.max(80, root.clientWidth - 12), top: TOP, bottom: height - FOOT };
    area = plane(svg, box, body.low, body.high);
    set(svg, { height });
    drawAxes();
    handles.forEach((each, at) => {
      each.group.classList.toggle("faint", faint.includes(at));
      each.dot.setAttribute("fill", colours[at % colours.length]);
      if (points()) drawPoint(each, at, values.slice(2 * at, 2 * at + 2));
      else drawBar(each, at, values[at], colours[at % colours.length]);
    });
  }

  const zero = () => clamp(0, body.low, body.high);

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
    set(group, { "aria-valuenow": value, "aria-valuetext": said, "aria-label": name });
  }

  const valuesAt = (event) => area.at(event), focus = (at) => handles[at].group.focus({ focusVisible: false });
  const handleOf = (target) => handles.findIndex(({ group }) => group.contains(target));
  return { svg, build, draw, handleOf, valuesAt, focus };
}

/** @type {import("../js/component.js").Mount} */
export const mount = framed("drag", ({ root, on, draw, send }) => {
  const view = viewOf(root);
  let body, values = [], faint;

  const told = telling(() => {
    const sent = values.map(hundredth);
    send({ values: sent });
    return sent.join();
  });

  // Set one number. For shares, the others are adjusted proportionally so that the sum stays 1.
  function move(at, value) {
    const to = clamp(value, body.low, body.high);
    const rest = values.reduce((sum, each) => sum + each, -values[at]);
    const others = (each) => Math.max(0, 1 - to) * (rest > 0 ? each / rest : 1 / (values.length - 1));
    values = (body.mode === "shares" ? values.map(others) : values).with(at, to);
    draw();
  }

  // Move a handle to the pointer.
  function follow(at, event) {
    const [across, up] = view.valuesAt(event);
    if (body.mode === "points") move(2 * at, across);
    move(body.mode === "points" ? 2 * at + 1 : at, up);
    told.tell();
  }

  const held = dragging(on, view.svg, {
    grab(event) {
      const at = view.handleOf(event.target);
      if (at < 0) return undefined;
      view.focus(at);
      follow(at, event);
      return at;
    },
    move: follow,
    drop: () => told.tell(true),
  });
  onKeys(on, view.svg, ({ target, key }) => {
    const at = view.handleOf(target), upright = !["ArrowLeft", "ArrowRight"].includes(key);
    if (at < 0 || !NUDGES[key]) return false;
    const index = body.mode === "points" ? 2 * at + (upright ? 1 : 0) : at;
    move(index, values[index] + (NUDGES[key] * (body.high - body.low)) / 100);
    told.tell();
  });

  function build(read) {
    body = read;
    view.build(body);
  }

  function take(read) {
    faint = read.faint;
    if (held() !== undefined) return;
    // a different number of values belongs to another question
    if (told.takes(read.values.map(hundredth).join()) || read.values.length !== values.length) ({ values } = read);
  }

  return { build, take, redraw: ({ heads }) => view.draw(values, faint, heads), leave: told.end };
});
