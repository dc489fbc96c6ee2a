// A chart of plotly's, changed in place when its numbers change, and its tools. Streamlit's own is taken away and
// built anew, at several times the cost; and each of its buttons beside every chart would be drawn again with every
// run of the page. Where the page's style enlarges what stands on it, the chart passes that by and has larger letters
// instead: plotly would look for the pointer where it is not. In a lecture (--lecture) it takes a share of the window.
import { mountOnce } from "../js/lifecycle.js";
import { larger } from "../js/larger.js";
import { div, heightFor, node, zoomOf } from "../js/shared.js";
import { styles } from "../js/styles.js";

const STRIP = 36;       // pixels below a chart that fills the screen, for plotly's buttons (chart.css)
const SHARE = 0.5;      // of the window's height, a chart in a lecture
const REST = 0.6;       // of its own height, a chart that has the rest of a screen; with less it has the next screen
const MOST = 1.2, LETTERS = 0.96;   // in a lecture: times as high as elsewhere at most; its letters, of the page's
const QUIET = 100;      // milliseconds without a change after which a chart that nobody sees yet is drawn
const FULL = { width: 24, height: 24, path: "M3 3h7v3H6v4H3zM14 3h7v7h-3V6h-4zM3 14h3v4h4v3H3zM18 14h3v7h-7v-3h4z" };

let plotly;

// plotly.js from its address, when the first chart is drawn: a classic script, which lays itself on the window.
const loaded = (address) => (plotly ??= new Promise((resolve, reject) => {
  const script = node("script");
  script.onload = () => resolve(globalThis.Plotly);
  script.onerror = reject;
  script.src = address;
  document.head.append(script);
}));

const ICONS = {
  keep: "M3 6h12v2H3zm0 5h12v2H3zm0 5h7v2H3zm13-2h2v3h3v2h-3v3h-2v-3h-3v-2h3z",
  save: "M11 4h2v8h3l-4 4-4-4h3zM5 18h14v2H5z",
};
const ICON = `viewBox="0 0 24 24" width="18" height="18" aria-hidden="true"`;

// The buttons below a chart: `text` has the words of each.
function tools(parent, text, tell) {
  const row = div("clearhead-tools", parent);
  for (const [name, path] of Object.entries(ICONS)) {
    const button = node("button", name, undefined, row);
    button.innerHTML = `<svg ${ICON}><path fill="currentColor" d="${path}"/></svg>`;
    node("span", "", text[name], button);
    button.onclick = () => tell(name);
  }
  return row;
}

// A legend over rows of words stands where they end, however high the plot is: plotly takes a share of the plot.
function raised(layout, { data: { layout: { height, margin, legend } }, times, height: tall }) {
  const plot = height - margin.t - margin.b, now = tall / times - margin.t - margin.b;
  if (!(legend?.y > 1) || now < 1) return layout;
  return { ...layout, legend: { ...layout.legend, y: 1 + (legend.y - 1) * plot / now } };
}

