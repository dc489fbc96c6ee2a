// Handles on an SVG: bars, shares of a whole, or points. Dragging happens here; sends {values}.
import { dragging, NUDGES, onKeys, telling } from "../js/input.js";
import { clamp, div, figure, fill, fixed, framed, hundredth } from "../js/shared.js";
import { draggable, drawAxes, plane, set, shape } from "../js/svg.js";

const TOP = 24, FOOT = 24;

/** @type {import("../js/component.js").Mount} */
export const mount = framed("drag", ({ root, on, draw, send }) => {
  const svg = shape("svg", { role: "group" }, root), axes = shape("g", {}, svg), hint = div(root, "hint");
  let body, values = [], faint, points, area, handles = [];   // points: whether each handle has two numbers, x and y

  function build(read) {
    body = read;
    points = body.mode === "points";
    for (const each of handles) each.group.remove();
    handles = body.labels.map(handle);
    set(svg, { "aria-label": fill(body.text.group, { name: body.name }) });
    svg.classList.toggle("crowded", points && handles.length > 1);
    hint.textContent = body.text[body.mode];
  }

  function handle(name) {
    const group = shape("g", { class: "handle", ...draggable(body.low, body.high) }, svg);
    const part = (tag, attributes) => shape(tag, attributes, group);
    const bar = points ? undefined : part("rect", { class: "column", rx: 2 });
    const made = { group, bar, hit: part("rect", { class: "hit" }), dot: part("circle", { r: 7 }),
      number: part("text", { class: "number" }), name: part("text", { class: "label" }) };
    made.name.textContent = name;
    return made;
  }

  function redraw({ heads: colours }) {
    // while presenting, text is large and there is little height
    const height = body.height * (+getComputedStyle(root).getPropertyValue("--picture-share") || 1);
    const right = Math.max(80, root.clientWidth - 12), zero = clamp(0, body.low, body.high);
    const ticks = [...new Set([body.low, zero, body.high])].map((value) => /** @type {[number, string]} */ (
      [value, figure(value).replace(/\.?0+$/, "") || "0"]));
    area = plane(svg, { left: 34, right, top: TOP, bottom: height - FOOT }, body.low, body.high);
    set(svg, { height });
    drawAxes(axes, area, points ? ticks.map(([value]) => [value, ""]) : [], ticks, body.unit);
    handles.forEach((each, at) => {
      const colour = colours[at % colours.length];
      each.group.classList.toggle("faint", faint.includes(at));
      set(each.dot, { fill: colour });
      if (points) drawPoint(each, at);
      else drawBar(each, at, colour, area.y(zero));
    });
  }

  function drawBar(each, at, fill, foot) {
    const { left, right, top, bottom } = area, room = (right - left) / handles.length;
    const x = left + (at + 0.5) * room, y = area.y(values[at]);
    const width = Math.min(46, room * 0.62), height = Math.max(1, Math.abs(foot - y));
    set(each.bar, { x: x - width / 2, y: Math.min(y, foot), width, height, fill });
    set(each.hit, { x: x - width / 2 - 4, y: top - 8, width: width + 8, height: bottom - top + 16 });
    set(each.dot, { cx: x, cy: y });
    set(each.number, { x, y: y <= foot ? y - 12 : y + 22 });
    set(each.name, { x, y: bottom + FOOT - 6 });
    say(each, at, values[at], fixed(values[at], 2));
  }

  function drawPoint(each, at) {
    const pair = values.slice(2 * at, 2 * at + 2), written = pair.map((value) => fixed(value, 2));
    const x = area.x(pair[0]), y = area.y(pair[1]);
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
    const [across, up] = area.at(event);
    if (points) move(2 * at, across);
    move(points ? 2 * at + 1 : at, up);
    told.tell();
  }

  const handleAt = (target) => handles.findIndex(({ group }) => group.contains(target));
  const held = dragging(on, svg, {
    grab(event) {
      const at = handleAt(event.target);
      if (at < 0) return undefined;
      handles[at].group.focus({ focusVisible: false });
      follow(at, event);
      return at;
    },
    move: follow,
    drop: () => told.tell(true),
  });
  onKeys(on, svg, ({ target, key }) => {
    const at = handleAt(target), index = points ? 2 * at + (/Left|Right/.test(key) ? 0 : 1) : at;
    if (at < 0 || !NUDGES[key]) return false;
    move(index, values[index] + (NUDGES[key] * (body.high - body.low)) / 100);
    told.tell();
  });

  function take(read) {
    faint = read.faint;
    if (held() !== undefined) return;
    // a different number of values belongs to another question
    if (told.takes(read.values.map(hundredth).join()) || read.values.length !== values.length) ({ values } = read);
  }

  return { build, take, redraw, leave: told.end };
});
