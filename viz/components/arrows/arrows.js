// A head in two dimensions: arrows that one drags by their tips, weights and mix that follow at once. What was dragged
// is sent as {q, k, v}, a token that is to look as {looks}.
import { receiver } from "../js/messages.js";
import { div, figure, fill, fixed, frame, node, palette, within } from "../js/shared.js";
import { set, shape } from "../js/svg.js";
import { attend, hull } from "./attention.js";

const PAUSE = 120, PATIENCE = 2000, MARGIN = 14, TIP = 9;
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const signed = (value) => fixed(value, 2);
const STEP = 0.1, hundredth = (value) => Math.round(value * 100) / 100 + 0;

export function mount(element, bytes, send) {
  const { root, on, draw, end } = frame(element, "arrows", redraw);
  const who = div("who", root), board = div("board", root), left = plane("left"), rows = div("rows", board);
  const right = plane("right"), hint = div("hint", root);
  let body, now, held, last = 0, later, awaited;

  function plane(name) {
    const box = div(`plane ${name}`, board), title = div("title", box), svg = shape("svg", { role: "group" }, box);
    return { name, box, title, svg, back: shape("g", {}, svg), front: shape("g", {}, svg), arrows: [] };
  }

  const pair = (name, at) => now[name].slice(2 * at, 2 * at + 2);
  const pairs = (name) => body.tokens.map((_, at) => pair(name, at));

  function build() {
    who.replaceChildren(node("span", "", body.text.who));
    who.buttons = body.tokens.map((token, at) => {
      const button = node("button", "", token, who);
      button.type = "button";
      button.onclick = () => send({ looks: at });
      return button;
    });
    rows.replaceChildren();
    rows.cells = body.tokens.map((token) => {
      const cell = div("cell", rows), name = node("b", "token", token, cell), dot = div("", cell), score = div("", cell);
      const bar = div("share", cell), weight = div("weight", cell);
      return { cell, name, dot, score, filled: div("", bar), weight };
    });
    left.title.textContent = body.text.left;
    right.title.textContent = body.text.right;
    for (const each of [left, right]) each.front.replaceChildren();
    left.arrows = [arrow(left, "q"), ...body.tokens.map((_, at) => arrow(left, "k", at))];
    right.arrows = body.tokens.map((_, at) => arrow(right, "v", at));
    right.mix = stroke(right.front, "mix");
    hint.textContent = body.text.hint;
  }

  function stroke(parent, name) {
    const group = shape("g", { class: name }, parent);
    return { group, line: shape("line", {}, group), tip: shape("path", {}, group),
      label: shape("text", { "text-anchor": "middle" }, group) };
  }

  // of: a place among the tokens; the query is of whichever token looks
  function arrow(on, kind, of) {
    const made = stroke(on.front, `arrow ${kind}`), hit = shape("circle", { class: "hit", r: 18 }, made.group);
    set(made.group, { tabindex: 0, role: "slider", "aria-valuemin": body.low, "aria-valuemax": body.high });
    return { ...made, hit, kind, of, on };
  }

  const place = (made) => made.of ?? now.looks;
  const scale = (size) => (size - 2 * MARGIN) / (body.high - body.low);
  const spot = ([x, y], size) => [MARGIN + (x - body.low) * scale(size), size - MARGIN - (y - body.low) * scale(size)];

  function redraw() {
    if (!body || !now) return;
    const { heads, accent } = palette(root, body.colours), found = attend(pair("q", now.looks), pairs("k"), pairs("v"));
    const size = Math.min(left.box.clientWidth || 300, 300);
    for (const each of [left, right]) {
      each.size = size;
      set(each.svg, { viewBox: `0 0 ${size} ${size}`, width: size, height: size });
      drawBack(each);
    }
    for (const made of [...left.arrows, ...right.arrows]) {
      const colour = made.kind === "q" ? accent : heads[place(made)], at = pair(made.kind, place(made));
      const label = made.kind === "v" ? body.tokens[place(made)] : `${made.kind} ${body.tokens[place(made)]}`;
      point(made, at, size, colour, label);
      set(made.hit, { cx: spot(at, size)[0], cy: spot(at, size)[1] });
      const said = { kind: body.text.kinds[made.kind], token: body.tokens[place(made)] };
      set(made.group, { "aria-label": fill(body.text.label, said), "aria-valuenow": at[0],
        "aria-valuetext": `x ${fixed(at[0], 2)}, y ${fixed(at[1], 2)}` });
      made.group.classList.toggle("light", made.kind === "v" && found.weights[made.of] < 0.05);
    }
    right.mix.group.style.display = now.covered ? "none" : "";
    point(right.mix, found.mix, size, accent, body.text.mix);
    write(found, heads);
  }

  function drawBack(on) {
    const [x, y] = spot([0, 0], on.size), far = on.size - MARGIN;
    on.back.replaceChildren();
    shape("rect", { class: "frame", x: MARGIN, y: MARGIN, width: far - MARGIN, height: far - MARGIN }, on.back);
    if (on === right && !now.covered) {
      const points = hull(pairs("v")).map((each) => spot(each, on.size).join()).join(" ");
      shape("polygon", { class: "hull", points }, on.back);
    }
    shape("line", { class: "axis", x1: MARGIN, x2: far, y1: y, y2: y }, on.back);
    shape("line", { class: "axis", x1: x, x2: x, y1: MARGIN, y2: far }, on.back);
  }

  // An arrow from the origin, its name beyond its tip and inside the plane.
  function point(made, at, size, colour, name) {
    const [x0, y0] = spot([0, 0], size), [x, y] = spot(at, size), long = Math.hypot(x - x0, y - y0) || 1;
    const [dx, dy] = [(x - x0) / long, (y - y0) / long], back = Math.min(TIP, long), half = back * 0.45;
    const [bx, by] = [x - back * dx, y - back * dy];
    set(made.line, { x1: x0, y1: y0, x2: bx, y2: by, stroke: colour });
    const d = `M${x},${y}L${bx - half * dy},${by + half * dx}L${bx + half * dy},${by - half * dx}Z`;
    set(made.tip, { d, fill: colour });
    const wide = name.length * 0.32 * parseFloat(getComputedStyle(made.label).fontSize);
    const inside = (value, edge) => Math.min(size - edge - MARGIN, Math.max(edge + MARGIN, value));
    const high = inside(y + dy * 14 + 4, 10), aside = high === y + dy * 14 + 4 ? 0 : (dx < 0 ? -1 : 1) * (wide + 8);
    set(made.label, { x: inside(x + dx * (6 + wide) + aside, wide), y: high });
    made.label.textContent = name;
  }

  function write(found, heads) {
    who.buttons.forEach((button, at) => button.setAttribute("aria-pressed", at === now.looks));
    rows.cells.forEach((each, at) => {
      each.name.style.borderColor = heads[at];
      each.dot.textContent = `q · k = ${signed(found.dots[at])}`;
      each.score.textContent = `÷ √2 = ${signed(found.scores[at])}`;
      each.filled.style.cssText = `width: ${100 * found.weights[at]}%; background: ${heads[at]}`;
      each.weight.textContent = figure(found.weights[at]);
    });
  }

  // The tip of an arrow to a place, in hundredths as everywhere it is kept.
  function move(made, to) {
    const clamp = (value) => hundredth(Math.min(body.high, Math.max(body.low, value))), numbers = [...now[made.kind]];
    numbers.splice(2 * place(made), 2, ...to.map(clamp));
    now = { ...now, [made.kind]: numbers };
    draw();
  }

  const kept = ({ q, k, v }) => [q, k, v].join();

  // At most one message every PAUSE; the last one always goes.
  function tell(at_once) {
    const wait = at_once ? 0 : PAUSE - (performance.now() - last);
    clearTimeout(later);
    later = wait > 0 ? setTimeout(tell, wait, true) : undefined;
    if (later) return;
    last = performance.now();
    awaited = { key: kept(now), until: last + PATIENCE };
    send({ q: now.q, k: now.k, v: now.v });
  }

  function drop(event) {
    const on = held.on, [x, y] = within(on.svg, event), unit = scale(on.size);
    move(held, [body.low + (x - MARGIN) / unit, body.low + (on.size - MARGIN - y) / unit]);
    tell();
  }

  const under = (event, on) => on.arrows.filter((each) => each.group.contains(event.target)).at(-1);

  for (const each of [left, right]) {
    on(each.svg, "pointerdown", (event) => {
      const made = under(event, each);
      if (!made || event.button) return;
      held = made;
      each.svg.setPointerCapture(event.pointerId);
      made.group.focus({ focusVisible: false });
      event.preventDefault();
    });
    // a finger on an arrow drags it; elsewhere on the plane it scrolls the page
    on(each.svg, "touchstart", (event) => under(event, each) && event.preventDefault(), { passive: false });
    on(each.svg, "pointermove", (event) => held && drop(event));
    for (const type of ["pointerup", "pointercancel"]) on(each.svg, type, () => {
      if (held) tell(true);
      held = undefined;
    });
    on(each.svg, "keydown", (event) => {
      const made = each.arrows.find((one) => one.group === event.target), step = KEYS[event.key];
      if (!made || !step) return;
      move(made, pair(made.kind, place(made)).map((value, axis) => value + STEP * step[axis]));
      tell();
      event.preventDefault();
    });
  }

  // A state that was on its way while one dragged on must not pull the arrow back.
  const stale = (read) => held || (awaited && performance.now() < awaited.until && kept(read) !== awaited.key);

  return receiver(bytes, (read) => {
    if (read.part === "body") {
      body = read;
      build();
    } else if (now && stale(read)) now = { ...now, looks: read.looks, covered: read.covered };
    else {
      awaited = undefined;
      now = read;
    }
    draw();
  }, () => (clearTimeout(later), end()));
}
