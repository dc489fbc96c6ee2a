// A picture with its patches. Hovering and keyboard movement stay in the browser; only a choice is sent, as {token}.
import { barOf, canvasOf, canvasOfPicture, drawOver, STEPS, strike, STRUCK } from "../js/canvas.js";
import { explored } from "../js/input.js";
import { button, div, fill, framed, heightFor, node, place, scaleBar, span, table, tooltip,
  within } from "../js/shared.js";

const LINES = 7;   // smallest patch, in pixels, with grid lines
const GAP = 0.02;   // share of the picture's sides between two copies of it
const NARROW = 420;   // width in pixels below which the sentence always has two lines, so that adjacent pictures align

/** @type {import("../js/component.js").Mount} */
export const mount = framed("patches", ({ root, on, send }) => {
  const sentence = div(root, "say"), chips = div(root, "chips"), board = div(root, "board");
  const canvas = node("canvas", board), outlines = div(board);
  const [over, from] = ["mark over", "mark from"].map((name) => div(board, name));
  const parts = div(root, "parts"), legend = div(root, "legend"), unseen = div(root, "unseen"), tip = tooltip(root);
  /** @type {[number, number]} */
  let size;
  let body, state, patches, special, reached, pictures = {};

  board.tabIndex = 0;
  board.role = "application";
  canvas.role = "img";

  const box = (token) => body.boxes.values.subarray(4 * token, 4 * token + 4);
  const isPatch = (token) => box(token)[0] >= 0, name = (token) => body.texts[token];   // NaN is not

  function build(read) {
    body = read;
    patches = [...body.texts.keys()].filter(isPatch);
    chips.replaceChildren();
    special = [...body.texts.keys()].filter((token) => body.alone && !isPatch(token)).map((token) => {
      const chip = Object.assign(button(chips, "chip"), { disabled: body.frozen });
      const swatch = span(chip, "swatch");
      span(chip, "name", name(token));
      return { token, chip, swatch, number: span(chip, "number") };
    });
  }

  function redraw() {
    const [high, wide] = body.picture.shape;
    drawParts();
    const most = heightFor(board, body.height) - parts.offsetHeight;
    const scale = Math.min(root.clientWidth / wide, most / high);
    size = [Math.floor(wide * scale), Math.floor(high * scale)];
    place(board, 0, 0, ...size);
    drawPicture();
    drawChips();
    drawMarks();
    drawLegend();
    say();
    const words = body.text, said = { name: state.name, label: body.label, patches: patches.length };
    canvas.ariaLabel = fill(words.picture, said);
    board.ariaLabel = fill(body.frozen ? words.keys_frozen : words.keys, said);
    root.dataset.drawn = `${state.name} ${state.focus ?? ""}`;
    reachAgain();
  }

  /** Return a token's left and upper edge, width and height in pixels of the canvas.
   * @returns {[number, number, number, number]} */
  function spot(token) {
    const { width, height } = canvas, sides = box(token).map((side, at) => Math.round(side * (at % 2 ? height : width)));
    return [sides[0], sides[1], sides[2] - sides[0], sides[3] - sides[1]];
  }

  function drawPicture() {
    const { opacity } = state, pen = canvasOf(canvas, ...size);
    if (pictures.of !== body || pictures.opacity !== opacity) {
      pictures = { of: body, opacity, canvas: canvasOfPicture(body.picture, opacity) };
    }
    const { glow, below } = body.colours;
    drawOver(pen, pictures.canvas, opacity, [canvas.width, canvas.height], () => {
      for (const token of patches) {
        pen.fillStyle = (state.steps[token] < 0 ? below : glow)[Math.abs(state.steps[token])];
        pen.fillRect(...spot(token));
      }
    });
    Object.assign(pen, { globalAlpha: 0.14, strokeStyle: "#ffffff", lineWidth: 1 });
    for (const [x, y, wide, high] of patches.map(spot)) {
      if (Math.min(wide, high) >= LINES) pen.strokeRect(x - 0.5, y - 0.5, wide, high);
    }
    pen.globalAlpha = 1;
    for (const token of state.hidden.filter(isPatch)) cover(pen, spot(token));
    if (state.kind !== "signed") return;
    for (const token of patches.filter((each) => state.steps[each] <= -STRUCK * STEPS)) {
      strike(pen, ...spot(token), "#ffffff");
    }
  }

  // Draw a hidden patch: covered and crossed out.
  function cover(pen, [x, y, wide, high]) {
    pen.fillStyle = "#000000";
    pen.fillRect(x, y, wide, high);
    pen.strokeStyle = "#ffffff";
    pen.lineWidth = 1.5 * (devicePixelRatio || 1);
    pen.stroke(new Path2D(`M${x} ${y}l${wide} ${high}M${x + wide} ${y}l${-wide} ${high}`));
  }

  // Draw the tokens that are not patches as buttons in their colours.
  function drawChips() {
    for (const { token, chip, swatch, number } of special) {
      swatch.style.background = body.colours.glow[Math.max(0, state.steps[token])];
      swatch.hidden = state.kind === "none";
      number.textContent = state.written[token];
      chip.ariaPressed = token === state.focus;
      chip.classList.toggle("hidden-token", state.hidden.includes(token));
    }
  }

  function around(mark, token) {
    mark.hidden = !isPatch(token);
    if (mark.hidden) return;
    const [left, top, right, bottom] = box(token), [wide, high] = size;
    place(mark, left * wide - 2, top * high - 2, (right - left) * wide + 4, (bottom - top) * high + 4);
  }

  function drawMarks() {
    around(from, state.focus);
    outlines.replaceChildren();
    for (const token of state.outlined.filter(isPatch)) around(div(outlines, "mark outlined"), token);
  }

  // Draw what the row divides into as a bar, with names and shares below.
  function drawParts() {
    parts.replaceChildren();
    const bar = div(parts), names = div(parts, "names");
    for (const [part, share, written] of state.parts) {
      div(bar, "share").style.flexGrow = share;
      span(names, "", `${part} ${written}`);
    }
  }

  function drawLegend() {
    legend.hidden = state.kind === "none";
    if (legend.hidden) return;
    const { glow, below } = body.colours, count = state.hidden.length;
    legend.replaceChildren();
    span(legend, "", state.scale);
    scaleBar(legend, barOf(state.opacity, glow, state.kind === "signed" ? below : []), state.ticks);
    if (count) span(legend, "", fill(body.text.hidden, { count }));
  }

  function say() {
    sentence.style.minHeight = root.clientWidth < NARROW ? "32px" : "";
    sentence.textContent = state.sentence;
    table(unseen, state.sentence, [...new Set([...state.largest, ...special.map(({ token }) => token)])]
      .map((token) => [name(token), state.facts[token].map((fact) => fact.join(" ")).join(", ")]));
  }

  const at = (event) => patchAt(within(board, event).map((each, axis) => each / size[axis]));

  /** Return the patch at a place in fractions of the picture. @param {number[]} place */
  function patchAt([x, y]) {
    return patches.find((token) => {
      const [left, top, right, bottom] = box(token);
      return x >= left && x < right && y >= top && y < bottom;
    });
  }

  // Return the patch `step` (columns, rows) away from a token or, if it is not a patch, from the first patch.
  function next(token = state.focus, step) {
    const from = isPatch(token) ? token : patches[0], [left, top, right, bottom] = box(from);
    // just behind the edge in the direction of the step, with a gap between two copies of the picture
    const [x, y] = step.map((way, axis) => way * ([right - left, bottom - top][axis] / 2 + GAP));
    return patchAt([(left + right) / 2 + x, (top + bottom) / 2 + y]) ?? from;
  }

  // without a pointer, the patch reached with the keyboard stays framed
  const point = (token = reached) => around(over, token);
  /** @returns {[string, string[][]]} */
  const about = (token) => [name(token), state.facts[token]];
  const reach = (token) => point(reached = token);
  // Return the token of the chip under the pointer.
  const chipped = ({ target }) => special.find(({ chip }) => chip.contains(target))?.token;
  function choose(token) {
    if (body.frozen) return;   // other tokens' rows are unavailable
    state.focus = token === state.focus ? null : token;
    drawMarks();
    send({ token: state.focus });
  }

  function press({ key }) {
    if (key !== "Escape" || state.focus === null) return false;
    choose(state.focus);
  }

  const reachAgain = explored(on, tip, { part: board, at, point, reach, about, next, choose, press });
  explored(on, tip, { part: chips, at: chipped, point, about, choose });
  return { build, take: (read) => { state = read; }, redraw };
});
