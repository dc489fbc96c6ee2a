// Draw a handout without a server: every figure's messages are embedded, the components' code and styles are passed in,
// and no requests are made.
import { headsOf } from "../head_grid/layout.js";
import { header } from "../js/messages.js";
import { chart } from "./chart.js";
import { choices, drawn, messagesIn, tellHeight } from "./figure.js";
import { fits, present } from "./present.js";
import { table } from "./table.js";

const words = JSON.parse(document.querySelector("#words").textContent);

async function component(figure, own) {
  const [body, state] = await messagesIn(figure, "body", "state");
  const content = header(body), { height, bound } = content;
  const view = drawn(figure.querySelector(".live"), own, body, state,
    (at) => figure.dataset.kind === "head_grid" && jump(figure, headsOf(content)[at].join(".")));
  if (figure.dataset.kind === "head_view") figure.prepend(choices(words, header(state), bound, view.update));
  if (height) fits(figure, (room) => view.update({ part: "body", height: room ?? height }));
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
  /** @type {NodeListOf<HTMLElement>} */
  const figures = document.querySelectorAll("figure[data-kind]");
  const all = [...figures].map((figure) => {
    const { kind } = figure.dataset, own = { chart, table }[kind];
    return own ? own(figure) : component(figure, components[kind]);
  });
  Promise.all(all).finally(() => present(words));
  if (parent === window) return;
  tellHeight("");
  // the keys belong to the page around the frame, such as slides, unless something in it has the focus
  document.addEventListener("click", () => document.activeElement === document.body && parent.focus());
}
