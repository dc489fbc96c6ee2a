// Handles on an SVG: bars, shares of one whole, or points. Dragging happens here; what was dragged is sent as {values}.
import { receiver } from "../js/messages.js";
import { div, figure, fill, fixed, frame, palette, within } from "../js/shared.js";
import { set, shape } from "../js/svg.js";

const PAUSE = 120, PATIENCE = 2000, TOP = 24, FOOT = 24;
const STEPS = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1,
  PageUp: 10, PageDown: -10, Home: -Infinity, End: Infinity };

export function mount(element, bytes, send) {
  const { root, on, draw, end } = frame(element, "drag", redraw);
  const svg = shape("svg", { role: "group" }, root), axes = shape("g", {}, svg);
  const hint = div("hint", root);
  let body, values = [], faint = [], handles = [], held, last = 0, later, awaited;

  const plane = () => ({ left: 34, right: Math.max(80, root.clientWidth - 12), top: TOP, bottom: high() - FOOT });
  // in a lecture letters are large and the screen is low
  const high = () => body.height * (parseFloat(getComputedStyle(root).getPropertyValue("--picture-share")) || 1);
  const clamp = (value) => Math.min(body.high, Math.max(body.low, value));
  const points = () => body.mode === "points";
  const toY = (value, box) => box.bottom - ((value - body.low) / (body.high - body.low)) * (box.bottom - box.top);
  const toX = (value, box) => box.left + ((value - body.low) / (body.high - body.low)) * (box.right - box.left);
  const slot = (at, box) => box.left + ((at + 0.5) * (box.right - box.left)) / body.labels.length;

  function build() {
    for (const each of handles) each.group.remove();
    handles = body.labels.map((label, at) => {
      const range = { "aria-valuemin": body.low, "aria-valuemax": body.high };
      const held = body.frozen ? { role: "img" } : { tabindex: 0, role: "slider", ...range };
      const group = shape("g", { class: "handle", ...held }, svg);
      const bar = points() ? undefined : shape("rect", { class: "column", rx: 2 }, group);
      const hit = shape("rect", { class: "hit" }, group), dot = shape("circle", { r: 7 }, group);
      const number = shape("text", { class: "number", "text-anchor": "middle" }, group);
      const name = shape("text", { class: "label", "text-anchor": "middle" }, group);
      name.textContent = label;
      return { group, bar, hit, dot, number, name };
    });
    svg.setAttribute("aria-label", fill(body.text.group, { name: body.name }));
    hint.textContent = body.frozen ? "" : body.text[body.mode];
    root.classList.toggle("frozen", body.frozen === true);
  }

  function redraw() {
    if (!body || !values.length) return;
    const { heads } = palette(root, body.colours), box = plane(), drawOne = points() ? drawPoint : drawBar;
    svg.setAttribute("height", high());
    drawAxes(box);
    handles.forEach((each, at) => drawOne(each, at, box, heads[at % heads.length]));
    if (points()) thin(box);
  }

  // Numbers of a point that would lie on something else wait until somebody comes near it.
  function thin(box) {
    const spots = handles.map((_, at) => [toX(values[2 * at], box), toY(values[2 * at + 1], box)]);
    const taken = spots.flatMap(([x, y]) => [[x, y, 9, 9], [x, y - 16, 5, 7]]);
    handles.forEach((each, at) => {
      const [x, y] = spots[at], own = [x, y + 18, each.number.textContent.length * 3.5, 7];
      const crowded = taken.some((other, i) => (i >= 2 * handles.length || i >> 1 !== at) && meet(own, other));
      each.group.classList.toggle("crowded", crowded);
      if (!crowded) taken.push(own);
    });
  }

  const meet = ([x, y, wide, high], [a, b, w, h]) => Math.abs(x - a) < wide + w && Math.abs(y - b) < high + h;

  function drawAxes(box) {
    const zero = Math.max(body.low, Math.min(0, body.high)), [left, right] = [box.left, box.right];
    axes.replaceChildren();
    for (const value of new Set([body.low, zero, body.high])) {
      const y = toY(value, box), x = toX(value, box), written = figure(value).replace(/\.?0+$/, "") || "0";
      shape("line", { class: "axis", x1: left, x2: right, y1: y, y2: y }, axes);
      shape("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, axes).textContent = written;
      if (points()) shape("line", { class: "axis", x1: x, x2: x, y1: box.top, y2: box.bottom }, axes);
    }
    shape("text", { x: left, y: 12 }, axes).textContent = body.unit;
  }

  function drawBar(each, at, box, colour) {
    const x = slot(at, box), y = toY(values[at], box), zero = toY(Math.max(body.low, Math.min(0, body.high)), box);
    const wide = Math.min(46, ((box.right - box.left) / body.labels.length) * 0.62), above = y <= zero;
    const height = Math.max(1, Math.abs(zero - y));
    set(each.bar, { x: x - wide / 2, y: Math.min(y, zero), width: wide, height, fill: colour, "fill-opacity": 0.55 });
    set(each.hit, { x: x - wide / 2 - 4, y: box.top - 8, width: wide + 8, height: box.bottom - box.top + 16 });
    set(each.dot, { cx: x, cy: y, fill: colour });
    set(each.number, { x, y: above ? y - 12 : y + 22 });
    set(each.name, { x, y: high() - 6 });
    each.number.textContent = fixed(values[at], 2);
    say(each, at, values[at], fixed(values[at], 2));
  }

  function drawPoint(each, at, box, colour) {
    const [x, y] = [toX(values[2 * at], box), toY(values[2 * at + 1], box)];
    set(each.hit, { x: x - 20, y: y - 20, width: 40, height: 40 });
    set(each.dot, { cx: x, cy: y, fill: colour });
    set(each.name, { x, y: y - 12 });
    set(each.number, { x, y: y + 22 });
    each.number.textContent = `${fixed(values[2 * at], 2)}, ${fixed(values[2 * at + 1], 2)}`;
    say(each, at, values[2 * at], `x ${fixed(values[2 * at], 2)}, y ${fixed(values[2 * at + 1], 2)}`);
  }

  function say(each, at, value, text) {
    const label = `${body.labels[at]}: ${body.unit || body.name}`;
    each.group.classList.toggle("faint", faint.includes(at));
    set(each.group, body.frozen ? { "aria-label": `${label}, ${text}` }
      : { "aria-valuenow": value, "aria-valuetext": text, "aria-label": label });
  }

  // One number of the row to a new value. Shares give way in proportion, so that the whole stays 1.
  function move(at, value) {
    const next = [...values], to = clamp(value);
    if (body.mode === "shares") {
      const rest = values.reduce((sum, each, i) => (i === at ? sum : sum + each), 0), left = Math.max(0, 1 - to);
      next.forEach((each, i) => (next[i] = i === at ? to : rest > 0 ? (each * left) / rest : left / (next.length - 1)));
    } else next[at] = to;
    values = next;
    draw();
  }

  const rounded = (numbers) => numbers.map((each) => Math.round(each * 100) / 100);

  // At most one message every PAUSE; the last one always goes.
  function tell(now) {
    const wait = now ? 0 : PAUSE - (performance.now() - last);
    clearTimeout(later);
    later = wait > 0 ? setTimeout(tell, wait, true) : undefined;
    if (later) return;
    last = performance.now();
    const sent = rounded(values);
    awaited = { key: sent.join(), until: last + PATIENCE };
    send({ values: sent });
  }

  // The held handle to where the pointer is.
  function drop(event) {
    const box = plane(), [across, down] = within(svg, event), span = body.high - body.low;
    const x = body.low + ((across - box.left) / (box.right - box.left)) * span;
    const y = body.low + ((box.bottom - down) / (box.bottom - box.top)) * span;
    if (points()) move(2 * held, x);
    move(points() ? 2 * held + 1 : held, y);
    tell();
  }

  on(svg, "pointerdown", (event) => {
    const at = handles.findIndex((each) => each.group.contains(event.target));
    if (at < 0 || event.button || body.frozen) return;
    held = at;
    svg.setPointerCapture(event.pointerId);
    handles[at].group.focus({ focusVisible: false });
    drop(event);
    event.preventDefault();
  });
  on(svg, "pointermove", (event) => held !== undefined && drop(event));
  const letGo = () => {
    if (held !== undefined) tell(true);
    held = undefined;
  };
  on(svg, "pointerup", letGo);
  on(svg, "pointercancel", letGo);
  on(svg, "keydown", (event) => {
    const at = handles.findIndex((each) => each.group === event.target), step = STEPS[event.key];
    if (at < 0 || step === undefined) return;
    const upright = !["ArrowLeft", "ArrowRight"].includes(event.key), place = points() ? 2 * at + upright : at;
    move(place, values[place] + (step * (body.high - body.low)) / 100);
    tell();
    event.preventDefault();
  });

  // A state that was on its way while one dragged on must not pull the handle back.
  function stale(state) {
    if (held !== undefined) return true;
    if (!awaited || performance.now() > awaited.until || state.values.length !== values.length) return false;
    return rounded(state.values).join() !== awaited.key;
  }

  return receiver(bytes, (read) => {
    if (read.part === "body") {
      body = read;
      build();
    } else if (!stale(read)) {
      awaited = undefined;
      values = read.values;
      faint = read.faint;
    } else faint = read.faint;
    draw();
  }, () => (clearTimeout(later), end()));
}