function begin(address, parent) {
  const one = { root: div("clearhead-chart", parent) }, { root } = one;
  const lecture = () => +getComputedStyle(root).getPropertyValue("--lecture");
  const tall = () => {
    const { height } = one.data.layout, half = SHARE * innerHeight;
    const alone = getComputedStyle(root).getPropertyValue("--picture-below");   // no lesson
    const most = heightFor(root, alone ? innerHeight : half, Math.min(half, REST * height * lecture()));
    return lecture() ? Math.min(most, MOST * height * lecture()) : height * one.times;
  };
  const fill = () => document.fullscreenElement === root ? innerHeight - STRIP : tall();
  const times = () => LETTERS * lecture() || zoomOf(parent);
  const fit = () => {
    if (!root.clientWidth) return;
    if (one.waits) soon();   // shown below what is seen, of which the observer says nothing
    else if (!one.width) return;
    else if (root.clientWidth !== one.width || fill() !== one.height || times() !== one.times) draw();
  };
  const folded = () => root.closest("details:not([open])");
  const sizes = new ResizeObserver(fit);
  const views = new IntersectionObserver((entries) => {
    one.seen = entries.at(-1).isIntersecting;
    if (one.seen) soon();
  });
  sizes.observe(root);
  views.observe(root);
  root.addEventListener("fullscreenchange", fit);
  root.closest("details")?.addEventListener("toggle", fit);

  // What is on the screen first and at once, the rest when nothing moves: by a timer, which every engine has. What is
  // folded away is drawn when it is opened.
  function soon() {
    clearTimeout(one.later);
    if (folded()) return;
    if (one.seen) {
      if (one.waits) draw();
    } else if (one.waits) one.later = setTimeout(draw, QUIET);
  }

  // the same object as long as it says the same: plotly builds a chart anew under another one
  function configured(config) {
    const said = JSON.stringify(config);
    if (said !== one.said) {
      const title = one.data.text.full;
      const click = () => (document.fullscreenElement ? document.exitFullscreen() : root.requestFullscreen());
      const full = { name: "full", title, icon: FULL, click };   // an iPhone fills its screen with films alone
      const modeBarButtonsToAdd = document.fullscreenEnabled ? [full] : [];
      Object.assign(one, { said, config: { ...config, modeBarButtonsToAdd } });
    }
    return one.config;
  }

  function enlarge() {
    const zoom = zoomOf(parent);
    one.times = times();
    root.style.zoom = zoom === 1 ? "" : 1 / zoom;
    root.style.height = `${tall()}px`;
  }

  async function draw() {
    const lib = await loaded(address).catch(() => undefined), { data, layout, config, text } = one.data;
    if (!lib) root.textContent = text.files_missing;
    if (!lib || one.ended || !root.clientWidth) return;
    clearTimeout(one.later);
    one.waits = false;
    enlarge();
    [one.width, one.height] = [root.clientWidth, fill()];
    root.style.background = layout.paper_bgcolor;
    const size = { width: one.width, height: one.height }, round = raised(larger(layout, one.times), one);
    await lib.react(root, larger(data, one.times), { ...round, ...size }, configured(config)).catch((error) => {
      if (!one.ended) throw error;   // plotly's last steps miss a chart that was taken away while it was drawn
    });
    if (one.ended) return;
    if (one.data.picks && !one.listens) {
      root.on("plotly_click", (event) => pick(event));
      root.on("plotly_selected", (event) => pick(event));
      one.listens = true;
    }
    root.dataset.drawn = "";
  }

  // The points of the first series that were clicked, or inside the frame that was drawn.
  function pick(event) {
    const points = (event?.points ?? []).filter((each) => each.curveNumber === 0).map((each) => each.pointNumber);
    if (points.length) one.tell("event", { picked: points });
  }

  one.update = ({ data, setTriggerValue }) => {
    [one.data, one.tell] = [data, setTriggerValue];
    if (data.text.keep) one.tools ??= tools(parent, data.text, (name) => one.tell("event", name));
    one.tools?.querySelector(".save").setAttribute("aria-expanded", data.saving);
    enlarge();
    for (const [name, value] of Object.entries({ role: data.alt && "figure", "aria-label": data.alt })) {
      value ? root.setAttribute(name, value) : root.removeAttribute(name);
    }
    const sent = JSON.stringify([data.data, data.layout, data.config]);
    if (sent === one.sent) return;   // the page ran again and came to the same picture
    one.sent = sent;
    one.waits = true;
    delete root.dataset.drawn;
    if (one.seen === undefined) {
      const { top, bottom } = root.getBoundingClientRect();
      one.seen = bottom > 0 && top < innerHeight;   // the observer says it a frame later
    }
    soon();
  };
  one.end = () => {
    one.ended = true;
    sizes.disconnect();
    views.disconnect();
    clearTimeout(one.later);
    globalThis.Plotly?.purge(root);
    root.remove();
    one.tools?.remove();
  };
  return one;
}

/**
 * @param {string} address  of plotly.js
 * @returns {Promise<(call: object) => () => void>} what Streamlit calls
 */
export async function chart(address) {
  return mountOnce((parent) => begin(address, parent), await styles("chart/chart.css", "chart/numbers.css"));
}
