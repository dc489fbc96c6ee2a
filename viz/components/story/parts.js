// The parts of the picture, from left to right: pieces, vectors, the open block, all blocks, next-word candidates.
import { button, div, fill, node, span } from "../js/shared.js";
import { shape } from "../js/svg.js";

/**
 * Create all parts.
 * @param {import("../js/messages.js").Message} body  the story's body
 * @param {(event: object) => void} send
 * @returns {HTMLElement[]}
 */
export function panels(body, send) {
  const { text, shape: [count, heads], opened: [block, head] } = body;
  const layer = div(undefined, "layer"), title = div(layer, "title"), both = div(layer, "both");
  const each = (length, name) => Array.from({ length }, (_, at) => [at, name(at)]);

  function choice(name, options, now) {
    const made = Object.assign(node("select", title, name), { ariaLabel: text[`choose_${name}`] });
    for (const [value, words] of options) made.add(new Option(words, value, false, value === now));
  }
  title.append(text.block_before);
  choice("block", each(count, String), block);
  title.append(fill(text.block_after, { n: count }));
  choice("head", [[-1, text.mean], ...each(heads, (at) => `${text.head} ${at}`)], head);
  const made = Object.entries(DRAW).map(([name, draw]) => panel(body, send, name, draw));
  both.append(...made.splice(2, 2));
  return made.toSpliced(2, 0, layer);
}

// Create a part with its title, its content, and links to the lessons of its steps.
function panel(body, send, name, draw) {
  const made = div(undefined, `panel ${name}`), own = body.steps.filter((_, at) => body.parts[at] === name);
  made.dataset.part = name;
  node("h4", made, "", body.text[name]);
  draw(div(made, "inside"), body, send);
  const links = div(made, "lessons");
  for (const [lesson, door] of new Map(own.map(([, , , lesson, door]) => [lesson, door]))) {
    button(links, "lesson", `${door} ›`, () => send({ lesson }));
  }
  return made;
}

function rows(body, inside, draw, earlier) {
  if (body.first) earlier(div(inside, "row earlier"), fill(body.text.earlier, { n: body.first }));
  body.pieces.forEach((piece, at) => {
    const row = div(inside, "row");
    row.style.setProperty("--i", `${at}`);
    draw(row, piece, at);
  });
}

function pieces(inside, body) {
  rows(body, inside, (row, piece, at) => {
    span(row, "token", piece);
    span(row, "id", body.ids[at]);
  }, (row, text) => row.append(text));
}

function vectors(inside, body) {
  const { embedded: { shape: [, n] }, text, width, bound, first } = body;
  rows(body, inside, (row, piece, at) => {
    span(row, "place", first + at);
    for (const which of ["embedded", "placed"]) {
      const strip = div(row, `strip ${which}`);
      for (const value of body[which].values.subarray(at * n, at * n + n)) {
        share(node("i", strip, value < 0 ? "minus" : ""), Math.sqrt(Math.abs(value) / bound));
      }
    }
  }, () => {});
  div(inside, "under", fill(text.first_of, { n, width }));
}

const share = (element, value) => element.style.setProperty("--v", `${100 * value}%`);

function attention(inside, body) {
  const { weights: { values }, shares } = body, largest = Math.max(...values);
  const piece = (row, name, written, most = "") => {
    span(row, `name${most}`, name);
    span(row, `share${most}`, written);
  };
  shape("svg", { class: "paths", "aria-hidden": "true" }, inside);
  rows(body, inside, (row, name, at) => piece(row, name, shares[at], values[at] === largest ? " most" : ""),
    (row, text) => piece(row, text, body.earlier));
}

function feedForward(inside, body) {
  node("canvas", inside, "neurons");
  div(inside, "under", fill(body.text.neurons, { n: body.neurons.values.length }));
}

