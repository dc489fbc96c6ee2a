// The matrix lens: queries down, keys across (or transposed). The cells are one canvas; everything that moves is a box above it.
import { canvasOf, node, paint, pixels, place, within } from "../shared.js";
import { STRUCK, strike } from "../signs.js";
import { pointOf, token } from "../tokens.js";
import { CODES, READABLE, strength, strengths, valueOf, widest } from "./codes.js";

const LARGEST = 44, SHADES = 1024;

export function matrix(stage, view) {
  const canvas = node("canvas", "", undefined, stage), labels = node("div", "", undefined, stage);
  const boxes = {}, hot = {}, marked = node("div", "", undefined, stage);
  for (const name of ["band down", "band across", "row", "pair"]) boxes[name] = node("div", `box ${name}`, undefined, stage);
  let codes, source, turned, size = {};

  // Codes with queries down or across; 0 means masked, so an unmasked weight of 0 counts as the smallest code.
  function prepare() {
    const { weights, scores } = view.body, [, rows, columns] = weights.shape, flip = view.state.transpose;
    if (source === weights && turned === flip) return;
    [source, turned] = [weights, flip];
    codes = new Uint16Array(rows * columns);
    const hidden = scores?.values, [noRows, noColumns] = (view.body.absent ?? [[], []]).map((each) => new Set(each)), { bound } = view.body;
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const at = row * columns + column, nothing = hidden?.[at] === 65535 || noRows.has(row) || noColumns.has(column);
        const code = nothing ? 0 : weights.values[at] || (bound ? 0 : 1);
        codes[flip ? column * rows + row : at] = code;
      }
    }
  }

  function measure() {
    const { state, rows, columns, body, width } = view;
    const [down, across] = state.transpose ? [columns, rows] : [rows, columns], v = down.texts.length, h = across.texts.length;
    const left = Math.ceil(Math.min(widest(down.texts) + 10, width * 0.32, 136)), most = Math.ceil(widest(across.texts) + 8);
    let wide = Math.min((width - left - 2) / h, LARGEST);
    const level = wide >= most + 4, top = level ? 20 : Math.min(most, 112);
    let high = Math.min((body.height - top) / v, LARGEST);
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
    const { v, h } = size, wide = canvas.width / h, high = canvas.height / v;
    pen.lineWidth = devicePixelRatio || 1;
    codes.forEach((code, at) => {
      const share = code ? signed(valueOf(code, 1)) : 0;
      pen.globalAlpha = share < -0.5 ? 0.8 : 0.45;
      if (share <= -STRUCK) strike(pen, (at % h) * wide, Math.floor(at / h) * high, wide, high, share < -0.5 ? view.colours.paper : view.colours.ink);
    });
    pen.lineWidth = 1;
  }

  // What the reader marked: filled while the head is covered, a frame once it is shown.
  function drawMarks() {
    marked.replaceChildren();
    marked.className = view.state.marking ? "guess" : "guess shown";
    for (const [row, column] of view.marks.inside()) {
      const [r, c] = view.state.transpose ? [column, row] : [row, column];
      place(node("div", "box", undefined, marked), size.left + c * size.wide, size.top + r * size.high, size.wide, size.high);
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
    place(made, 0, size.top + at * size.high + (size.high - 16) / 2, size.left - 6);
  }

  function putAcross(made, at) {
    const { left, top, wide, level } = size;
    if (level) return place(made, left + at * wide, top - 19, wide);
    made.style.transform = `translate(${left + at * wide + (wide - 16) / 2}px, ${top - 4}px) rotate(-90deg)`;
    made.style.width = `${top - 4}px`;
    made.hidden = false;
  }

  function drawLabels() {
    labels.replaceChildren();
    for (const [axis, pitch, put, name] of [[size.down, size.high, putDown, "down"], [size.across, size.wide, putAcross, "across"]]) {
      const skip = Math.ceil(READABLE / pitch), kind = `label ${name}${name === "across" && size.level ? " level" : ""}`;
      for (let at = 0; at < axis.texts.length; at += skip) put(label(axis, at, kind, labels), at);
      hot[name] = node("div", "", undefined, labels);
    }
  }

  function label(axis, at, kind, parent) {
    const made = token(axis.texts[at], axis.flags[at], parent);
    made.className += ` ${kind}`;
    return made;
  }

  // Labels that must be readable now, above the others: the focus and the pair, and what is under the pointer.
  function light(name, axis, put, marks) {
    hot[name].replaceChildren();
    for (const [at, kind] of marks) {
      if (at !== null && at !== undefined) put(label(axis, at, `label hot ${name} ${kind}${name === "across" && size.level ? " level" : ""}`, hot[name]), at);
    }
  }

  const box = (name, x, y, width, height) => place(boxes[name], size.left + x, size.top + y, width, height);

  function mark({ row, column }) {
    const { focus, pair, transpose } = view.state, { wide, high, width, height } = size;
    for (const each of Object.values(boxes)) each.hidden = true;
    const [r, c] = transpose ? [column, row] : [row, column];
    if (r !== undefined) box("band across", 0, r * high, width, high);
    if (c !== undefined) box("band down", c * wide, 0, wide, height);
    if (focus !== null) transpose ? box("row", focus * wide - 1, -1, wide + 2, height + 2) : box("row", -1, focus * high - 1, width + 2, high + 2);
    if (pair) {
      const [y, x] = transpose ? [pair[1], pair[0]] : pair;
      box("pair", x * wide - 2, y * high - 2, wide + 4, high + 4);
    }
    const rowMarks = [[row, "over"], [focus, "from"]], columnMarks = [[column, "over"], [pair?.[1], "to"]];
    light("down", size.down, putDown, transpose ? columnMarks : rowMarks);
    light("across", size.across, putAcross, transpose ? rowMarks : columnMarks);
  }

  // The cell or the label under the pointer.
  function at(event) {
    const [fromLeft, fromTop] = within(stage, event), x = fromLeft - size.left, y = fromTop - size.top;
    const c = Math.floor(x / size.wide), r = Math.floor(y / size.high), inX = c >= 0 && c < size.h, inY = r >= 0 && r < size.v;
    if ((!inX && x >= 0) || (!inY && y >= 0) || (x < 0 && y < 0)) return {};
    const [row, column] = view.state.transpose ? [c, r] : [r, c], [hasRow, hasColumn] = view.state.transpose ? [inX, inY] : [inY, inX];
    return { row: hasRow ? row : undefined, column: hasColumn ? column : undefined };
  }

  // Where a cell is on the screen, for the tooltip of the keyboard.
  function where({ row, column }) {
    const [r, c] = view.state.transpose ? [column, row] : [row, column];
    return pointOf(stage, size.left + ((c ?? 0) + 1) * size.wide, size.top + ((r ?? 0) + 1) * size.high);
  }

  return { draw, mark, at, where, drawMarks };
}
