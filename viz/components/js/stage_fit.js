// A screen of a lecture has the window's size: letters go with the window, charts take what they leave, and a picture
// that is still too tall becomes smaller. All sizes are in the page's own pixels, before it is enlarged.
import { zoomOf } from "./shared.js";

const WIDE = 720, HIGH = 405;         // the window in those pixels: 15 of them, a letter, are 40 of 1,080
const LEAST = 175, GOOD = 240;        // height of a chart at least, and where there is room for it
const MOST = 1.2, LETTERS = 0.96;     // times as high as on a desk a chart is at most; its letters, of the page's
const SMALLEST = 0.7, TRIES = 7;      // times as large as they are controls remain; halvings of a span
const PICTURE = ".stBidiComponent", OTHERS = "[class*='st-key-slider-'], [class*='st-key-hands-']";
const CHART = ".clearhead-chart", TEXT = ":is([class*='st-key-lead-'], [class*='st-key-notices-'])";

// Letters as large as the window bears.
export function grow() {
  const { style } = document.documentElement, times = String(Math.min(innerWidth / WIDE, innerHeight / HIGH));
  if (style.getPropertyValue("--lecture") !== times) style.setProperty("--lecture", times);
}

// Everything as on a desk again.
export function release() {
  document.documentElement.style.removeProperty("--lecture");
  for (const chart of document.querySelectorAll(CHART)) {
    delete chart.dataset.tall;
    delete chart.dataset.times;
  }
  for (const { style } of document.querySelectorAll(`[style*="--small"], [data-text], ${PICTURE}`)) {
    for (const name of ["--small", "zoom", "min-height"]) style.removeProperty(name);
  }
}

// The largest of a span for which `fits` holds, or its smallest.
export function largest(low, high, fits) {
  let [from, to] = [low, high];
  for (let tried = 0; tried < TRIES; tried += 1) {
    const middle = (from + to) / 2;
    if (fits(middle)) from = middle;
    else to = middle;
  }
  return from;
}

const size = (element, ...names) => {
  const style = getComputedStyle(element);
  return names.reduce((sum, name) => sum + (parseFloat(style[name]) || 0), 0);
};

// What stands on a screen beside its heading and its texts: controls and pictures.
const around = (block) => [...block.querySelectorAll("[class*='st-key-section-'] > *")]
  .filter((each) => each.clientWidth && !each.querySelector("h3") && !each.querySelector(`:scope > ${TEXT}`));

// Gives what stands on the screen the height that the window leaves: first controls and pictures become smaller until
// the charts are as high as they should be, then pictures that are no charts, and the charts take the rest.
export function fit(block) {
  const room = block.parentElement, tall = size(room, "height") - size(room, "paddingTop", "paddingBottom");
  const charts = [...block.querySelectorAll(CHART)].filter((each) => each.clientWidth), times = zoomOf(block);
  const others = around(block);
  const fits = () => size(block, "height") <= tall + 1;
  const heights = (high) => charts.forEach((chart) => {
    chart.style.height = `${chart.dataset.tall = Math.round(Math.min(high, chart.dataset.high * MOST) * times)}px`;
    chart.dataset.times = LETTERS * times;
  });
  const shrink = (zoom) => {
    for (const { style } of others) {
      style.zoom = zoom;
      style.setProperty("--small", zoom);   // by which prose in it stays as large (viz/lecture.css)
    }
  };
  const pictures = others.flatMap((each) => [...each.querySelectorAll(PICTURE)])
    .filter((each) => each.clientWidth && !each.closest(OTHERS) && !each.querySelector(CHART));
  const reduce = (zoom) => pictures.forEach(({ style }) => { style.zoom = zoom; });
  shrink(1);
  reduce(1);
  heights(GOOD);
  if (!fits()) shrink(largest(SMALLEST, 1, (zoom) => (shrink(zoom), fits())));
  heights(LEAST);
  if (!fits()) reduce(largest(SMALLEST, 1, (zoom) => (reduce(zoom), fits())));
  if (!fits()) reduce(1);   // one scrolls in any case
  const limit = Math.max(tall, size(block, "height")) + 1;   // what stands beside a chart may be higher than the window
  if (charts.length) heights(largest(LEAST, tall, (high) => (heights(high), size(block, "height") <= limit)));
}

// Room for the tallest of texts of which one is seen at a time, so that nothing moves from one to the next. say(text)
// makes one the only one that is seen.
export function reserve(texts, say) {
  for (const each of texts) each.style.minHeight = "";
  const heights = texts.map((each) => (say(each), size(each, "height")));
  for (const each of texts) each.style.minHeight = `${Math.max(...heights)}px`;
}
