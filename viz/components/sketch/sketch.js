// A curve drawn by hand. A stroke sets the heights at the positions it passes; all other positions take the nearest
// height, so a single stroke makes a whole curve. Sends {values} when the stroke ends.
import { dragging } from "../js/drag.js";
import { receiver } from "../js/messages.js";
import { div, fill, frame, palette, within } from "../js/shared.js";
import { set, shape } from "../js/svg.js";

const STEPS = { ArrowUp: 0.02, ArrowRight: 0.02, ArrowDown: -0.02, ArrowLeft: -0.02,
  PageUp: 0.2, PageDown: -0.2, Home: -1, End: 1 };
const LEFT = 52, RIGHT = 12, TOP = 24, FOOT = 40, MIDDLE = 0.5;
const rounded = (height) => Math.round(Math.min(1, Math.max(0, height)) * 100) / 100;

/** @type {import("../js/component.js").Mount} */
export function mount(element, bytes, send) {
  const { root, on, draw, end } = frame(element, "sketch", redraw);
  const svg = shape("svg", { role: "group" }, root), axes = shape("g", {}, svg);
  const curve = shape("polyline", { class: "curve" }, svg), invited = shape("text", { class: "invite" }, svg);
  const hint = div("hint", root);
  let body, heights = [], dots = [], before;   // before: last [position, height] of the stroke

  const box = () => ({ left: LEFT, right: Math.max(120, root.clientWidth - RIGHT), top: TOP, bottom: body.height - FOOT });
  const toX = (share, { left, right }) => left + share * (right - left);
  const toY = (share, { top, bottom }) => bottom - share * (bottom - top);
  const at = (place) => place / (body.places - 1);

  function build() {
    for (const each of dots) each.remove();
    dots = Array.from({ length: body.places }, () =>
      shape("circle", { r: 5, tabindex: 0, role: "slider", "aria-valuemin": 0, "aria-valuemax": 1 }, svg));
    svg.setAttribute("aria-label", fill(body.text.group, { name: body.names[1] }));
    hint.textContent = body.text.hint;
    invited.textContent = body.text.invite;
  }

  function redraw() {
    if (!body) return;
    const plane = box(), drawn = heights.some((each) => each !== undefined);
    palette(root, body.colours);
    svg.setAttribute("height", body.height);
    drawAxes(plane);
    const full = filled();
    curve.setAttribute("points", drawn ? full.map((each, i) => [toX(at(i), plane), toY(each, plane)].join()).join(" ") : "");
    dots.forEach((dot, i) => {
      set(dot, { cx: toX(at(i), plane), cy: toY(full[i], plane), "aria-valuenow": full[i],
        "aria-label": fill(body.text.place, { place: i + 1, places: body.places }) });
      dot.classList.toggle("open", heights[i] === undefined);
    });
    set(invited, { x: (plane.left + plane.right) / 2, y: (plane.top + plane.bottom) / 2, "text-anchor": "middle" });
    invited.toggleAttribute("hidden", drawn);
  }

  function drawAxes(plane) {
    axes.replaceChildren();
    for (const [share, name] of body.across) {
      const x = toX(share, plane), place = share === 0 ? "start" : share === 1 ? "end" : "middle";
      shape("line", { class: "axis", x1: x, x2: x, y1: plane.top, y2: plane.bottom }, axes);
      shape("text", { x, y: plane.bottom + 16, "text-anchor": place }, axes).textContent = name;
    }
    for (const [share, name] of body.up) {
      const y = toY(share, plane);
      shape("line", { class: "axis", x1: plane.left, x2: plane.right, y1: y, y2: y }, axes);
      shape("text", { x: plane.left - 6, y: y + 4, "text-anchor": "end" }, axes).textContent = name;
    }
    const middle = { x: (plane.left + plane.right) / 2, y: body.height - 6, "text-anchor": "middle" };
    shape("text", middle, axes).textContent = body.names[0];
    shape("text", { x: plane.left, y: 12 }, axes).textContent = body.names[1];
  }

  // Return the curve, with undrawn positions at the height of the nearest drawn one.
  function filled() {
    const known = heights.flatMap((each, i) => (each === undefined ? [] : [i]));
    if (!known.length) return Array(body.places).fill(MIDDLE);
    const nearest = (i) => known.reduce((best, each) => (Math.abs(each - i) < Math.abs(best - i) ? each : best));
    return Array.from({ length: body.places }, (_, i) => heights[i] ?? heights[nearest(i)]);
  }

  // Continue the stroke to a point, interpolating the positions in between.
  function stroke(event) {
    const plane = box(), [x, y] = within(svg, event);
    const across = Math.min(1, Math.max(0, (x - plane.left) / (plane.right - plane.left))) * (body.places - 1);
    const height = rounded((plane.bottom - y) / (plane.bottom - plane.top)), [from, high] = before ?? [across, height];
    heights[Math.round(across)] = height;
    for (let i = Math.ceil(Math.min(from, across)); i <= Math.max(from, across); i += 1) {
      heights[i] = across === from ? height : rounded(high + ((i - from) / (across - from)) * (height - high));
    }
    before = [across, height];
    draw();
  }

  function change(to) {
    heights = to;
    send({ values: heights });
    draw();
  }

  const held = dragging(on, svg, {
    grab(event) {
      before = undefined;
      stroke(event);
      return true;
    },
    move: (_, event) => stroke(event),
    drop: () => change(filled()),
  });
  on(svg, "keydown", (event) => {
    const place = dots.indexOf(event.target), step = STEPS[event.key];
    if (place < 0 || step === undefined) return;
    change(filled().map((each, i) => (i === place ? rounded(each + step) : each)));
    event.preventDefault();
  });

  return receiver(bytes, (read) => {
    if (read.part === "body") {
      body = read;
      build();
    } else if (!held()) heights = [...read.values];
    draw();
  }, end);
}
