// A handout without a server: every figure finds its messages beside it and its component on the shelf; nothing is asked of any machine.
import { header } from "../js/header.js";
import { node } from "../js/shared.js";
import { shelf } from "../js/code_registry.js";
import { chart } from "./chart.js";
import { fits, present } from "./present.js";
import { table } from "./table.js";

const LINE = 14, LETTER = 7.4;   // pixels of a token's name in a matrix
const words = JSON.parse(document.querySelector("#words").textContent);

// A message of a figure: zlib's format (RFC 1950) in base64.
async function bytesIn(figure, name) {
  const written = Uint8Array.from(atob(figure.querySelector(`script.${name}`).textContent), (sign) => sign.charCodeAt(0));
  return new Uint8Array(await new Response(new Blob([written]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer());
}

// A message anew with another header, before the same arrays, as wire.py packs it.
function packed(said, before) {
  const text = new TextEncoder().encode(JSON.stringify(said)), size = Math.ceil(text.length / 4) * 4;
  const arrays = before.subarray(4 + new DataView(before.buffer).getUint32(0, true)), message = new Uint8Array(4 + size + arrays.length).fill(32);
  new DataView(message.buffer).setUint32(0, size, true);
  message.set(text, 4);
  message.set(arrays, 4 + size);
  return message;
}

// The choices over an open head: lens, scale, and which side looks.
function choices(figure, state, signed, update) {
  const bar = node("div", "choices"), drawn = [];
  const offer = (field, value, text) => {
    const button = node("button", "", text, bar);
    button.type = "button";
    button.addEventListener("click", () => {
      state[field] = field === "transpose" ? !state.transpose : value;
      mark();
      update();
    });
    drawn.push([button, () => (field === "transpose" ? state.transpose : state[field] === value)]);
  };
  for (const field of signed ? [] : ["lens", "scale"]) for (const [value, text] of Object.entries(words[field])) offer(field, value, text);
  offer("transpose", true, words.transpose);
  const mark = () => drawn.forEach(([button, on]) => button.setAttribute("aria-pressed", String(on())));
  mark();
  figure.prepend(bar);
}

// What the reader chooses in an open head stays in its message, so that another lens shows it too.
function head(figure, body, state, update) {
  const { rows, columns, bound } = header(body), across = (columns ?? rows).texts, places = (axis, token) => axis.tokens.indexOf(token);
  figure.names = LINE * rows.texts.length + Math.min(112, 12 + LETTER * Math.max(...across.map(({ length }) => length)));
  choices(figure, state, bound, update);
  return ({ token, pair, marks }) => {
    if (marks) {
      state.marking = false;
      return;
    }
    state.focus = token === null ? null : places(rows, token);
    state.pair = pair && [places(rows, pair[0]), places(columns ?? rows, pair[1])];
  };
}

async function component(figure) {
  const name = figure.dataset.kind, stage = figure.querySelector(".live").attachShadow({ mode: "open" });
  const [body, first, { mount, css }] = await Promise.all([bytesIn(figure, "body"), bytesIn(figure, "state"), shelf(name).promise]);
  const state = header(first), said = header(body), whole = name === "head_view";
  const chosen = whole && head(figure, body, state, () => view.update(packed(state, first)));
  node("style", "", css, stage);
  const view = mount(stage, body, whole ? chosen : (at) => said.layers && jump(figure, ...placeOf(said, at)));
  view.update(first);
  if (said.height) fits(figure, (height) => view.update(packed({ ...said, height: height ?? said.height }, body)));
}

// The layer and the head of a thumbnail's number.
function placeOf({ layers, heads }, at) {
  for (const [row, count] of heads.entries()) {
    if (at < count) return [layers[row], at];
    at -= count;
  }
  return [];
}

// A head that is chosen in a grid is shown, if the handout holds it from the same question.
function jump(from, layer, place) {
  const found = document.querySelector(`figure[data-question="${from.dataset.question}"][data-head="${layer}.${place}"]`);
  if (found && from.dataset.question) found.scrollIntoView({ behavior: "smooth", block: "center" });
}

const drawn = [...document.querySelectorAll("figure[data-kind]")].map((figure) => ({ chart, table }[figure.dataset.kind] ?? component)(figure));
Promise.all(drawn).finally(() => present(words));   // a presentation asks how long the tokens' names are
