// Draw a chart with the plotly embedded in the page.
import { larger } from "../js/larger.js";
import { fits } from "./present.js";

/** @param {HTMLElement} figure  contains the chart's specification */
export function chart(figure) {
  const stage = figure.querySelector(".live"), { data, layout } = JSON.parse(figure.querySelector("script.body").textContent);
  const config = { displaylogo: false, showSendToCloud: false, responsive: true, displayModeBar: false };
  globalThis.Plotly.newPlot(stage, data, { ...layout, autosize: true }, config).then(() => fits(figure, (height, zoom) => {
    const [drawn, round] = height ? [larger(data, zoom), larger(layout, zoom)] : [data, layout];
    globalThis.Plotly.react(stage, drawn, { ...round, autosize: true, height: height ? height * zoom : layout.height }, config);
  }));
}
