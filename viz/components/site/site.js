// Clearhead in the browser: a sentence, all heads and the open one, first as recorded and then as this browser computes
// them. The page, which viz/export/site/page.py writes, contains the recorded answers and the fixed texts.
import { bytesIn, choices, drawn } from "../handout/figure.js";
import { headsOf } from "../head_grid/layout.js";
import { unpack } from "../js/messages.js";
import { button, fill, isolated, node } from "../js/shared.js";
import { fetched, modelOf } from "./model.js";
import { pngOf } from "./png.js";
import { formsOf, readState, writeState } from "./state.js";

const ALLOWED = 1e-4;   // largest difference from PyTorch
const MANY = 40;   // tokens; the weights of a longer text are too small for a linear scale
const THUMBNAIL = 64;   // cells; a cell of a longer text is the largest of several weights

/** @type {Record<string, *>} the page's elements by id */
const page = Object.fromEntries([...document.querySelectorAll("[id]")].map((element) => [element.id, element]));
const { words, first, like, twin, file, size, offline } = JSON.parse(page.data.textContent);
const names = headsOf(like.grid).map((head) => head.join("."));
const forms = formsOf(names, Object.keys(words.choices.lens), Number(page.temper.max)), state = readState(location.hash, first, forms), recorded = new Map(), views = {};
let components, shown, model, turn = 0, computes = false;

const dotted = (head) => head.replace(".", "·");
// the tokens of a text that is not drawn yet are not known
const nameOf = (token, text) => (text === shown.text ? isolated(shown.tokens.texts[token] ?? "") : `(${token})`);
const sends = { strip: set, head: set, grid: (event) =>
  (event.silence === undefined ? set({ head: names[event] }) : toggle("silence", names[event.silence])) };

// Draw what a click has changed.
function set(change) {
  Object.assign(state, change);
  draw(shown);
}

// Draw an answer. While a text is being computed, this is the previous text's, in which no token is chosen.
function draw(next) {
  const isNew = next !== shown;
  shown = next;
  const { lens, transpose, token, pair } = state, number = names.indexOf(state.head);
  const chosen = shown.text === state.text ? { focus: token, pair } : { focus: null, pair: null };
  const scale = shown.tokens.texts.length > MANY ? "root" : "linear";
  const hidden = shown.hide.map((each) => nameOf(each, shown.text)).join(", ");
  const notes = hidden ? [fill(words.note_hidden, { tokens: hidden })] : [];
  const own = { ...like.state, lens, transpose, scale, ...chosen };
  const strip = { ...chosen, pairs: true, chosen: chosen.focus !== null };
  update("strip", isNew && { ...like.strip, tokens: shown.tokens }, strip);
  update("grid", isNew && gridBody(), { ...like.gridState, open: number });
  update("head", headBody(number, notes), own);
  mark();
}

// The messages that the components draw, as viz/components/picture.py makes them in the app.
function gridBody() {
  const { tokens: { texts: { length: n } }, codes: { values: codes } } = shown;
  const pool = Math.ceil(n / THUMBNAIL), side = Math.ceil(n / pool), shape = [names.length, side, side];
  const values = new Uint8Array(names.length * side * side);
  codes.forEach((code, at) => {
    const row = Math.floor(at / n), head = Math.floor(row / n), [down, across] = [row % n, at % n];
    const cell = (head * side + Math.floor(down / pool)) * side + Math.floor(across / pool);
    values[cell] = Math.max(values[cell], Math.round(code / 257));
  });
  const pooled = pool > 1 ? [fill(like.grid.text.pooled, { rows: pool, columns: pool })] : [];
  return { ...like.grid, cells: { values, shape }, legend: [...like.grid.legend, ...pooled] };
}

function headBody(number, notes) {
  const { tokens, codes } = shown, n = tokens.texts.length, head = state.head.split(".").map(Number);
  const values = codes.values.subarray(number * n * n, (number + 1) * n * n);
  return { ...like.head, rows: tokens, columns: null, heads: [head], notes, weights: { values, shape: [1, n, n] } };
}

function update(name, body, own) {
  views[name] ??= drawn(page[name], components[name], body, own, sends[name]);
  if (body) views[name].update(body);
  views[name].update(own);
}

// Update the controls around the pictures, and the address.
function mark() {
  const [layer, head] = state.head.split("."), t = state.temper[state.head] ?? 1, none = state.token === null;
  page.title.textContent = fill(words.head, { layer, head });
  page.silence.ariaPressed = state.silence.includes(state.head);
  page.hide.ariaPressed = state.hide.includes(state.token);
  page.hide.textContent = none ? words.hide_none : fill(words.hide, { token: nameOf(state.token, state.text) });
  page.hide.disabled = none;
  page.temper.value = Math.log2(t);
  page.temper.ariaValueText = page.t.textContent = t.toFixed(2);
  page.swap.hidden = !twinOf(state.text);
  const edits = edited(state);
  page.changes.replaceChildren(...(edits.length ? [words.edits] : []));
  for (const [edit, undo] of edits) {
    button(page.changes, "", `${edit} ×`, undo).ariaLabel = fill(words.edit_undo, { edit });
  }
  if (location.protocol !== "about:") history.replaceState(null, "", writeState(state, first));
  page.link.href = location.href;
}

/** @type {(name: string, values: *, undo: () => void) => [string, () => void]} */
const edit = (name, values, undo) => [fill(words[`edit_${name}`], values), undo];

/** @type {(question: *) => [edit: string, undo: () => void][]} what is changed in the model */
function edited({ text, hide, silence, temper: tempered }) {
  return [
    ...hide.map((token) => edit("hide", { token: nameOf(token, text) }, () => toggle("hide", token))),
    ...silence.map((head) => edit("silence", { head: dotted(head) }, () => toggle("silence", head))),
    ...Object.entries(tempered).map(([head, t]) =>
      edit("temper", { head: dotted(head), t: t.toFixed(2) }, () => temper(head, 1)))];
}

