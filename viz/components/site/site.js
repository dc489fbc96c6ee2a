// Clearhead in the browser: a sentence, all heads and the open one, first as recorded and then as this browser computes
// them. The folder's page, which viz/export/site/page.py writes, contains the recorded answers and the fixed texts.
import { bytesIn, choices, drawn } from "../handout/figure.js";
import { unpack } from "../js/messages.js";
import { button, clamp, div, fill, isolated, palette } from "../js/shared.js";
import { codesOf, gridBody, headBody, stripBody } from "./bodies.js";
import { fetched, modelOf } from "./model.js";
import { pngOf } from "./png.js";
import { REACH, readState, writeState } from "./state.js";

const ALLOWED = 1e-4;   // largest difference from PyTorch
const NARROW = 640, BESIDE = 72;   // pixels: of a window; of the sentence above a picture and the legend below it

/** @type {(name: string) => HTMLElement} */
const at = (name) => document.querySelector(`#${name}`);
const data = JSON.parse(at("data").textContent);
const { words, first, like, layers, heads, twin } = data;
const field = /** @type {HTMLInputElement} */ (at("text")), slider = /** @type {HTMLInputElement} */ (at("temper"));
const told = (number) => (number ? number.toExponential(0) : "0");
const exists = (head) => head.split(".").every((each, side) => Number(each) < [layers, heads][side]);
const numberOf = (head) => head.split(".").reduce((layer, own) => Number(layer) * heads + Number(own), 0);

const state = readState(location.hash, first, exists);
let shown, turn = 0, computes = false;
const recorded = new Map(), views = {};
const edits = () => ({ hide: state.hide, silence: state.silence, temper: state.temper });
const isEdited = () => state.hide.length + state.silence.length + Object.keys(state.temper).length > 0;
const nameOf = (token) => isolated(shown.texts[token] ?? "");

// The pictures' heights. A wide page fits its window or frame.
function heights() {
  if (innerWidth < NARROW) return { grid: 400, head: 400 };
  const under = at("below").offsetHeight + parseFloat(getComputedStyle(document.body).paddingBottom);
  const room = (name) => innerHeight - at(name).offsetTop - under;
  return { grid: clamp(room("grid") - at("edits").offsetHeight - 56, 140, 480), head: clamp(room("head") - BESIDE, 140, 640) };
}

const stateOf = () => ({ ...like.state, lens: state.lens, transpose: state.transpose, focus: state.token, pair: state.pair });
const gridState = () => ({ ...like.gridState, open: numberOf(state.head) });
const stripState = () => ({ part: "state", focus: state.token, pair: state.pair, pairs: true, chosen: state.token !== null });

function bodies() {
  const hidden = state.hide.map(nameOf).join(", "), notes = hidden ? [fill(words.note_hidden, { tokens: hidden })] : [];
  const { grid, head } = heights();
  return { strip: stripBody(like.strip, shown), grid: { ...gridBody(like.grid, shown), height: grid },
    head: { ...headBody({ ...like.head, all: { heads } }, shown, numberOf(state.head), notes), height: head } };
}

// Draw an answer, in new components the first time.
function draw(next) {
  shown = next;
  const inside = (token) => token < shown.texts.length;
  if (!inside(state.token)) state.token = null;
  if (!state.pair?.every(inside)) state.pair = null;
  state.hide = state.hide.filter(inside);
  const body = bodies(), parts = { strip: stripState(), grid: gridState(), head: stateOf() };
  for (const name of Object.keys(parts)) {
    views[name].update(body[name]);
    views[name].update(parts[name]);
  }
  mark();
}

