// Draw a chart with the plotly embedded in the page. Heatmaps become vector shapes, which stay sharp in print and on
// projectors.
import { channels, pixels, STRUCK } from "../js/canvas.js";
import { larger } from "../js/larger.js";
import { clamp } from "../js/shared.js";
import { shape } from "../js/svg.js";
import { fits } from "./present.js";

const CELLS = 512 * 512;   // largest heatmap to convert
const SHADES = 1024;       // steps of a colour scale
const STRIKE = 8;          // smallest cell, in pixels, with a stroke if negative

/** @param {HTMLElement} figure  contains the chart's specification */
export function chart(figure) {
  /** @type {HTMLElement & {on: (event: string, act: () => void) => void}} */
  const stage = figure.querySelector(".live"), body = figure.querySelector("script.body");
  const plotly = globalThis.Plotly, { data, layout } = JSON.parse(body.textContent);
  const config = { displaylogo: false, showSendToCloud: false, responsive: true, displayModeBar: false };
  plotly.newPlot(stage, data, { ...layout, autosize: true }, config).then(() => {
    shapes(stage);
    stage.on("plotly_afterplot", () => shapes(stage));
    fits(figure, (height, zoom) => {
      const [drawn, round] = height ? [larger(data, zoom), larger(layout, zoom)] : [data, layout];
      plotly.react(stage, drawn, { ...round, autosize: true, height: height ? height * zoom : layout.height }, config);
    });
  });
}

function shapes(stage) {
  const maps = stage._fullData.filter(({ type }) => type === "heatmap");
  stage.querySelectorAll("g.hm > image").forEach((image, at) => {
    const { hoverinfo, z } = maps[at];
    if (z.length * z[0].length > CELLS) return;
    image.style.display = "none";
    if (hoverinfo !== "skip") vector(image, maps[at], stage._fullLayout);   // others are layers for the cells' text
  });
}

// Draw one path per colour, and strokes through negative cells if the scale is symmetric and no numbers are written.
function vector(image, { z, zmin, zmax, colorscale, xgap, ygap, texttemplate, xaxis, yaxis }, layout) {
  const [x, y, width, height] = ["x", "y", "width", "height"].map((name) => Number(image.getAttribute(name)));
  const rows = z.length, columns = z[0].length, wide = width / columns, high = height / rows, struck = [], paths = {};
  const axis = (name) => layout[name[0] + "axis" + name.slice(1)].range, [left, right] = axis(xaxis);
  const [bottom, top] = axis(yaxis), shades = pixels(colorscale.map(([, stop]) => stop), SHADES);
  const strikes = zmin === -zmax && !texttemplate && Math.min(wide, high) >= STRIKE;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const value = z.at(bottom > top ? row : -1 - row).at(left < right ? column : -1 - column);
      if (!Number.isFinite(value)) continue;
      const shade = shades[Math.round(clamp((value - zmin) / (zmax - zmin), 0, 1) * (SHADES - 1))];
      const across = x + column * wide, down = y + row * high;
      (paths[`rgb(${channels(shade)})`] ??= []).push(
        rectangle(across + xgap / 2, down + ygap / 2, wide - xgap, high - ygap));
      if (strikes && value < -STRUCK * zmax) struck.push(stroke(across, down, wide, high));
    }
  }
  image.parentNode.querySelector(".cells")?.remove();
  const cells = shape("g", { class: "cells" }, image.parentNode);
  for (const [fill, path] of Object.entries(paths)) shape("path", { d: path.join(""), fill, stroke: "none" }, cells);
  shape("path", { d: struck.join(""), stroke: "#000", "stroke-opacity": 0.5, fill: "none" }, cells);
  image.after(cells);
}

const short = (path) => path.replace(/\.(\d\d)\d+/g, ".$1");   // two decimals
const rectangle = (x, y, width, height) => short(`M${x} ${y}h${width}v${height}h${-width}z`);

// Draw the stroke through a negative cell, from lower left to upper right.
const stroke = (x, y, wide, high) => short(`M${x + wide / 4} ${y + 0.75 * high}l${wide / 2} ${-high / 2}`);
