// A picture with its patches. Hovering and keyboard movement stay in the browser; only a choice is sent, as {token}.
import { barOf, canvasOf, canvasOfPicture, canvasOfSteps, drawOver, rule, STEPS, strike,
  STRUCK } from "../js/canvas.js";
import { explored } from "../js/input.js";
import { button, div, fill, framed, heightFor, node, place, scaleBar, span, table, tooltip,
  within } from "../js/shared.js";

const LINES = 7;   // smallest patch, in pixels, with grid lines
const NARROW = 420;   // width in pixels below which the sentence always has two lines, so that adjacent pictures align

/**
 * Draw a picture and its coloured patches, with the other tokens, marks, legend, sentence and table.
 * @typedef {import("../js/messages.js").Message} Message
 * @param {HTMLElement} root
 * @returns {{part: HTMLElement, chips: HTMLElement, build: (body: Message) => void, draw: (state: Message) => void,
 *   drawMarks: () => void, at: (event: PointerEvent) => number | undefined,
 *   chipped: (event: PointerEvent) => number | undefined, point: (token?: number) => void,
 *   reach: (token?: number) => void, about: (token: number) => [string, string[][]],
 *   beside: (token: number | null, step: number[]) => number}} see explored(); beside: the patch `step` (columns, rows)
 *   away from a token or, if it is not a patch, from the first patch
 */
function viewOf(root) {
  const sentence = div(root, "say"), chips = div(root, "chips"), board = div(root, "board");
  const canvas = node("canvas", board), outlines = div(board);
  const [over, from] = ["mark over", "mark from"].map((name) => div(board, name));
  const legend = div(root, "legend"), unseen = div(root, "unseen");
  /** @type {[number, number]} */
  let size;
  let body, state, patches, special, reached, pictures = {};

  board.tabIndex = 0;
  board.role = "application";
  canvas.role = "img";

  const box = (token) => body.boxes.values.subarray(4 * token, 4 * token + 4);
  const isPatch = (token) => body.places[token] >= 0, name = (token) => body.texts[token];

  function build(read) {
    body = read;
    patches = [...body.texts.keys()].filter(isPatch);
    chips.replaceChildren();
    special = [...body.texts.keys()].filter((token) => !isPatch(token)).map((token) => {
      const chip = Object.assign(button(chips, "chip"), { disabled: body.frozen });
      const swatch = span(chip, "swatch");
      span(chip, "name", name(token));
      return { token, chip, swatch, number: span(chip, "number") };
    });
  }

  function draw(now) {
    state = now;
    const [high, wide] = body.picture.shape;
    const most = heightFor(board, body.height);
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
  }

  // Return the patches' colour steps in grid order.
  function stepsInGrid() {
    const [rows, columns] = body.grid, steps = new Int16Array(rows * columns);
    body.places.forEach((at, token) => { if (at >= 0) steps[at] = state.steps[token]; });
    return steps;
  }

  // Return the area covered by patches in canvas pixels; a picture may be slightly wider.
  function covered() {
    const side = (corner) => Math.max(...patches.map((token) => box(token)[corner]));
    return [side(2) * canvas.width, side(3) * canvas.height];
  }

  function drawPicture() {
    const { opacity } = state, pen = canvasOf(canvas, ...size), [right, bottom] = covered();
    if (pictures.of !== body || pictures.opacity !== opacity) {
      pictures = { of: body, opacity, canvas: canvasOfPicture(body.picture, opacity) };
    }
    const { glow, below } = body.colours;
    drawOver(pen, pictures.canvas, canvasOfSteps(stepsInGrid(), body.grid, [glow, below]), opacity,
      [canvas.width, canvas.height], [right, bottom]);
    const [wide, high] = [right / body.grid[1], bottom / body.grid[0]];
    Object.assign(pen, { globalAlpha: 0.14, strokeStyle: "#ffffff", lineWidth: 1 });
    if (Math.min(...size) / Math.max(...body.grid) >= LINES) rule(pen, [wide, high], [right, bottom]);
    pen.globalAlpha = 1;
    for (const token of state.hidden.filter(isPatch)) cover(pen, box(token));
    if (state.kind !== "signed") return;
    for (const token of patches.filter((each) => state.steps[each] <= -STRUCK * STEPS)) {
      const [left, top] = box(token);
      strike(pen, left * canvas.width, top * canvas.height, wide, high, "#ffffff");
    }
  }

  // Draw a hidden patch: covered and crossed out.
  function cover(pen, [left, top, right, bottom]) {
    const [x, y, r, b] = [left * canvas.width, top * canvas.height, right * canvas.width, bottom * canvas.height];
    pen.fillStyle = "#000000";
    pen.fillRect(x, y, r - x, b - y);
    pen.strokeStyle = "#ffffff";
    pen.lineWidth = 1.5 * (devicePixelRatio || 1);
    pen.stroke(new Path2D(`M${x} ${y}L${r} ${b}M${r} ${y}L${x} ${b}`));
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

  function at(event) {
    const [x, y] = within(board, event).map((each, axis) => each / size[axis]);
    return patches.find((token) => {
      const [left, top, right, bottom] = box(token);
      return x >= left && x < right && y >= top && y < bottom;
    });
  }

  function beside(token, [right, down]) {
    const [rows, columns] = body.grid, from = body.places[isPatch(token) ? token : patches[0]];
    const row = Math.floor(from / columns) + down, column = (from % columns) + right;
    const inside = row >= 0 && row < rows && column >= 0 && column < columns;
    return body.places.indexOf(inside ? row * columns + column : from);
  }

  // without a pointer, the patch reached with the keyboard stays framed
  const point = (token = reached) => around(over, token);
  /** @returns {[string, string[][]]} */
  const about = (token) => [name(token), state.facts[token]];
  const reach = (token) => point(reached = token);
  // Return the token of the chip under the pointer.
  const chipped = ({ target }) => special.find(({ chip }) => chip.contains(target))?.token;
  return { part: board, chips, build, draw, drawMarks, at, chipped, point, reach, about, beside };
}

/** @type {import("../js/component.js").Mount} */
export const mount = framed("patches", ({ root, on, send }) => {
  const view = viewOf(root), tip = tooltip(root);
  let body, state;

  function choose(token) {
    if (body.frozen) return;   // other tokens' rows are unavailable
    state.focus = token === state.focus ? null : token;
    view.drawMarks();
    send({ token: state.focus });
  }

  const next = (token = state.focus, step) => view.beside(token, step);

  function press({ key }) {
    if (key !== "Escape" || state.focus === null) return false;
    choose(state.focus);
  }

  const reachAgain = explored(on, tip, { ...view, next, choose, press });
  explored(on, tip, { ...view, part: view.chips, at: view.chipped, choose });

  function redraw() {
    view.draw(state);
    reachAgain();
  }
  return { build: (read) => view.build(body = read), take: (read) => { state = read; }, redraw };
});
