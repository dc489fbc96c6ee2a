// Draw a chart with the plotly embedded in the page.
import { div } from "../js/shared.js";
import { fits } from "./present.js";

const CONFIG = { displaylogo: false, showSendToCloud: false, responsive: true, displayModeBar: false };

/** @param {HTMLElement} figure  contains the chart's specification */
export function chart(figure) {
  /** @type {HTMLElement} */
  const live = figure.querySelector(".live");
  const plot = div(live, "plot"), plotly = globalThis.Plotly;
  const { data, layout } = JSON.parse(figure.querySelector("script.body").textContent);
  plotly.newPlot(plot, data, { ...layout, autosize: true }, CONFIG).then(() => fits(figure, (height, zoom) => {
    // not CSS zoom, under which plotly misplaces the pointer
    plot.style.cssText = `transform: scale(${zoom}); width: ${100 / zoom}%;`;
    live.style.height = height ? `${height * zoom}px` : "";
    plotly.react(plot, data, { ...layout, autosize: true, height: height ?? layout.height }, CONFIG);
  }));
}