// Return a text with the first of the two words that it contains exchanged, if it contains one.
function twinOf(text) {
  const [found] = text.match(new RegExp(`\\b(?:${twin.join("|")})\\b`)) ?? [];
  return found && text.replace(found, twin[1 - twin.indexOf(found)]);
}

// Answer a text with its tokens, their ids and each head's weights, row by row: for tests and the curious.
async function answered(text, edits) {
  const { tokens: { texts: tokens }, ids, weights } = await model.ask({ text, ...edits }), size = tokens.length ** 2;
  const from = (layer, head) => names.indexOf(`${layer}.${head}`) * size;
  return { tokens, ids, weights: (...head) => weights.subarray(from(...head), from(...head) + size) };
}

// Answer the state's question, and draw the answer unless the question has changed meanwhile.
async function ask() {
  const mine = ++turn, { text, hide, silence, temper } = state, { classList } = document.body;
  let next = computes || edited(state).length ? undefined : recorded.get(text);
  if (!next) {
    page.news.textContent = computes ? words.computing : words.waits;
    classList.add("busy");
    try {
      next = await model.ask({ text, hide, silence, temper });
    } catch (error) {
      if (mine === turn) page.news.textContent = error.message;
    }
    if (mine !== turn) return;
    classList.remove("busy");
    if (!next) return;
  }
  page.news.textContent = words.grid_about;
  const { length } = next.tokens.texts;
  if (state.token >= length) state.token = null;
  if (Math.max(...state.pair ?? []) >= length) state.pair = null;
  state.hide = next.hide = hide.filter((each) => each < length);
  draw(next);
}

function read(text) {
  if (text !== twinOf(state.text)) Object.assign(state, { token: null, pair: null, hide: [] });
  page.text.value = state.text = text;
  ask();
}

function toggle(list, item) {
  const others = state[list].filter((each) => each !== item);
  state[list] = others.length < state[list].length ? others : [...others, item];
  ask();
}

function temper(head, t) {
  const others = Object.entries(state.temper).filter(([name]) => name !== head);
  state.temper = Object.fromEntries(t === 1 ? others : [...others, [head, t]]);
  ask();
}

async function save() {
  const picture = page.head.shadowRoot.querySelector(".ch");
  const changes = edited(shown).map(([edit]) => edit).join(", ");   // not what is being computed
  const caption = [`${page.title.textContent}: ${shown.text}`, changes, words.source].filter(Boolean).join(" · ");
  const href = URL.createObjectURL(await pngOf(picture, caption));
  Object.assign(node("a"), { href, download: `clearhead-${state.head}.png` }).click();
  setTimeout(URL.revokeObjectURL, 60_000, href);
}

// State how far the page's numbers are checked.
function verdict(sign, text, sentences = []) {
  page.verdict.textContent = `${sign} ${text}`;
  page.why.replaceChildren(...sentences.map((sentence) => node("p", undefined, "", sentence)));
  document.body.dataset.verdict = sign;
}

async function check() {
  const { count, compared, worst } = await model.checked, fine = worst <= ALLOWED;
  const error = worst.toExponential(0), allowed = ALLOWED.toExponential(0);
  computes = true;
  verdict(fine ? "✓" : "✗", fill(fine ? words.verified : words.refused, { error }), [
    fill(words.checked, { count, compared: compared.toLocaleString("en"), error, allowed }), words.rounding]);
  // a page in a frame may not be allowed to keep files; it then works as long as there is a network
  if (offline) navigator.serviceWorker?.register(offline).catch(() => {});
}

// Return the model's file: from the page, if it is one file, or from beside it.
async function load() {
  const mega = (bytes) => (bytes / 2 ** 20).toFixed(0);
  const report = (done) => verdict("◔", fill(words.recorded, { at: mega(done), of: mega(size) }));
  report(0);
  const bytes = await (page.model ? bytesIn(page.model) : fetched(file, size, report));
  verdict("◔", words.checking);
  return bytes;
}

// Show the sentence and the lens of the state, and ask.
function follow() {
  page.text.value = state.text;
  page.choices.replaceChildren(choices(words.choices, state, false, () => draw(shown)));
  ask();
}

function listen() {
  page.ask.onsubmit = (event) => {
    event.preventDefault();
    read(page.text.value);
  };
  page.swap.onclick = () => read(twinOf(state.text));
  page.silence.onclick = () => toggle("silence", state.head);
  page.hide.onclick = () => toggle("hide", state.token);
  page.png.onclick = save;
  page.temper.oninput = ({ target }) => { page.t.textContent = (2 ** target.value).toFixed(2); };
  page.temper.onchange = ({ target }) => temper(state.head, Number((2 ** target.value).toFixed(2)));
  addEventListener("hashchange", () => {
    Object.assign(state, readState(location.hash, first, forms));
    follow();
  });
}

/**
 * @param {Record<string, {mount: import("../js/component.js").Mount, css: string}>} components  by name
 */
export async function start({ token_strip, head_grid, head_view }) {
  for (const script of document.querySelectorAll("script.recorded")) {
    const answer = unpack(await bytesIn(/** @type {HTMLScriptElement} */ (script)));
    recorded.set(answer.text, answer);
  }
  components = { strip: token_strip, grid: head_grid, head: head_view };
  draw(recorded.get(state.text) ?? recorded.get(first.text));
  model = modelOf(await bytesIn(page.worker), load(), words);
  Object.assign(window, { clearhead: { ask: answered } });
  listen();
  follow();
  check().then(ask).catch((error) => verdict("✗", error.message));
}
