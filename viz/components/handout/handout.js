// Draw a handout without a server: every figure's messages are embedded, the components' code and styles are passed in,
// and no requests are made.
import { header } from "../js/header.js";
import { chart } from "./chart.js";
import { bytesIn, choices, stageOf } from "./figure.js";
import { fits, present } from "./present.js";

const words = JSON.parse(document.querySelector("#words").textContent);

async function component(figure, { mount, css }) {
  const part = (each) => bytesIn(figure.querySelector(`script.${each}`));
  const [body, state] = await Promise.all(["body", "state"].map(part)), { height, bound } = header(body);
  const stage = stageOf(figure.querySelector(".live"), css);
  const view = mount(stage, body, () => {});
  view.update(state);
  if (figure.dataset.kind === "head_view") figure.prepend(choices(words, header(state), bound, view.update));
  if (height) fits(figure, (room) => view.update({ part: "body", height: room ?? height }));
}

/**
 * @param {Record<string, {mount: import("../js/component.js").Mount, css: string}>} components  by name
 */
export function start(components) {
  const drawn = [...document.querySelectorAll("figure[data-kind]:not([data-kind=table])")].map((figure) => {
    const { kind } = figure.dataset;
    return kind === "chart" ? chart(figure) : component(figure, components[kind]);
  });
  Promise.all(drawn).finally(() => present(words));
}
