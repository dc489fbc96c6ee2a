// The parts of the picture, from left to right: pieces, vectors, the open block, all blocks, next-word candidates.
import { div, fill, node, parts } from "../js/shared.js";
import { shape } from "../js/svg.js";

/**
 * Create all parts.
 * @param {object} body  the story's body
 * @returns {HTMLElement[]}
 */
export function panels(body) {
  const block = div("layer");
  const title = div("title", block);
  title.append(body.text.block_before, choice("block", body.shape[0], body.opened[0], body),
    body.text.block_after.replace("{n}", body.shape[0]), choice("head", body.shape[1], body.opened[1], body));
  const both = div("both", block);
  both.append(attention(body), feedForward(body));
  return [pieces(body), vectors(body), block, blocks(body), output(body)];
}

// Create a part with its title, its steps, and links to their lessons.
function panel(body, steps, name) {
  const made = div(`panel ${name}`);
  made.dataset.steps = steps.join(" ");
  node("h4", "", body.text[name], made);
  const inside = div("inside", made), links = div("lessons", made);
  const own = body.steps.filter(([each]) => steps.includes(each));
  for (const [lesson, door] of new Map(own.map(([, , , lesson, door]) => [lesson, door]))) node("button", "lesson", `${door} ›`, links).dataset.lesson = lesson;
  return { made, inside };
}

function rows(body, inside, draw) {
  if (body.first) draw.earlier(div("row earlier", inside));
  body.pieces.forEach((piece, at) => {
    const row = div(`row${at === body.pieces.length - 1 ? " last" : ""}`, inside);
    row.style.setProperty("--i", at);
    draw.row(row, at);
  });
}

function pieces(body) {
  const { made, inside } = panel(body, ["pieces"], "pieces");
  rows(body, inside, {
    earlier: (row) => { row.textContent = fill(body.text.earlier, { n: body.first }); },
    row: (row, at) => {
      node("span", "token", body.pieces[at], row);
      node("span", "id", String(body.ids[at]), row);
    },
  });
  return made;
}

function vectors(body) {
  const { made, inside } = panel(body, ["vectors", "places"], "vectors"), { shape: [, across] } = body.embedded;
  rows(body, inside, {
    earlier: () => {},
    row: (row, at) => {
      node("span", "place", String(body.first + at), row);
      for (const which of ["embedded", "placed"]) {
        const strip = div(`strip ${which}`, row);
        for (let i = 0; i < across; i++) cell(strip, body[which].values[at * across + i] / body.bound);
      }
    },
  });
  node("div", "under", fill(body.text.first_of, { n: across, width: body.width }), inside);
  return made;
}

function cell(parent, value) {
  const made = node("i", value < 0 ? "minus" : "plus", undefined, parent);
  made.style.setProperty("--v", `${Math.round(100 * Math.sqrt(Math.abs(value)))}%`);
}

function choice(name, count, now, body) {
  const made = node("select", name);
  made.setAttribute("aria-label", body.text[`choose_${name}`]);
  made.disabled = body.frozen;
  const add = (words, i) => made.add(new Option(words, i, i === now, i === now));
  if (name === "head") add(body.text.mean, -1);
  for (let i = 0; i < count; i++) add(name === "head" ? `${body.text.head} ${i}` : String(i), i);
  return made;
}

function attention(body) {
  const { made, inside } = panel(body, ["attention"], "attention");
  shape("svg", { class: "paths", "aria-hidden": "true" }, inside);
  const largest = Math.max(...body.weights.values);
  rows(body, inside, {
    earlier: (row) => share(row, fill(body.text.earlier, { n: body.first }), body.earlier, false),
    row: (row, at) => share(row, body.pieces[at], body.shares[at], body.weights.values[at] === largest),
  });
  return made;
}

function share(row, name, written, most) {
  node("span", most ? "name most" : "name", name, row);
  node("span", most ? "share most" : "share", written, row);
}

function feedForward(body) {
  const { made, inside } = panel(body, ["feed_forward"], "feed_forward");
  node("canvas", "neurons", undefined, inside);
  node("div", "under", fill(body.text.neurons, { n: body.neurons.values.length }), inside);
  return made;
}

