// A plotly chart that is updated in place, with its tools. Streamlit's own chart is removed and rebuilt at several
// times the cost, and separate buttons would be redrawn whenever the page reruns. If the page's style enlarges its
// content, the chart is enlarged by a transform instead, because plotly misplaces the pointer under CSS zoom. While
// presenting (--present) it takes a share of the window.
import { mountOnce, styles } from "../js/lifecycle.js";
import { button, div, heightFor, node, zoomOf } from "../js/shared.js";

const STRIP = 36;       // pixels below a full-screen chart, for plotly's buttons (chart.css)
const SHARE = 0.5;      // share of the window's height that must be left for a chart alone on its page
const REST = 0.6;       // share of its own height that must fit on the screen; otherwise the chart gets the next screen
// while presenting: largest enlargement of the height; font size relative to the page's, but such that the smallest
// letters, of 11 pixels on a page, have at least 14
const MOST = 1.2, LETTERS = 0.84, LEGIBLE = 14 / 11;
const QUIET = 100;      // milliseconds without changes before invisible charts are drawn
// `click` is always the same function, because plotly rebuilds a chart for a new one
const FULL = {
  name: "full",
  icon: { width: 24, height: 24, path: "M3 3h7v3H6v4H3zM14 3h7v7h-3V6h-4zM3 14h3v4h4v3H3zM18 14h3v7h-7v-3h4z" },
  click: ({ parentElement: root }) => (document.fullscreenElement ? document.exitFullscreen() : root.requestFullscreen()),
};

let plotly, downloaded;   // downloaded: id of the last image

// Load plotly.js, a classic script that sets a global variable, for the first chart.
const loaded = (address) => (plotly ??= new Promise((resolve, reject) => {
  const script = node("script");
  script.onload = () => resolve(globalThis.Plotly);
  script.onerror = reject;
  script.src = address;
  document.head.append(script);
}));

function begin(address, parent) {
  const root = div(parent, "clearhead-chart");
  /** @type {HTMLElement & {on?: (event: string, act: (event: *) => void) => void}} plotly adds `on` */
  const plot = div(root, "plot");
  let data, tell, sent, times = 1, width, height, waits, seen, later, ended, listens, saves;

  const looked = (name) => parseFloat(getComputedStyle(root).getPropertyValue(name)) || 0;
  const presented = () => looked("--present"), most = () => MOST * data.layout.height * presented();
  const alone = () => looked("--picture-below");   // not set in lessons
  const tall = () => {
    if (!presented()) return data.layout.height * times;
    if (!alone()) return Math.min(most(), looked("--chart-share") * innerHeight);
    return Math.min(most(), heightFor(root, innerHeight, Math.min(SHARE * innerHeight, REST * most() / MOST)));
  };
  const filled = () => (document.fullscreenElement === root ? innerHeight - STRIP : tall());
  const enlarged = () => (presented() ? Math.max(LETTERS * presented(), LEGIBLE) : zoomOf(parent));
  const fit = () => {
    if (!root.clientWidth) return;
    if (waits) soon();   // the observer does not report charts below the visible part
    else if (width && (root.clientWidth !== width || filled() !== height || enlarged() !== times)) draw();
  };
  const sizes = new ResizeObserver(fit), views = new IntersectionObserver((entries) => {
    seen = entries.at(-1).isIntersecting;
    if (seen) soon();
  });
  sizes.observe(root);
  views.observe(root);
  root.addEventListener("fullscreenchange", fit);
  root.closest("details")?.addEventListener("toggle", fit);

  // Draw visible charts immediately and the others once nothing moves, using a timer, which every engine supports.
  // Folded charts are drawn when opened.
  function soon() {
    clearTimeout(later);
    if (!waits || root.closest("details:not([open])")) return;
    if (seen) draw();
    else later = setTimeout(draw, QUIET);
  }

  // Place the legend just above the rows of labels, at any plot height; plotly only supports a share of that height.
  function raised() {
    const { height: own, margin: { t, b }, legend } = data.layout, now = height / times - t - b;
    return legend?.y > 1 && now >= 1 ? { ...legend, y: 1 + (legend.y - 1) * (own - t - b) / now } : legend;
  }

  // Add a button to plotly's own. iPhones only support full screen for videos.
  const configured = () => ({ ...data.config,
    modeBarButtonsToAdd: document.fullscreenEnabled ? [{ ...FULL, title: data.text.full }] : [] });

  function enlarge() {
    const zoom = zoomOf(parent);
    times = enlarged();
    root.style.zoom = zoom === 1 ? "" : `${1 / zoom}`;
    // in a lesson it follows the share at once, so that a screen can be fitted before it is drawn
    root.style.height = presented() && !alone() ? `min(${most()}px, 100vh * var(--chart-share))` : `${tall()}px`;
  }

  async function draw() {
    const lib = await loaded(address).catch(() => { root.textContent = data.text.files_missing; });
    if (!lib || ended || !root.clientWidth) return;
    clearTimeout(later);
    waits = false;
    enlarge();
    [width, height] = [root.clientWidth, filled()];
    root.style.background = data.layout.paper_bgcolor;
    plot.style.transform = times === 1 ? "" : `scale(${times})`;
    const layout = { ...data.layout, legend: raised(), width: width / times, height: height / times };
    await lib.react(plot, data.data, layout, configured()).catch((error) => {
      if (!ended) throw error;   // plotly's last steps fail if the chart was removed while being drawn
    });
    if (ended) return;
    if (data.picks && !listens) for (const event of ["plotly_click", "plotly_selected"]) plot.on(event, pick);
    listens ||= data.picks;
    root.dataset.drawn = "";
  }

  // Report which points of the first series were clicked or selected.
  function pick(event) {
    const points = (event?.points ?? []).filter(({ curveNumber }) => !curveNumber);
    const picked = points.map(({ pointNumber }) => pointNumber);
    if (picked.length) tell("event", { picked });
  }

  function update(call) {
    ({ data, setTriggerValue: tell } = call);
    if (data.text.save) saves ??= button(div(parent, "clearhead-tools"), "save", data.text.save, () => tell("event", "save"));
    if (saves) saves.ariaExpanded = data.saving;
    if (data.image && data.image.id !== downloaded) {
      downloaded = data.image.id;
      loaded(address).then((lib) => lib.downloadImage(plot, data.image));
    }
    enlarge();
    [root.role, root.ariaLabel] = data.alt ? ["figure", data.alt] : [null, null];
    const now = JSON.stringify([data.data, data.layout]);
    if (now === sent) return;   // the page reran without changing the figure
    [sent, waits] = [now, true];
    delete root.dataset.drawn;
    soon();
  }

  function end() {
    ended = true;
    sizes.disconnect();
    views.disconnect();
    clearTimeout(later);
    globalThis.Plotly?.purge(plot);
  }
  return { update, end };
}

/**
 * @param {string} address  URL of plotly.js
 * @returns {Promise<(call: import("../js/lifecycle.js").Call) => () => void>} the function that Streamlit calls
 */
export async function chart(address) {
  return mountOnce((parent) => begin(address, parent), await styles("chart/chart.css", "chart/numbers.css"));
}
