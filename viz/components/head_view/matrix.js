// The matrix lens: queries as rows, keys as columns (or transposed). The cells are drawn on one canvas, with elements
// on top for everything that moves.
import { div, node, place, within, zoomOf } from "../js/shared.js";
import { canvasOf, paint, pixels } from "../js/canvas.js";
import { STRUCK, strike } from "../js/negative_marks.js";
import { pointOf, token } from "../js/token_element.js";
import { CODES, READABLE, strength, strengths, valueOf, widest } from "./codes.js";
import { light } from "./labels.js";

const LARGEST = 44, SHADES = 1024, SMALLEST = 9;
const FEW = 20;   // up to this many tokens, lecture mode shows all names, even if the picture exceeds its screen

/** @type {import("./head_view.js").Lens} */
export function matrix(stage, view) {
  const canvas = node("canvas", "", undefined, stage), labels = div("labels", stage);
  const boxes = {}, hot = {}, base = {}, marked = div("", stage);
  for (const name of ["band down", "band across", "row", "pair"]) boxes[name] = div(`box ${name}`, stage);
  let codes, source, turned, least, tall, size = {};

  // The codes, transposed if needed. 0 means masked, so an unmasked weight of 0 gets the smallest other code.
  function prepare() {
    const { weights, scores, absent, bound } = view.body, flip = view.state.transpose;
    const [, rows, columns] = weights.shape;
    if (source === weights && turned === flip) return;
    [source, turned] = [weights, flip];
    codes = new Uint16Array(rows * columns);
    const hidden = scores?.values, [noRows, noColumns] = (absent ?? [[], []]).map((each) => new Set(each));
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const at = row * columns + column, nothing = hidden?.[at] === 65535 || noRows.has(row) || noColumns.has(column);
        const code = nothing ? 0 : weights.values[at] || (bound ? 0 : 1);
        codes[flip ? column * rows + row : at] = code;
      }
    }
  }

  function measure() {
    const { state, rows, columns, width } = view;
    const [down, across] = state.transpose ? [columns, rows] : [rows, columns];
    const v = down.texts.length, h = across.texts.length, most = Math.ceil(widest(across.texts) + 8);
    const zoom = zoomOf(stage);
    // on an enlarged page, smaller text is still readable, so every row keeps its name
    least = Math.max(SMALLEST, READABLE / zoom);
    const left = Math.ceil(Math.min(widest(down.texts) + 10, width * 0.32, 136));
    let wide = Math.min((width - left - 2) / h, LARGEST);
    const level = wide >= most + 4, top = level ? 20 : Math.min(most, zoom > 1 ? 76 : 112);
    let high = Math.min(Math.max((view.height - top) / v, zoom > 1 && v <= FEW ? least : 0), LARGEST);
    const square = Math.min(wide, high), lopsided = Math.max(v, h) > 2 * Math.min(v, h);
    wide = lopsided ? Math.min(wide, Math.max(square, 18)) : square;
    high = lopsided ? Math.min(high, Math.max(square, 18)) : square;
    if (wide >= 4) wide = Math.floor(wide);
    if (high >= 4) high = Math.floor(high);
    size = { down, across, v, h, left, top, wide, high, level, width: wide * h, height: high * v };
  }

  function draw() {
    prepare();
    measure();
    const { left, top, width, height, v, h, wide, high } = size, { colours, state, body } = view;
    place(stage, 0, 0, undefined, Math.ceil(top + height + 2));
    const pen = canvasOf(canvas, width, height), rows = Math.min(v, canvas.height), columns = Math.min(h, canvas.width);
    place(canvas, left, top);
    const image = new ImageData(columns, rows), shades = pixels(body.bound ? colours.signed : colours.ramp, SHADES);
    const steps = strengths(state.scale, body.floor), colour = new Uint32Array(CODES);
    const signed = (share) => Math.sign(share) * strength(Math.abs(share), state.scale, body.floor);
    const along = body.bound ? (code) => (signed(valueOf(code, 1)) + 1) / 2 : (code) => steps[code];
    for (let code = 0; code < CODES; code++) colour[code] = shades[Math.round(along(code) * (SHADES - 1))];
    if (body.scores || body.bound || body.absent) colour[0] = pixels([colours.masked, colours.masked], 2)[0];
    paint(codes, 0, [v, h], colour, new Uint32Array(image.data.buffer), [rows, columns]);
    const cells = node("canvas");
    [cells.width, cells.height] = [columns, rows];
    cells.getContext("2d").putImageData(image, 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(cells, 0, 0, canvas.width, canvas.height);
    if (body.bound && wide >= 8 && high >= 8) strikeNegative(pen, signed);
    lineUp(pen, wide >= 10 && high >= 10);
    drawLabels();
    drawMarks();
  }

  function strikeNegative(pen, signed) {
    const { v, h } = size, wide = canvas.width / h, high = canvas.height / v, { ink, paper } = view.colours;
    pen.lineWidth = devicePixelRatio || 1;
    codes.forEach((code, at) => {
      const share = code ? signed(valueOf(code, 1)) : 0;
      const [alpha, colour] = share < -0.5 ? [0.8, paper] : [0.45, ink];
      pen.globalAlpha = alpha;
      if (share <= -STRUCK) strike(pen, (at % h) * wide, Math.floor(at / h) * high, wide, high, colour);
    });
    pen.lineWidth = 1;
  }

  // Draw the reader's marks, filled while the head is covered and framed once it is revealed.
  function drawMarks() {
    marked.replaceChildren();
    marked.className = view.state.marking ? "guess" : "guess shown";
    const { left, top, wide, high } = size;
    for (const [row, column] of view.marks.inside()) {
      const [r, c] = view.state.transpose ? [column, row] : [row, column];
      place(div("box", marked), left + c * wide, top + r * high, wide, high);
    }
  }

  function lineUp(pen, inside) {
    const { v, h } = size, { width, height } = canvas;
    pen.strokeStyle = view.colours.ink;
    pen.globalAlpha = inside ? 0.09 : 0;
    pen.beginPath();
    for (let c = 1; c < h; c++) pen.rect(Math.round((c * width) / h) - 0.5, 0, 0, height);
    for (let r = 1; r < v; r++) pen.rect(0, Math.round((r * height) / v) - 0.5, width, 0);
    pen.stroke();
    pen.globalAlpha = 0.3;
    pen.strokeRect(0.5, 0.5, width - 1, height - 1);
  }

  function putDown(made, at) {
    place(made, 0, size.top + at * size.high + (size.high - tall) / 2, size.left - 6);
  }

  function putAcross(made, at) {
    const { left, top, wide, level } = size;
    made.classList.toggle("level", level);
    if (level) return place(made, left + at * wide, top - 19, wide);
    made.style.transform = `translate(${left + at * wide + (wide - tall) / 2}px, ${top - 4}px) rotate(-90deg)`;
    made.style.width = `${top - 4}px`;
    made.hidden = false;
  }

  function drawLabels() {
    labels.replaceChildren();
    tall = size.high < READABLE && size.high >= least ? size.high : 16;
    [labels.style.fontSize, labels.style.lineHeight] = tall < READABLE ? [`${tall}px`, `${tall}px`] : ["", "16px"];
    for (const [name, pitch] of [["down", size.high], ["across", size.wide]]) {
      base[name] = [];
      for (let at = 0; at < size[name].texts.length; at += Math.ceil(least / pitch)) {
        base[name].push([at, label(name, at, "", labels)]);
      }
      hot[name] = div("", labels);
    }
  }

  // Draw a token's name, beside its row ("down") or above its column ("across").
  function label(name, at, kind, parent) {
    const axis = size[name], made = token(axis.texts[at], axis.flags[at], parent);
    made.className += ` label ${name} ${kind}`;
    if (name === "down") putDown(made, at);
    else putAcross(made, at);
    return made;
  }

  // Show the labels of the focus, the pair and the pointer on top of the others.
  function lightUp(name, marks) {
    hot[name].replaceChildren();
    const pitch = name === "down" ? size.high : size.wide;
    light(marks, pitch, base[name], (at, kind) => label(name, at, `hot ${kind}`, hot[name]), least);
  }

  const box = (name, x, y, width, height) => place(boxes[name], size.left + x, size.top + y, width, height);

  function mark({ row, column }) {
    const { focus, pair, transpose } = view.state, { wide, high, width, height } = size;
    for (const each of Object.values(boxes)) each.hidden = true;
    const [r, c] = transpose ? [column, row] : [row, column];
    // frames surround their cells, since a row of a long text may be thinner than the frame
    if (r !== undefined) box("band across", 0, r * high - 1, width, high + 2);
    if (c !== undefined) box("band down", c * wide - 1, 0, wide + 2, height);
    if (focus !== null && transpose) box("row", focus * wide - 2, -2, wide + 4, height + 4);
    else if (focus !== null) box("row", -2, focus * high - 2, width + 4, high + 4);
    if (pair) {
      const [y, x] = transpose ? [pair[1], pair[0]] : pair;
      box("pair", x * wide - 2, y * high - 2, wide + 4, high + 4);
    }
    const rowMarks = [[row, "over"], [focus, "from"]], columnMarks = [[column, "over"], [pair?.[1], "to"]];
    lightUp("down", transpose ? columnMarks : rowMarks);
    lightUp("across", transpose ? rowMarks : columnMarks);
  }

  // Return the cell or label under the pointer.
  function at(event) {
    const [fromLeft, fromTop] = within(stage, event), x = fromLeft - size.left, y = fromTop - size.top;
    const c = Math.floor(x / size.wide), r = Math.floor(y / size.high);
    const inX = c >= 0 && c < size.h, inY = r >= 0 && r < size.v;
    if ((!inX && x >= 0) || (!inY && y >= 0) || (x < 0 && y < 0)) return {};
    const across = inX ? c : undefined, down = inY ? r : undefined;
    return view.state.transpose ? { row: across, column: down } : { row: down, column: across };
  }

  // Return a cell's position on the screen, for the keyboard's tooltip.
  function where({ row, column }) {
    const [r, c] = view.state.transpose ? [column, row] : [row, column];
    return pointOf(stage, size.left + ((c ?? 0) + 1) * size.wide, size.top + ((r ?? 0) + 1) * size.high);
  }

  return { draw, mark, at, where, drawMarks };
}