function blocks(body) {
  const { made, inside } = panel(body, ["blocks"], "blocks"), [count, heads] = body.shape;
  const largest = Math.max(...body.added.values), list = div("list", inside);
  for (let i = 0; i < count; i++) {
    const row = div(i === body.opened[0] ? "one opened" : "one", list);
    row.style.setProperty("--i", i);
    node("span", "number", count <= 16 || i % 5 === 0 || i === count - 1 ? String(i) : "", row);
    const cells = div("heads", row);
    for (let j = 0; j < heads; j++) {
      const made = node("i", i === body.opened[0] && (j === body.opened[1]) ? "now" : "", undefined, cells);
      made.style.setProperty("--v", `${Math.round(100 * body.marks.values[i * heads + j])}%`);
      made.dataset.head = `${i} ${j}`;
    }
    const bars = div("bars", row);
    for (const [at, name] of ["by-attention", "by-feed-forward"].entries()) {
      node("b", name, undefined, bars).style.width = `${(100 * body.added.values[2 * i + at]) / largest}%`;
    }
  }
  const key = div("under", inside);
  node("span", "by-attention", body.text.by_attention, key);
  node("span", "by-feed-forward", body.text.by_feed_forward, key);
  return made;
}

function output(body) {
  const { made, inside } = panel(body, ["logits", "softmax", "word"], "output");
  const low = Math.min(0, ...body.logits), high = Math.max(...body.logits, 0);
  const head = div("word heads-of", inside);
  for (const name of ["", "logit", "probability"]) node("span", name, body.text[name] ?? "", head);
  body.words.forEach((word, at) => {
    const row = node("button", at ? "word" : "word first", undefined, inside);
    row.style.setProperty("--i", at);
    if (body.again) row.dataset.write = body.numbers[at];
    row.disabled = !body.again;
    node("span", "token", word, row);
    bar(row, "logit", (body.logits[at] - low) / (high - low), body.scores[at]);
    bar(row, "probability", body.chances[at], body.written[at]);
  });
  if (body.rest) node("div", "rest", body.rest, inside);
  if (body.again) node("button", "write", body.again, inside).dataset.write = body.numbers[0];
  return made;
}

function bar(parent, name, share, written) {
  const made = node("span", `meter ${name}`, undefined, parent);
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
  const box = inside.getBoundingClientRect(), found = [...inside.querySelectorAll(".row")];
  const zoom = box.width / inside.offsetWidth || 1, wide = inside.clientWidth - 10;
  const middle = (row) => {
    const { top, height } = row.getBoundingClientRect();
    return (top + height / 2 - box.top) / zoom;
  };
  const end = middle(found.at(-1)), names = found.at(-1).lastElementChild.getBoundingClientRect();
  const start = (names.right - box.left) / zoom + 8;
  svg.replaceChildren();
  found.forEach((row, at) => {
    const y = middle(row), of = at - (body.first ? 1 : 0), weight = of < 0 ? body.early : body.weights.values[of];
    if (weight < 0.005) return;
    const [early, late] = [0.55, 0.35].map((share) => start + share * (wide - start));
    const d = `M${start} ${y}C${early} ${y} ${late} ${end} ${wide} ${end}`;
    shape("path", { d, pathLength: 1, style: `stroke-width: ${1 + 11 * weight}; --i: ${at}` }, svg);
  });
  shape("circle", { cx: wide, cy: end, r: 6 }, svg);
}

/**
 * Draw the neurons' activations on the canvas.
 * @param {HTMLElement} stage
 * @param {object} body
 * @param {string[]} heads  colours of the heads
 */
export function drawNeurons(stage, body, [, , , , , blue]) {
  const canvas = stage.querySelector("canvas"), { values } = body.neurons;
  const wide = canvas.clientWidth, high = canvas.clientHeight;
  if (!wide) return;
  const columns = Math.max(1, Math.round(Math.sqrt((values.length * wide) / high)));
  const rows = Math.ceil(values.length / columns), ratio = devicePixelRatio || 1, pen = canvas.getContext("2d"), rgb = parts(blue).join(" ");
  [canvas.width, canvas.height] = [wide * ratio, high * ratio];
  const across = canvas.width / columns, down = canvas.height / rows;
  const largest = values.reduce((most, each) => Math.max(most, Math.abs(each)), 1e-30);
  values.forEach((value, at) => {
    pen.fillStyle = `rgb(${rgb} / ${0.06 + 0.94 * Math.sqrt(Math.abs(value) / largest)})`;
    const [x, y] = [(at % columns) * across + 0.5, Math.floor(at / columns) * down + 0.5];
    pen.fillRect(x, y, Math.max(1, across - 1), Math.max(1, down - 1));
  });
}
