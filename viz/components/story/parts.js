// The parts of the picture, from left to right: pieces, vectors, the open block, all blocks, next-word candidates.
import { button, div, fill, node, span } from "../js/shared.js";
import { shape } from "../js/svg.js";

const percent = (share) => `${Math.round(100 * share)}%`;

const PART = { places: "vectors", logits: "output", softmax: "output", word: "output" };

/**
 * Return the part that a step belongs to: of the same name unless it shares one.
 * @param {string} step
 * @returns {string}
 */
export const partOf = (step) => PART[step] ?? step;

/**
 * Create all parts.
 * @param {object} body  the story's body
 * @param {(event: object) => void} send
 * @returns {HTMLElement[]}
 */
export function panels(body, send) {
  const { text, shape: [count, heads], opened: [block, head] } = body;
  const layer = div("layer"), title = div("title", layer), both = div("both", layer);
  const each = (length, name) => Array.from({ length }, (_, at) => [at, name(at)]);

  function choice(name, options, now) {
    const made = Object.assign(node("select", name), { ariaLabel: text[`choose_${name}`], disabled: body.frozen });
    for (const [value, words] of options) made.add(new Option(words, value, false, value === now));
    return made;
  }
  title.append(text.block_before, choice("block", each(count, String), block), text.block_after.replace("{n}", count),
    choice("head", [[-1, text.mean], ...each(heads, (at) => `${text.head} ${at}`)], head));
  const made = Object.entries(DRAW).map(([name, draw]) => panel(body, send, name, draw));
  both.append(...made.splice(2, 2));
  return made.toSpliced(2, 0, layer);
}

// Create a part with its title, its content, and links to the lessons of its steps.
function panel(body, send, name, draw) {
  const made = div(`panel ${name}`), own = body.steps.filter(([step]) => partOf(step) === name);
  made.dataset.part = name;
  node("h4", "", body.text[name], made);
  draw(div("inside", made), body, send);
  const links = div("lessons", made);
  for (const [lesson, door] of new Map(own.map(([, , , lesson, door]) => [lesson, door]))) {
    button("lesson", `${door} ›`, links, () => send({ lesson }));
  }
  return made;
}

function rows(body, inside, draw, earlier) {
  if (body.first) earlier(div("row earlier", inside), fill(body.text.earlier, { n: body.first }));
  body.pieces.forEach((piece, at) => {
    const row = div("row", inside);
    row.style.setProperty("--i", at);
    draw(row, piece, at);
  });
}

function pieces(inside, body) {
  rows(body, inside, (row, piece, at) => {
    span("token", piece, row);
    span("id", body.ids[at], row);
  }, (row, text) => row.append(text));
}

function vectors(inside, body) {
  const { embedded: { shape: [, n] }, text, width, bound, first } = body;
  rows(body, inside, (row, piece, at) => {
    span("place", first + at, row);
    for (const which of ["embedded", "placed"]) {
      const strip = div(`strip ${which}`, row);
      for (const value of body[which].values.subarray(at * n, at * n + n)) {
        shade(node("i", value < 0 ? "minus" : "", undefined, strip), Math.sqrt(Math.abs(value) / bound));
      }
    }
  }, () => {});
  div("under", inside).textContent = fill(text.first_of, { n, width });
}

const shade = (cell, share) => cell.style.setProperty("--v", percent(share));

function attention(inside, body) {
  const { weights: { values }, shares } = body, largest = Math.max(...values);
  const share = (row, name, written, most = "") => {
    span(`name${most}`, name, row);
    span(`share${most}`, written, row);
  };
  shape("svg", { class: "paths", "aria-hidden": "true" }, inside);
  rows(body, inside, (row, piece, at) => share(row, piece, shares[at], values[at] === largest ? " most" : ""),
    (row, text) => share(row, text, body.earlier));
}

function feedForward(inside, body) {
  node("canvas", "neurons", undefined, inside);
  div("under", inside).textContent = fill(body.text.neurons, { n: body.neurons.values.length });
}

function blocks(inside, body, send) {
  const { shape: [count, heads], opened, added: { values }, marks, text } = body, largest = Math.max(...values);
  const list = div("list", inside), key = div("under", inside), kinds = ["by_attention", "by_feed_forward"];
  for (let i = 0; i < count; i++) {
    const row = div(i === opened[0] ? "one opened" : "one", list);
    row.style.setProperty("--i", i);
    span("number", count <= 16 || i % 5 === 0 || i === count - 1 ? i : "", row);
    const cells = div("heads", row), bars = div("bars", row);
    for (let j = 0; j < heads; j++) {
      const cell = node("i", i === opened[0] && j === opened[1] ? "now" : "", undefined, cells);
      shade(cell, marks.values[i * heads + j]);
      cell.onclick = () => send({ opened: [i, j] });
    }
    kinds.forEach((kind, at) => {
      node("b", kind, undefined, bars).style.width = `${(100 * values[2 * i + at]) / largest}%`;
    });
  }
  for (const kind of kinds) span(kind, text[kind], key);
}

function output(inside, body, send) {
  const low = Math.min(0, ...body.logits), high = Math.max(...body.logits, 0), head = div("word heads-of", inside);
  const write = (at) => () => send({ write: body.numbers[at] });
  for (const name of ["", "logit", "probability"]) span(name, body.text[name], head);
  body.words.forEach((word, at) => {
    const row = button(at ? "word" : "word first", undefined, inside, write(at));
    row.style.setProperty("--i", at);
    row.disabled = !body.again;
    span("token", word, row);
    bar(row, "logit", (body.logits[at] - low) / (high - low), body.scores[at]);
    bar(row, "probability", body.chances[at], body.written[at]);
  });
  if (body.rest) div("rest", inside).textContent = body.rest;
  if (body.again) button("write", body.again, inside, write(0));
}

const DRAW = { pieces, vectors, attention, feed_forward: feedForward, blocks, output };   // from left to right

function bar(parent, name, share, written) {
  const made = span(`meter ${name}`, undefined, parent);
  node("b", "", undefined, made).style.width = `${100 * Math.max(0.004, share)}%`;
  node("em", "", written, made);
}

/**
 * Draw the attention paths in the SVG, using the current positions of the rows.
 * @param {HTMLElement} stage
 * @param {object} body
 */
export function drawPaths(stage, body) {
  const inside = stage.querySelector(".attention .inside"), svg = inside.querySelector("svg");
  const found = [...inside.querySelectorAll(".row")], last = found.at(-1), names = last.lastElementChild;
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
 * @param {object} body
 * @param {string[]} heads  colours of the heads
 */
export function drawNeurons(stage, { neurons: { values } }, [, , , , , blue]) {
  const canvas = stage.querySelector("canvas"), { clientWidth: wide, clientHeight: high } = canvas;
  if (!wide) return;
  const columns = Math.max(1, Math.round(Math.sqrt((values.length * wide) / high))), pen = canvas.getContext("2d");
  const rows = Math.ceil(values.length / columns), ratio = devicePixelRatio || 1;
  const largest = Math.max(...values.map(Math.abs), 1e-30);
  [canvas.width, canvas.height] = [wide * ratio, high * ratio];
  const across = canvas.width / columns, down = canvas.height / rows;
  pen.fillStyle = blue;
  values.forEach((value, at) => {
    pen.globalAlpha = 0.06 + 0.94 * Math.sqrt(Math.abs(value) / largest);
    const [x, y] = [(at % columns) * across + 0.5, Math.floor(at / columns) * down + 0.5];
    pen.fillRect(x, y, Math.max(1, across - 1), Math.max(1, down - 1));
  });
}
