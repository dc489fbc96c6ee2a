// The matrix lens: queries as rows, keys as columns (or transposed). The cells are drawn on one canvas, with elements
// on top for everything that moves.
import { canvasOf, paint, pixels, rule, smallCanvas, strike, STRUCK } from "../../js/canvas.js";
import { div, node, place, pointOf, within, zoomOf } from "../../js/shared.js";
import { READABLE, strengths, widest } from "../../head_view/codes.js";
import { namesOf } from "../../head_view/labels.js";

const LARGEST = 44, SHADES = 1024, SMALLEST = 9;
const FEW = 20;   // up to this many tokens, presenting shows all names, even if the picture exceeds its screen

/** @type {import("../../head_view/head_view.js").Lens} */
export function matrix(stage, view) {
  const canvas = node("canvas", stage), labels = div(stage, "labels"), marked = div(stage);
  const [down, across, focused, paired] = ["band down", "band across", "row", "pair"].map(
    (name) => div(stage, `box ${name}`));
  let codes, names, size;

  // The codes, transposed if needed. 0 means masked, so an unmasked weight of 0 gets the smallest other code.
  function prepare() {
    const { weights, scores, absent, bound } = view.body, flip = view.state.transpose;
    const [, rows, columns] = weights.shape, [noRows, noColumns] = (absent ?? [[], []]).map((each) => new Set(each));
    codes = new Uint16Array(rows * columns);
    for (let row = 0, at = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++, at++) {
        const nothing = scores?.values[at] === 65535 || noRows.has(row) || noColumns.has(column);
        codes[flip ? column * rows + row : at] = nothing ? 0 : weights.values[at] || (bound ? 0 : 1);
      }
    }
  }

  function measure() {
    const [vertical, horizontal] = view.turn([view.rows, view.columns]), zoom = zoomOf(stage);
    const v = vertical.texts.length, h = horizontal.texts.length, most = Math.ceil(widest(horizontal.texts) + 8);
    // on an enlarged page, smaller text is still readable, so every row keeps its name
    const least = Math.max(SMALLEST, READABLE / zoom);
    const left = Math.ceil(Math.min(widest(vertical.texts) + 10, view.width * 0.32, 136));
    let wide = Math.min((view.width - left - 2) / h, LARGEST);
    const level = wide >= most + 4, top = level ? 20 : Math.min(most, zoom > 1 ? 76 : 112);
    let high = Math.min(Math.max((view.height - top) / v, zoom > 1 && v <= FEW ? least : 0), LARGEST);
    const square = Math.min(wide, high), lopsided = Math.max(v, h) > 2 * Math.min(v, h);
    [wide, high] = [wide, high].map((side) => (lopsided ? Math.min(side, Math.max(square, 18)) : square))
      .map((side) => (side >= 4 ? Math.floor(side) : side));
    size = { vertical, horizontal, v, h, left, top, wide, high, level, least, width: wide * h, height: high * v };
  }

  function draw() {
    prepare();
    measure();
    const { left, top, width, height, v, h, wide, high } = size, { colours, state, body } = view;
    place(stage, 0, 0, undefined, Math.ceil(top + height + 2));
    const pen = canvasOf(canvas, width, height), rows = Math.min(v, canvas.height), columns = Math.min(h, canvas.width);
    place(canvas, left, top);
    const image = new ImageData(columns, rows), shades = pixels(body.bound ? colours.signed : colours.ramp, SHADES);
    const steps = strengths(state.scale, body), along = (step) => (body.bound ? (step + 1) / 2 : step);
    const colour = new Uint32Array(steps.length).map((_, code) => shades[Math.round(along(steps[code]) * (SHADES - 1))]);
    if (body.scores || body.bound || body.absent) [colour[0]] = pixels([colours.masked, colours.masked], 1);
    paint(codes, 0, [v, h], colour, new Uint32Array(image.data.buffer), [rows, columns]);
    const [cells, small] = smallCanvas(columns, rows);
    small.putImageData(image, 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(cells, 0, 0, canvas.width, canvas.height);
    if (body.bound && wide >= 8 && high >= 8) strikeNegative(pen, steps);
    lineUp(pen, wide >= 10 && high >= 10);
    drawNames();
    drawMarks();
  }

  function strikeNegative(pen, steps) {
    const { v, h } = size, wide = canvas.width / h, high = canvas.height / v, { ink, paper } = view.colours;
    pen.lineWidth = devicePixelRatio || 1;
    codes.forEach((code, at) => {
      const share = steps[code], dark = share < -0.5;
      pen.globalAlpha = dark ? 0.8 : 0.45;
      if (share <= -STRUCK) strike(pen, (at % h) * wide, Math.floor(at / h) * high, wide, high, dark ? paper : ink);
    });
    pen.lineWidth = 1;
  }

  // Draw the reader's marks, filled while the head is covered and framed once it is revealed.
  function drawMarks() {
    marked.replaceChildren();
    marked.className = view.state.marking ? "guess" : "guess shown";
    for (const cell of view.marks.inside()) around(div(marked, "box"), ...view.turn(cell), 0);
  }

  function lineUp(pen, inside) {
    const { v, h } = size, { width, height } = canvas;
    pen.strokeStyle = view.colours.ink;
    pen.globalAlpha = 0.09;
    if (inside) rule(pen, [width / h, height / v], [width, height]);
    pen.globalAlpha = 0.3;
    pen.strokeRect(0.5, 0.5, width - 1, height - 1);
  }

  function drawNames() {
    const { vertical, horizontal, left, top, wide, high, level, least } = size;
    const tall = high < READABLE && high >= least ? high : 16;
    labels.replaceChildren();
    labels.style.fontSize = tall < READABLE ? `${tall}px` : "";
    labels.style.lineHeight = `${tall}px`;
    const beside = (made, at) => place(made, 0, top + at * high + (high - tall) / 2, left - 6);
    const above = (made, at) => {
      if (level) return place(made, left + at * wide, top - 19, wide);
      place(made, left + at * wide + (wide - tall) / 2, top - 4, top - 4);
      made.style.transform += " rotate(-90deg)";
    };
    names = [namesOf(labels, vertical, "down", high, beside, least),
      namesOf(labels, horizontal, level ? "across level" : "across", wide, above, least)];
  }

  // Surround a cell with a box, at a distance.
  const around = (made, r, c, by) =>
    box(made, c * size.wide - by, r * size.high - by, size.wide + 2 * by, size.high + 2 * by);
  const box = (made, x, y, width, height) => place(made, size.left + x, size.top + y, width, height);

  function mark({ row, column }) {
    const { focus, pair, transpose } = view.state, { wide, high, width, height } = size;
    for (const each of [down, across, focused, paired]) each.hidden = true;
    const [r, c] = view.turn([row, column]);
    // frames surround their cells, since a row of a long text may be thinner than the frame
    if (r !== undefined) box(across, 0, r * high - 1, width, high + 2);
    if (c !== undefined) box(down, c * wide - 1, 0, wide + 2, height);
    if (focus !== null && transpose) box(focused, focus * wide - 2, -2, wide + 4, height + 4);
    else if (focus !== null) box(focused, -2, focus * high - 2, width + 4, high + 4);
    if (pair) around(paired, ...view.turn(pair), 2);
    view.turn(view.lit({ row, column })).forEach((marks, axis) => names[axis](marks));
  }

  // Return the cell or label under the pointer.
  function at(event) {
    const [fromLeft, fromTop] = within(stage, event), x = fromLeft - size.left, y = fromTop - size.top;
    const inside = (place, count) => (place >= 0 && place < count ? place : undefined);
    const c = inside(Math.floor(x / size.wide), size.h), r = inside(Math.floor(y / size.high), size.v);
    if ((c === undefined && x >= 0) || (r === undefined && y >= 0) || (x < 0 && y < 0)) return {};
    const [row, column] = view.turn([r, c]);
    return { row, column };
  }

  // Return a cell's position on the screen, for the keyboard's tooltip.
  function where({ row, column }) {
    const [r = 0, c = 0] = view.turn([row, column]);
    return pointOf(stage, size.left + (c + 1) * size.wide, size.top + (r + 1) * size.high);
  }

  return { draw, mark, at, where, drawMarks };
}
