// Draw a handout without a server: every figure's messages are embedded, the components' code and styles are passed in,
// and no requests are made.
import { header } from "../js/messages.js";
import { chart } from "./chart.js";
import { bytesIn, choices, stageOf } from "./figure.js";
import { fits, present } from "./present.js";
import { table } from "./table.js";

const words = JSON.parse(document.querySelector("#words").textContent);

async function component(figure, { mount, css }) {
  const part = (each) => bytesIn(figure.querySelector(`script.${each}`));
  const [body, state] = await Promise.all(["body", "state"].map(part));
  const content = header(body), { height, bound } = content;
  const stage = stageOf(figure.querySelector(".live"), css);
  const view = mount(stage, body, (at) => figure.dataset.kind === "head_grid" && jump(figure, headAt(content, at)));
  view.update(state);
  if (figure.dataset.kind === "head_view") figure.prepend(choices(words, header(state), bound, view.update));
  if (height) fits(figure, (room) => view.update({ part: "body", height: room ?? height }));
}

// Return the name of the head whose thumbnail has this index.
function headAt({ layers, heads }, at) {
  return heads.flatMap((count, row) => Array.from({ length: count }, (_, head) => `${layers[row]}.${head}`))[at];
}

// Show the head chosen in a grid, if the handout contains it for the same question.
function jump(from, head) {
  const { question } = from.dataset;
  const found = question && document.querySelector(`figure[data-question="${question}"][data-head="${head}"]`);
  if (found) found.scrollIntoView({ behavior: "smooth", block: "center" });
}

/**
 * @param {Record<string, {mount: import("../js/component.js").Mount, css: string}>} components  by name
 */
export function start(components) {
  const drawn = [...document.querySelectorAll("figure[data-kind]")].map((figure) => {
    const { kind } = figure.dataset, own = { chart, table }[kind];
    return own ? own(figure) : component(figure, components[kind]);
  });
  Promise.all(drawn).finally(() => present(words));
}
