// The lines lens: two columns of tokens and a line per weight, thicker and darker the larger it is; a colour per head.
import { canvasOf } from "../../js/canvas.js";
import { div, node, place, pointOf, within } from "../../js/shared.js";
import { strengths, widest } from "../../head_view/codes.js";
import { namesOf } from "../../head_view/labels.js";

const PITCH = 26, MOST = 4000, FAINTEST = 0.02;
const REACH = 5;   // pixels from a line at which it is under the pointer

/** @type {import("../../head_view/head_view.js").Lens} */
export function lines(stage, view) {
  const [base, front] = ["base", ""].map((name) => node("canvas", stage, name)), labels = div(stage);
  let size, steps, names, least, of, cut;

  function measure() {
    const { height, width, rows, columns } = view, [left, right] = view.turn([rows, columns]);
    const count = Math.max(left.texts.length, right.texts.length), pitch = Math.min(PITCH, height / count);
    const side = Math.ceil(Math.min(Math.max(widest(left.texts), widest(right.texts)) + 16, width * 0.3, 152));
    size = { left, right, side, pitch, gap: Math.min(width - 2 * side, 460), height: pitch * count };
  }

  function draw() {
    measure();
    steps = strengths(view.state.scale, view.body);
    const { side, gap, height } = size;
    place(stage, 0, 0, undefined, Math.ceil(height));
    place(base, side, 0);
    place(front, side, 0);
    const pen = canvasOf(base, gap, height);
    canvasOf(front, gap, height);
    const { weights } = view.body, [, rows, columns] = weights.shape;
    // the smallest code to draw, so that a long text stays readable and has at most MOST lines; sorted once per head
    if (of !== weights) [of, cut] = [weights, weights.values.toSorted().at(-1 - MOST) ?? 0];
    least = Math.max(cut + 1, steps.findIndex((step) => step >= FAINTEST));
    weights.values.forEach((code, at) => {
      const row = Math.floor(at / columns);
      if (code >= least) curve(pen, Math.floor(row / rows), row % rows, at % columns, steps[code]);
    });
    drawNames();
  }

  const middle = (at) => (at + 0.5) * size.pitch;

  // Draw the lines: the first `front` are emphasised, and the others form the background.
  function curve(pen, head, row, column, step, front = false, colour = undefined) {
    const { gap } = size, ratio = pen.canvas.width / gap;
    const [from, to] = view.turn([row, column]);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.globalAlpha = colour ? 1 : (front ? 0.3 : 0.06) + (front ? 0.7 : 0.9) * step;
    pen.lineWidth = (front ? 1 : 0.5) + 4 * step;
    pen.strokeStyle = colour ?? (view.body.heads.length > 1 ? view.colours.heads[head] : view.colours.line);
    pen.beginPath();
    pen.moveTo(0, middle(from));
    pen.bezierCurveTo(gap / 2, middle(from), gap / 2, middle(to), gap, middle(to));
    pen.stroke();
  }

  function drawNames() {
    const { side, gap, pitch } = size, put = (x) => (made, at) => place(made, x, middle(at) - 8, side - 8);
    labels.replaceChildren();
    names = [["left", 0], ["right", side + gap + 8]].map(
      ([name, x]) => namesOf(labels, size[name], name, pitch, put(x)));
  }

  function mark({ row, column }) {
    const { focus, pair } = view.state, { weights } = view.body, [heads, rows, columns] = weights.shape;
    const pen = canvasOf(front, size.gap, size.height), shownRow = row ?? (column === undefined ? focus : undefined);
    const one = row !== undefined && column !== undefined, draws = (head, r, c, colour) => {
      const step = steps[weights.values[(head * rows + r) * columns + c]];
      if (step >= FAINTEST / 4 || one || colour) curve(pen, head, r, c, step, true, colour);
    };
    base.style.opacity = (shownRow ?? column) == null ? "" : "0.15";
    for (let head = 0; head < heads; head++) {
      if (one) draws(head, row, column);
      else if (shownRow != null) for (let c = 0; c < columns; c++) draws(head, shownRow, c);
      else if (column !== undefined) for (let r = 0; r < rows; r++) draws(head, r, column);
    }
    if (pair && heads === 1) draws(0, pair[0], pair[1], view.colours.accent);
    view.turn(view.lit({ row, column })).forEach((marks, side) => names[side](marks));
  }

  // Return the label under the pointer, or the strongest line near it.
  function at(event) {
    const [fromLeft, y] = within(stage, event), x = fromLeft - size.side;
    const index = Math.floor(y / size.pitch), { transpose, focus } = view.state;
    if (x > 0 && x < size.gap) return near(x / size.gap, y);
    if (index < 0 || index >= (x <= 0 ? size.left : size.right).texts.length) return {};
    if (x <= 0 !== transpose) return { row: index };
    return { row: focus ?? undefined, column: index };
  }

  // All lines have the same shape, so a line's height at this x follows from its two ends: along the curve, x is
  // 1.5 t − 1.5 t² + t³, which sinh inverts, and its height rises by 3 t² − 2 t³.
  function near(x, y) {
    const t = 0.5 + Math.sinh(Math.asinh(4 * x - 2) / 3), rise = 3 * t ** 2 - 2 * t ** 3, { focus } = view.state;
    const { weights: { values, shape: [, rows, columns] } } = view.body;
    let best = {}, most = least - 1;
    for (let at = 0; at < rows * columns; at++) {
      const row = Math.floor(at / columns), column = at % columns;
      if (values[at] <= most || (focus !== null && row !== focus)) continue;
      const [from, to] = view.turn([middle(row), middle(column)]);
      if (Math.abs(from + (to - from) * rise - y) < REACH) [best, most] = [{ row, column }, values[at]];
    }
    return best;
  }

  function where({ row, column }) {
    const onRow = column === undefined, left = onRow !== view.state.transpose;
    return pointOf(stage, left ? 0 : size.side + size.gap, middle((onRow ? row : column) + 0.5));
  }

  return { draw, mark, at, where };
}
