// A screen of a lecture has the window's size: letters go with the window, charts take what they leave, and a picture
// that is still too tall becomes smaller. All sizes are in the page's own pixels, before it is enlarged.
import { zoomOf } from "./shared.js";

const WIDE = 720, HIGH = 405;         // the window in those pixels: 15 of them, a letter, are 40 of 1,080
const LEAST = 165, MOST = 1.3;        // height of a chart at least; times as high as on a desk at most
const SMALLEST = 0.6, TRIES = 7;      // times as large as it is a picture remains; halvings of a span
const CHART = ".clearhead-chart", PICTURE = ".stBidiComponent";
const OTHERS = "[class*='st-key-slider-'], [class*='st-key-hands-'], .st-key-presentation";

// Letters as large as the window bears; back: as on a desk again.
export function grow(back = false) {
  const { style } = document.documentElement, times = String(Math.min(innerWidth / WIDE, innerHeight / HIGH));
  if (back) {
    style.removeProperty("--lecture");
    for (const chart of document.querySelectorAll(CHART)) delete chart.dataset.tall;
  } else if (style.getPropertyValue("--lecture") !== times) style.setProperty("--lecture", times);
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

// Gives the charts and pictures of the screen the height that the window leaves.
export function fit(block) {
  const room = block.parentElement, tall = size(room, "height") - size(room, "paddingTop", "paddingBottom");
  const seen = (name) => [...block.querySelectorAll(name)].filter((each) => each.clientWidth);
  const charts = seen(CHART), pictures = seen(PICTURE).filter((each) => !each.closest(OTHERS)
    && !each.querySelector(CHART));
  const times = zoomOf(block), fits = () => size(block, "height") <= tall + 1;
  const heights = (share) => charts.forEach((chart) => {
    const high = Math.max(Math.min(LEAST, chart.dataset.high), chart.dataset.high * share);
    chart.style.height = `${chart.dataset.tall = Math.round(high * times)}px`;
  });
  const shrink = (zoom) => pictures.forEach(({ style }) => { style.zoom = zoom === 1 ? "" : zoom; });
  shrink(1);
  if (charts.length) heights(largest(0, MOST, (share) => (heights(share), fits())));
  if (!fits() && pictures.length) shrink(largest(SMALLEST, 1, (zoom) => (shrink(zoom), fits())));
}

// Room for the tallest of texts of which one is seen at a time, so that nothing moves from one to the next. say(text)
// makes one the only one that is seen.
export function reserve(texts, say) {
  for (const each of texts) each.style.minHeight = "";
  const heights = texts.map((each) => (say(each), size(each, "height")));
  for (const each of texts) each.style.minHeight = `${Math.max(...heights)}px`;
}
