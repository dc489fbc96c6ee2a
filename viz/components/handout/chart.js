// Draw a chart with the plotly embedded in the page. Heatmaps become vector shapes, which stay sharp in print and on
// projectors.
import { STRUCK } from "../js/canvas.js";
import { larger } from "../js/larger.js";
import { shape } from "../js/svg.js";
import { fits } from "./present.js";

const CELLS = 512 * 512;   // largest heatmap to convert
const STRIKE = 8;          // smallest cell, in pixels, with a stroke if negative

/** @param {HTMLElement} figure  contains the chart's specification */
export function chart(figure) {
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
    if (maps[at].hoverinfo === "skip") image.style.display = "none";   // a transparent layer for the cells' text
    else vector(image, maps[at], negative(stage, maps[at]));
  });
}

// Find the cells to strike through, by row and column from the top left: negative ones, if the scale is symmetric and
// no numbers are written.
function negative(stage, { z, zmin, zmax, texttemplate, xaxis, yaxis }) {
  if (zmin !== -zmax || texttemplate) return () => false;
  const axis = (name) => stage._fullLayout[name[0] + "axis" + name.slice(1)].range;
  const [left, right] = axis(xaxis), [bottom, top] = axis(yaxis);
  return (row, column) => z.at(bottom > top ? row : -1 - row).at(left < right ? column : -1 - column) < -STRUCK * zmax;
}

// Draw one path per colour, reading the colour from the middle of each cell.
function vector(image, { z, xgap, ygap }, negative) {
  const rows = z.length, columns = z[0].length, source = image.getAttribute("href") ?? image.getAttribute("xlink:href");
  const [x, y, width, height] = ["x", "y", "width", "height"].map((name) => Number(image.getAttribute(name)));
  const drawn = [x, y, width, height, source].join();
  if (rows * columns > CELLS || image.dataset.drawn === drawn) return;
  image.dataset.drawn = drawn;
  const picture = new Image();
  picture.onload = () => {
    const pen = new OffscreenCanvas(columns, rows).getContext("2d"), wide = width / columns, high = height / rows;
    const large = Math.min(wide, high) >= STRIKE, struck = [], paths = {};
    pen.imageSmoothingEnabled = false;
    pen.drawImage(picture, 0, 0, columns, rows);
    const { data } = pen.getImageData(0, 0, columns, rows);
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const [red, green, blue, cover] = data.subarray(4 * (row * columns + column));
        if (!cover) continue;
        const left = x + column * wide + xgap / 2, top = y + row * high + ygap / 2;
        (paths[`rgb(${red},${green},${blue})`] ??= []).push(rectangle(left, top, wide - xgap, high - ygap));
        if (large && negative(row, column)) struck.push(stroke(left, top, wide, high));
      }
    }
    image.parentNode.querySelector(".cells")?.remove();
    const cells = shape("g", { class: "cells" }, image.parentNode);
    for (const [fill, path] of Object.entries(paths)) shape("path", { d: path.join(""), fill, stroke: "none" }, cells);
    const strokes = { d: struck.join(""), stroke: "#000", "stroke-opacity": 0.5, fill: "none" };
    if (struck.length) shape("path", strokes, cells);
    image.after(cells);
    image.style.display = "none";
  };
  picture.src = source;
}

const short = (path) => path.replace(/\.(\d\d)\d+/g, ".$1");   // two decimals
const rectangle = (x, y, width, height) => short(`M${x} ${y}h${width}v${height}h${-width}z`);

// Draw the stroke through a negative cell, from lower left to upper right.
const stroke = (x, y, wide, high) => short(`M${x + wide / 4} ${y + 0.75 * high}l${wide / 2} ${-high / 2}`);
