// Draw a handout without a server: every figure's messages are embedded, the components' code and styles are passed in,
// and no requests are made.
import { header } from "../js/header.js";
import { node } from "../js/shared.js";
import { chart } from "./chart.js";
import { bytesIn, choices, packed } from "./figure.js";
import { fits, present } from "./present.js";
import { table } from "./table.js";

const words = JSON.parse(document.querySelector("#words").textContent);

// Store the reader's choices for an open head in its message, so that other lenses use them too.
function head(figure, body, state, update) {
  const { rows, columns, bound } = header(body), keys = columns ?? rows;
  const indexIn = (axis, token) => axis.tokens.indexOf(token);
  figure.prepend(choices(words, state, bound, update));
  return ({ token, pair, marks }) => {
    if (marks) {
      state.marking = false;
      return;
    }
    state.focus = token === null ? null : indexIn(rows, token);
    state.pair = pair && [indexIn(rows, pair[0]), indexIn(keys, pair[1])];
  };
}

async function component(figure, { mount, css }) {
  const name = figure.dataset.kind, stage = figure.querySelector(".live").attachShadow({ mode: "open" });
  const part = (each) => bytesIn(figure.querySelector(`script.${each}`));
  const [body, first] = await Promise.all(["body", "state"].map(part));
  const state = header(first), content = header(body), whole = name === "head_view";
  const chosen = whole && head(figure, body, state, () => view.update(packed(state, first)));
  node("style", "", css, stage);
  const view = mount(stage, body, whole ? chosen : (at) => content.layers && jump(figure, ...headAt(content, at)));
  view.update(first);
  const atHeight = (height) => packed({ ...content, height: height ?? content.height }, body);
  if (content.height) fits(figure, (height) => view.update(atHeight(height)));
}

// Return the layer and head of the thumbnail with this index.
function headAt({ layers, heads }, at) {
  for (const [row, count] of heads.entries()) {
    if (at < count) return [layers[row], at];
    at -= count;
  }
  return [];
}

// Show the head chosen in a grid, if the handout contains it for the same question.
function jump(from, layer, head) {
  const { question } = from.dataset;
  const found = document.querySelector(`figure[data-question="${question}"][data-head="${layer}.${head}"]`);
  if (found && question) found.scrollIntoView({ behavior: "smooth", block: "center" });
}

/**
 * @param {Record<string, {mount: import("../js/component.js").Mount, css: string}>} components  by name
 */
export function start(components) {
  const figures = [...document.querySelectorAll("figure[data-kind]")];
  const drawn = figures.map((figure) => {
    const { kind } = figure.dataset, own = { chart, table }[kind];
    return own ? own(figure) : component(figure, components[kind]);
  });
  Promise.all(drawn).finally(() => present(words));
}
