// A curve drawn by hand. A stroke sets the heights at the positions it passes; all other positions take the nearest
// height, so a single stroke makes a whole curve. Sends {values} when the stroke ends.
import { dragging, NUDGES, onKeys } from "../js/input.js";
import { clamp, div, fill, framed, hundredth } from "../js/shared.js";
import { draggable, drawAxes, label, plane, set, shape } from "../js/svg.js";

const LEFT = 52, RIGHT = 12, TOP = 24, FOOT = 40, MIDDLE = 0.5;
const rounded = (height) => hundredth(clamp(height, 0, 1));

/** @type {import("../js/component.js").Mount} */
export const mount = framed("sketch", ({ root, on, draw, send }) => {
  const svg = shape("svg", { role: "group" }, root), axes = shape("g", {}, svg);
  const curve = shape("polyline", { class: "curve" }, svg), hint = div(root, "hint");
  const invited = shape("text", { class: "invite" }, svg), points = shape("g", {}, svg);
  let body, heights, dots, area, before;   // before: last [position, height] of the stroke

  function build(read) {
    body = read;
    points.replaceChildren();
    dots = Array.from({ length: body.places }, () => shape("circle", { r: 5, ...draggable(0, 1) }, points));
    set(svg, { "aria-label": fill(body.text.group, { name: body.names[1] }), height: body.height });
    hint.textContent = body.text.hint;
    invited.textContent = body.text.invite;
  }

  function redraw() {
    const full = filled(), drawn = heights.some((each) => each !== undefined), { places } = body;
    const right = Math.max(120, root.clientWidth - RIGHT), bottom = body.height - FOOT;
    const x = (LEFT + right) / 2, x2 = (place) => area.x(place / (places - 1));
    area = plane(svg, { left: LEFT, right, top: TOP, bottom });
    drawAxes(axes, area, body.across, body.up, body.names[1]);
    label(axes, body.names[0], { x, y: body.height - 6 });
    set(curve, { points: drawn ? full.map((each, i) => [x2(i), area.y(each)]).join(" ") : "" });
    dots.forEach((dot, i) => {
      set(dot, { cx: x2(i), cy: area.y(full[i]), "aria-valuenow": full[i],
        "aria-label": fill(body.text.place, { place: i + 1, places }) });
      dot.classList.toggle("open", heights[i] === undefined);
    });
    set(invited, { x, y: (TOP + bottom) / 2 });
    invited.toggleAttribute("hidden", drawn);
  }

  // Return the curve, with undrawn positions at the height of the nearest drawn one.
  function filled() {
    const known = Object.keys(heights).map(Number);
    const nearest = (i) => known.reduce((best, each) => (Math.abs(each - i) < Math.abs(best - i) ? each : best));
    return Array.from({ length: body.places }, (_, i) => (known.length ? heights[nearest(i)] : MIDDLE));
  }

  // Continue the stroke to a point, interpolating the positions in between.
  function stroke(event) {
    const [share, up] = area.at(event), across = clamp(share, 0, 1) * (body.places - 1), height = rounded(up);
    const [from, high] = before ?? [across, height];
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
  onKeys(on, svg, ({ target, key }) => {
    const place = dots.indexOf(target);
    if (place < 0 || !NUDGES[key]) return false;
    change(filled().with(place, rounded(filled()[place] + NUDGES[key] / 50)));
  });

  return { build, take: ({ values }) => { if (!held()) heights = [...values]; }, redraw };
});