// Draw what a click on a head or token changes, and what stands around the pictures.
function mark() {
  const [layer, head] = state.head.split(".");
  at("title").textContent = fill(words.head, { layer, head });
  at("silence").ariaPressed = String(state.silence.includes(state.head));
  at("hide").ariaPressed = String(state.hide.includes(state.token));
  at("hide").textContent = state.token === null ? words.hide_none : fill(words.hide, { token: nameOf(state.token) });
  /** @type {HTMLButtonElement} */ (at("hide")).disabled = state.token === null;
  const t = state.temper[state.head] ?? 1;
  slider.value = String(Math.log2(t));
  slider.ariaValueText = at("t").textContent = t.toFixed(2);
  const other = twinOf(state.text);
  at("swap").hidden = !other;
  markEdits();
  if (location.protocol !== "about:") history.replaceState(null, "", writeState(state, first));
  /** @type {HTMLAnchorElement} */ (at("link")).href = location.href;
}

// List what was changed in the model; a click undoes it.
function markEdits() {
  at("changes").replaceChildren(...(isEdited() ? [words.edits] : []));
  for (const [edit, undo] of edited()) {
    button(at("changes"), "", `${edit} ×`, undo).ariaLabel = fill(words.edit_undo, { edit });
  }
}

/** @returns {[edit: string, undo: () => void][]} */
function edited() {
  const found = [], named = (head) => head.replace(".", "·");
  const add = (edit, undo) => { found.push([edit, undo]); };
  for (const token of state.hide) add(fill(words.edit_hide, { token: nameOf(token) }), () => toggle("hide", token));
  for (const head of state.silence) add(fill(words.edit_silence, { head: named(head) }), () => toggle("silence", head));
  for (const [head, t] of Object.entries(state.temper)) {
    add(fill(words.edit_temper, { head: named(head), t: t.toFixed(2) }), () => temper(head, 1));
  }
  return found;
}

const twinOf = (text) => {
  const [found] = text.match(new RegExp(`\\b(?:${twin.join("|")})\\b`)) ?? [];
  return found && text.replace(found, found === twin[0] ? twin[1] : twin[0]);
};

let model;

// Ask what the state asks for, and draw it unless the state has changed meanwhile.
async function ask() {
  const mine = ++turn, known = recorded.get(state.text);
  mark();
  if (known && !isEdited() && !computes) return draw(known);
  at("news").textContent = computes ? words.computing : words.waits;
  document.body.classList.add("busy");
  const answer = await model.ask(state.text, edits());
  if (mine !== turn) return undefined;
  document.body.classList.remove("busy");
  at("news").textContent = answer.all ? words.grid_about : fill(words.too_long, answer);
  return answer.all && draw(shownOf(answer));
}

const shownOf = ({ text, tokens, all }) =>
  ({ text, texts: tokens.map((token) => token.text), flags: tokens.map(({ flags }) => flags), codes: codesOf(all) });

