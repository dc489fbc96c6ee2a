// A plotly chart that is updated in place, with its tools. Streamlit's own chart is removed and rebuilt at several
// times the cost, and separate buttons would be redrawn whenever the page reruns. If the page's style enlarges its
// content, the chart opts out and enlarges its text instead, because plotly would misplace the pointer. In lecture mode
// (--lecture) it takes a share of the window.
import { mountOnce } from "../js/lifecycle.js";
import { larger } from "../js/larger.js";
import { div, heightFor, node, zoomOf } from "../js/shared.js";
import { styles } from "../js/styles.js";

const STRIP = 36;       // pixels below a full-screen chart, for plotly's buttons (chart.css)
const SHARE = 0.5;      // share of the window's height in lecture mode
const REST = 0.6;       // share of its own height that must fit on the screen; otherwise the chart gets the next screen
// in lecture mode: largest enlargement of the height; font size relative to the page's
const MOST = 1.2, LETTERS = 0.96;
const QUIET = 100;      // milliseconds without changes before invisible charts are drawn
const FULL = { width: 24, height: 24, path: "M3 3h7v3H6v4H3zM14 3h7v7h-3V6h-4zM3 14h3v4h4v3H3zM18 14h3v7h-7v-3h4z" };

let plotly;

// Load plotly.js, a classic script that sets a global variable, for the first chart.
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

// Draw the buttons below a chart; `text` holds their labels.
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

// Place the legend just above the rows of labels, at any plot height; plotly only supports a share of that height.
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
    const alone = getComputedStyle(root).getPropertyValue("--picture-below");   // not set in lessons
    const most = heightFor(root, alone ? innerHeight : half, Math.min(half, REST * height * lecture()));
    return lecture() ? Math.min(most, MOST * height * lecture()) : height * one.times;
  };
  const fill = () => document.fullscreenElement === root ? innerHeight - STRIP : tall();
  const times = () => LETTERS * lecture() || zoomOf(parent);
  const fit = () => {
    if (!root.clientWidth) return;
    if (one.waits) soon();   // the observer does not report charts below the visible part
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

  // Draw visible charts immediately and the others once nothing moves, using a timer, which every engine supports.
  // Folded charts are drawn when opened.
  function soon() {
    clearTimeout(one.later);
    if (folded()) return;
    if (one.seen) {
      if (one.waits) draw();
    } else if (one.waits) one.later = setTimeout(draw, QUIET);
  }

  // Return the same object while its content is unchanged, because plotly rebuilds the chart for a new object.
  function configured(config) {
    const said = JSON.stringify(config);
    if (said !== one.said) {
      const title = one.data.text.full;
      const click = () => (document.fullscreenElement ? document.exitFullscreen() : root.requestFullscreen());
      const full = { name: "full", title, icon: FULL, click };   // iPhones only support full screen for videos
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
      if (!one.ended) throw error;   // plotly's last steps fail if the chart was removed while being drawn
    });
    if (one.ended) return;
    if (one.data.picks && !one.listens) {
      root.on("plotly_click", (event) => pick(event));
      root.on("plotly_selected", (event) => pick(event));
      one.listens = true;
    }
    root.dataset.drawn = "";
  }

  // Report which points of the first series were clicked or selected.
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
    if (sent === one.sent) return;   // the page reran without changing the picture
    one.sent = sent;
    one.waits = true;
    delete root.dataset.drawn;
    if (one.seen === undefined) {
      const { top, bottom } = root.getBoundingClientRect();
      one.seen = bottom > 0 && top < innerHeight;   // the observer reports it a frame later
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
 * @param {string} address  URL of plotly.js
 * @returns {Promise<(call: object) => () => void>} the function that Streamlit calls
 */
export async function chart(address) {
  return mountOnce((parent) => begin(address, parent), await styles("chart/chart.css", "chart/numbers.css"));
}