function blocks(inside, body, send) {
  const { shape: [count, heads], opened, added: { values }, marks, text } = body, largest = Math.max(...values);
  const list = div(inside, "list"), key = div(inside, "under"), kinds = ["by_attention", "by_feed_forward"];
  for (let i = 0; i < count; i++) {
    const row = div(list, i === opened[0] ? "one opened" : "one");
    row.style.setProperty("--i", `${i}`);
    span(row, "number", count <= 16 || i % 5 === 0 || i === count - 1 ? i : "");
    const cells = div(row, "heads"), bars = div(row, "bars");
    for (let j = 0; j < heads; j++) {
      const cell = node("i", cells, i === opened[0] && j === opened[1] ? "now" : "");
      share(cell, marks.values[i * heads + j]);
      cell.onclick = () => send({ opened: [i, j] });
    }
    kinds.forEach((kind, at) => share(node("b", bars, kind), values[2 * i + at] / largest));
  }
  for (const kind of kinds) span(key, kind, text[kind]);
}

function output(inside, body, send) {
  const low = Math.min(0, ...body.logits), high = Math.max(...body.logits, 0), head = div(inside, "word heads-of");
  const write = (at) => () => send({ write: body.numbers[at] });
  for (const name of ["", "logit", "probability"]) span(head, name, body.text[name]);
  body.words.forEach((word, at) => {
    const row = button(inside, at ? "word" : "word first", "", write(at));
    row.style.setProperty("--i", at);
    row.disabled = !body.again;
    span(row, "token", word);
    bar(row, "logit", (body.logits[at] - low) / (high - low), body.scores[at]);
    bar(row, "probability", body.chances[at], body.written[at]);
  });
  if (body.rest) div(inside, "rest", body.rest);
  if (body.again) button(inside, "write", body.again, write(0));
}

const DRAW = { pieces, vectors, attention, feed_forward: feedForward, blocks, output };   // from left to right

function bar(parent, name, value, written) {
  const made = span(parent, `meter ${name}`);
  share(node("b", made), Math.max(0.004, value));
  node("em", made, "", written);
}

/**
 * Draw the attention paths in the SVG, using the current positions of the rows.
 * @param {HTMLElement} stage
 * @param {import("../js/messages.js").Message} body
 */
export function drawPaths(stage, body) {
  /** @type {HTMLElement} */
  const inside = stage.querySelector(".attention .inside"), svg = inside.querySelector("svg");
  const found = /** @type {HTMLElement[]} */ ([...inside.querySelectorAll(".row")]);
  const last = found.at(-1), names = /** @type {HTMLElement} */ (last.lastElementChild);
  const middle = ({ offsetTop, offsetHeight }) => offsetTop + offsetHeight / 2;
  const start = names.offsetLeft + names.offsetWidth + 8, wide = inside.clientWidth - 10, end = middle(last);
  const [early, late] = [0.55, 0.35].map((share) => start + share * (wide - start));
  const all = body.first ? [body.early, ...body.weights.values] : body.weights.values;
  svg.replaceChildren();
  found.forEach((row, at) => {
    if (all[at] < 0.005) return;
    const d = `M${start} ${middle(row)}C${early} ${middle(row)} ${late} ${end} ${wide} ${end}`;
    shape("path", { d, pathLength: 1, style: `stroke-width: ${1 + 11 * all[at]}; --i: ${at}` }, svg);
  });
  shape("circle", { cx: wide, cy: end, r: 6 }, svg);
}

/**
 * Draw the neurons' activations on the canvas.
 * @param {HTMLElement} stage
 * @param {import("../js/messages.js").Message} body
 * @param {string[]} heads  colours of the heads
 */
export function drawNeurons(stage, { neurons: { values } }, [, , , , , blue]) {
  const canvas = stage.querySelector("canvas"), { clientWidth: wide, clientHeight: high } = canvas;
  const columns = Math.max(1, Math.round(Math.sqrt((values.length * wide) / (high || 1)))), pen = canvas.getContext("2d");
  const largest = Math.max(...values.map(Math.abs), 1e-30);
  [canvas.width, canvas.height] = [8 * columns, 8 * Math.ceil(values.length / columns)];   // scaled by story.css
  pen.fillStyle = blue;
  values.forEach((value, at) => {
    pen.globalAlpha = 0.06 + 0.94 * Math.sqrt(Math.abs(value) / largest);
    pen.fillRect(8 * (at % columns), 8 * Math.floor(at / columns), 6.5, 6.5);
  });
}