function read(text) {
  if (text === state.text) return;
  const same = text.split(" ").length === state.text.split(" ").length && twinOf(text) === state.text;
  Object.assign(state, { text }, same ? {} : { token: null, pair: null, hide: [] });
  field.value = text;
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

function open(number) {
  state.head = `${Math.floor(number / heads)}.${number % heads}`;
  views.grid.update(gridState());
  views.head.update(bodies().head);
  mark();
}

// Choose a token or a pair in one of the two components that show them; the other follows.
function choose({ token, pair }, other) {
  Object.assign(state, { token, pair });
  views[other].update(other === "strip" ? stripState() : stateOf());
  mark();
}

async function save() {
  const picture = /** @type {HTMLElement} */ (at("head").shadowRoot.querySelector(".ch")), { theme, ...colours } = palette(picture, like.head.colours);
  const changes = edited().map(([edit]) => edit).join(", ");
  const caption = [`${at("title").textContent}: ${state.text}`, changes, words.source].filter(Boolean).join(" · ");
  const address = URL.createObjectURL(await pngOf(picture, caption, colours));
  Object.assign(document.createElement("a"), { href: address, download: `clearhead-${state.head}-${theme}.png` }).click();
  setTimeout(URL.revokeObjectURL, 60_000, address);
}

function offerLenses() {
  const offered = { lens: words.lenses, scale: {}, transpose: words.transpose };
  at("choices").replaceChildren(choices(offered, state, false, (change) => {
    views.head.update(change);
    mark();
  }));
}

// Say what the page knows about its numbers: recorded, being checked, verified or not.
function verdict(sign, text, sentences = []) {
  at("verdict").textContent = `${sign} ${text}`;
  at("why").replaceChildren(...sentences.map((sentence) => Object.assign(div(), { textContent: sentence })));
  document.body.dataset.verdict = sign;
}

async function check() {
  verdict("◔", words.checking);
  const { count, weights, worst, most, mean, same } = await model.check(recorded), fine = worst <= ALLOWED;
  const error = told(worst), text = fill(fine ? words.verified : words.refused, { error });
  computes = true;
  verdict(fine ? "✓" : "✗", text, [
    fill(words.checked, { count, weights: weights.toLocaleString("en"), error, allowed: told(ALLOWED) }),
    fill(words.rounding, { most: most.toFixed(3), mean: mean.toFixed(4), same: `${(100 * same).toFixed(1)} %` })]);
}

// Return the model's file: inside the page if it is one file, else from beside it.
async function load() {
  const inside = /** @type {HTMLScriptElement} */ (at("model"));
  const mega = (bytes) => (bytes / 2 ** 20).toFixed(0);
  if (inside) return bytesIn(inside);
  const report = (at, of) => verdict("◔", fill(words.recorded, { at: mega(at), of: mega(of) }));
  report(0, data.size);
  return fetched(data.file, data.size, report);
}

// window.clearhead.ask: for tests and the curious.
async function asked(text, edits) {
  const { all, ...answer } = await model.ask(text, edits);
  if (!all) throw new Error(fill(words.too_long, answer));
  return answer;
}

function listen() {
  at("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    read(field.value);
  });
  at("swap").onclick = () => read(twinOf(state.text));
  at("silence").onclick = () => toggle("silence", state.head);
  at("hide").onclick = () => toggle("hide", state.token);
  at("png").onclick = save;
  slider.oninput = () => { at("t").textContent = (2 ** Number(slider.value)).toFixed(2); };
  slider.onchange = () => temper(state.head, Number((2 ** Number(slider.value)).toFixed(2)));
  addEventListener("resize", () => {
    const { grid, head } = heights();
    views.grid.update({ part: "body", height: grid });
    views.head.update({ part: "body", height: head });
  });
  addEventListener("hashchange", () => {
    Object.assign(state, readState(location.hash, first, exists));
    field.value = state.text;
    offerLenses();
    ask();
  });
}

/**
 * @param {Record<string, {mount: import("../js/component.js").Mount, css: string}>} components  by name
 */
export async function start({ token_strip, head_grid, head_view }) {
  for (const script of document.querySelectorAll("script.recorded")) {
    const { text, texts, flags, codes } = unpack(await bytesIn(/** @type {HTMLScriptElement} */ (script)));
    recorded.set(text, { text, texts, flags, codes: codes.values });
  }
  slider.min = String(-REACH);
  slider.max = String(REACH);
  field.value = state.text;
  shown = recorded.get(first.text);
  const body = bodies();
  views.strip = drawn(at("strip"), token_strip, body.strip, stripState(), (event) => choose(event, "head"));
  views.grid = drawn(at("grid"), head_grid, body.grid, gridState(), (event) =>
    (event.silence === undefined ? open(event) : toggle("silence", `${Math.floor(event.silence / heads)}.${event.silence % heads}`)));
  views.head = drawn(at("head"), head_view, body.head, stateOf(), (event) => choose(event, "strip"));
  offerLenses();
  listen();
  const loaded = load();
  model = modelOf(at("worker").textContent, loaded, heads);
  Object.assign(window, { clearhead: { ask: asked } });
  ask();
  try {
    await loaded;
    await check();
    ask();
    if ("serviceWorker" in navigator && data.offline) await navigator.serviceWorker.register(data.offline);
  } catch (error) {
    verdict("✗", fill(words.failed, { reason: error.message }));
  }
}
