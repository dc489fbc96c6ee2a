// A two-dimensional head: dragging an arrow's tip updates weights and output immediately. Sends {q, k, v} after a drag
// and {looks} for a new query token.
import { ARROWS, dragging, onKeys, telling } from "../js/input.js";
import { button, clamp, div, figure, fill, fixed, framed, hundredth, node, span } from "../js/shared.js";
import { axis, draggable, plane, set, shape } from "../js/svg.js";
import { attend } from "./attention.js";

const MARGIN = 14, TIP = 9, LARGEST = 300, LINE = 14, STEP = 0.1;

/**
 * An arrow on a plane.
 * @typedef {{group: SVGElement, kind: "q" | "k" | "v", of: number | undefined}} Arrow  of: the token's index; undefined
 *   for the query, which belongs to the current query token
 */

/** @type {import("../js/component.js").Mount} */
export const mount = framed("arrows", ({ root, on, draw, send }) => {
  const who = div(root, "who"), board = div(root, "board"), left = side("left"), rows = div(board, "rows");
  const right = side("right"), hint = div(root, "hint"), planes = [left, right];
  let body, now, size = LARGEST, buttons = [], cells = [], mix;
  let named = [];   // [plane, x, y, half width] of each name

  function side(name) {
    const box = div(board, `plane ${name}`), title = div(box, "title"), svg = shape("svg", { role: "group" }, box);
    return { box, title, svg, back: shape("g", {}, svg), front: shape("g", {}, svg), arrows: [] };
  }

  function build(read) {
    body = read;
    who.replaceChildren();
    span(who, "", body.text.who);
    buttons = body.tokens.map((token, at) => button(who, "", token, () => send({ looks: at })));
    rows.replaceChildren();
    cells = body.tokens.map((token) => {
      const cell = div(rows, "cell"), name = node("b", cell, "token", token);
      const dot = div(cell), score = div(cell);
      return { name, dot, score, filled: div(div(cell, "share")), weight: div(cell, "weight") };
    });
    for (const each of planes) each.front.replaceChildren();
    left.arrows = [arrow(left, "q"), ...body.tokens.map((_, at) => arrow(left, "k", at))];
    right.arrows = body.tokens.map((_, at) => arrow(right, "v", at));
    mix = stroke(right.front, "mix");
    left.title.textContent = body.text.left;
    right.title.textContent = body.text.right;
    hint.textContent = body.text.hint;
  }

  function stroke(parent, name) {
    const group = shape("g", { class: name }, parent);
    return { group, line: shape("line", {}, group), tip: shape("path", {}, group),
      label: shape("text", {}, group) };
  }

  function arrow({ front }, kind, of) {
    const made = stroke(front, `arrow ${kind}`), hit = shape("circle", { class: "hit", r: 18 }, made.group);
    set(made.group, draggable(body.low, body.high));
    return { ...made, hit, kind, of };
  }

  const spot = ([x, y]) => [left.area.x(x), left.area.y(y)];   // the same on both planes

  function redraw({ heads, accent }) {
    const { weights, dots, scores, mix: sum } = attend(pair("q", now.looks), pairs("k"), pairs("v"));
    size = Math.min(left.box.clientWidth || LARGEST, LARGEST);
    const inside = { left: MARGIN, right: size - MARGIN, top: MARGIN, bottom: size - MARGIN };
    for (const each of planes) {
      set(each.svg, { viewBox: `0 0 ${size} ${size}`, width: size, height: size });
      each.area = plane(each.svg, inside, body.low, body.high);
      drawAxes(each, each === right && !now.covered ? now.corners.map((at) => pair("v", at)) : []);
    }
    named = [];
    for (const made of planes.flatMap(({ arrows }) => arrows)) {
      const { kind, of: at = now.looks, group, hit } = made, token = body.tokens[at];
      const end = pair(kind, at), [cx, cy] = spot(end);
      point(made, end, kind === "q" ? accent : heads[at], kind === "v" ? token : `${kind} ${token}`);
      set(hit, { cx, cy });
      set(group, { "aria-label": fill(body.text.label, { kind: body.text.kinds[kind], token }), "aria-valuenow": end[0],
        "aria-valuetext": `x ${fixed(end[0], 2)}, y ${fixed(end[1], 2)}` });
      group.classList.toggle("light", kind === "v" && weights[at] < 0.05);
    }
    mix.group.style.display = now.covered ? "none" : "";
    point(mix, sum, accent, body.text.mix);
    buttons.forEach((each, at) => { each.ariaPressed = at === now.looks; });
    cells.forEach((each, at) => {
      each.name.style.borderColor = heads[at];
      each.dot.textContent = `q · k = ${fixed(dots[at], 2)}`;
      each.score.textContent = `÷ √2 = ${fixed(scores[at], 2)}`;
      each.filled.style.cssText = `width: ${100 * weights[at]}%; background: ${heads[at]}`;
      each.weight.textContent = figure(weights[at]);
    });
  }

  // Draw the axes on top of the hull, whose corners these are.
  function drawAxes({ back }, corners) {
    const [x, y] = spot([0, 0]), far = size - MARGIN;
    back.replaceChildren();
    shape("rect", { class: "frame", x: MARGIN, y: MARGIN, width: far - MARGIN, height: far - MARGIN }, back);
    shape("polygon", { class: "hull", points: corners.map(spot).join(" ") }, back);
    axis(back, MARGIN, far, y, y);
    axis(back, x, x, MARGIN, far);
  }

  // Find a height near y where a name overlaps no other name on its plane, trying outward positions first.
  function freeHeight(label, x, y, wide, out) {
    const svg = label.ownerSVGElement, inside = (high) => high > MARGIN + 10 && high < size - MARGIN;
    const others = named.filter(([on, at, , half]) => on === svg && Math.abs(at - x) < half + wide);
    const free = (high) => inside(high) && others.every(([, , at]) => Math.abs(at - high) >= LINE);
    const found = [0, 1, -1, 2, -2, 3, -3].map((steps) => y + out * steps * LINE).find(free) ?? y;
    named.push([svg, x, found, wide]);
    return found;
  }

  // Draw an arrow from the origin, with its name beyond the tip but inside the plane.
  function point({ line, tip, label }, end, colour, name) {
    const [x0, y0] = spot([0, 0]), [x, y] = spot(end), long = Math.hypot(x - x0, y - y0) || 1;
    const [dx, dy] = [(x - x0) / long, (y - y0) / long], back = Math.min(TIP, long), half = back * 0.45;
    set(line, { x1: x0, y1: y0, x2: x - back * dx, y2: y - back * dy, stroke: colour });
    const transform = `matrix(${dx} ${dy} ${-dy} ${dx} ${x} ${y})`;
    set(tip, { d: `M0 0L${-back} ${half}V${-half}Z`, transform, fill: colour });
    const wide = name.length * 0.32 * parseFloat(getComputedStyle(label).fontSize);
    const inside = (value, edge) => clamp(value, edge + MARGIN, size - edge - MARGIN);
    const wanted = y + dy * 14 + 4, high = inside(wanted, 10);
    const aside = high === wanted ? 0 : (dx < 0 ? -1 : 1) * (wide + 8);
    const beyond = x + dx * (6 + wide) + aside, across = inside(beyond, wide), out = dy < 0 ? -1 : 1;
    const cut = Math.min(1, Math.abs(beyond - across) / 8);   // if pushed back over the tip, move it aside
    set(label, { x: across, y: freeHeight(label, across, high + out * 10 * cut, wide, out) });
    label.textContent = name;
  }

  const pair = (name, at) => now[name].slice(2 * at, 2 * at + 2);
  const pairs = (name) => body.tokens.map((_, at) => pair(name, at));
  const kept = ({ q, k, v }) => [q, k, v].join();

  const told = telling(() => {
    const { q, k, v } = now;
    send({ q, k, v });
    return kept(now);
  });

  // Move an arrow's tip to a point, rounded to hundredths.
  function move({ kind, of = now.looks }, to) {
    const numbers = [...now[kind]];
    numbers.splice(2 * of, 2, ...to.map((value) => hundredth(clamp(value, body.low, body.high))));
    now = { ...now, [kind]: numbers };
    draw();
    told.tell();
  }

  const helds = planes.map((plane) => {
    const { svg } = plane, arrowAt = ({ target }) => plane.arrows.findLast(({ group }) => group.contains(target));
    // touching an arrow drags it; touching the plane elsewhere scrolls the page
    on(svg, "touchstart", (event) => arrowAt(event) && event.preventDefault(), { passive: false });
    onKeys(on, svg, (event) => {
      const arrow = arrowAt(event), step = ARROWS[event.key];
      if (!arrow || !step) return false;
      const [x, y] = pair(arrow.kind, arrow.of ?? now.looks);
      move(arrow, [x + STEP * step[0], y - STEP * step[1]]);
    });
    return dragging(on, svg, {
      grab(event) {
        const arrow = arrowAt(event);
        arrow?.group.focus({ focusVisible: false });
        return arrow;
      },
      move: (arrow, event) => move(arrow, plane.area.at(event)),
      drop: () => told.tell(true),
    });
  });

  function take(read) {
    const taken = !helds.some((held) => held()) && told.takes(kept(read));
    now = taken || !now ? read : { ...read, q: now.q, k: now.k, v: now.v };
  }

  return { build, take, redraw, leave: told.end };
});
