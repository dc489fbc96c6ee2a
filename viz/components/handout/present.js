// Presentation mode: one figure fills the screen with large text. P or #present in the URL starts it, arrow keys step,
// and Escape ends it.
import { SCREENS } from "../js/input.js";
import { clamp, div, fill } from "../js/shared.js";

const FRAME = 112, LEGEND = 76;   // pixels before enlargement: around picture and caption; above and below a picture
const WITHIN = "button, input, select, textarea, a, [role=application], [contenteditable]";

/** @typedef {HTMLElement & {fit?: Fit, room?: [height: number, zoom: number]}} Figure  with what a presentation needs
 * @typedef {(height: number | null, zoom: number) => void} Fit  height: null for its height on the page */
/**
 * Set the function that resizes a figure once it is drawn, and call it if the presentation has already begun.
 * @param {Figure} figure
 * @param {Fit} fit
 */
export function fits(figure, fit) {
  figure.fit = fit;
  if (figure.room) fit(...figure.room);
}

/** @param {{place: string}} words */
export function present(words) {
  /** @type {Figure[]} */
  const figures = [...document.querySelectorAll("figure")];
  const { classList } = document.body,
    place = div(document.body, "place");
  let at = 0;

  // A page inside a notebook's iframe has no URL of its own.
  function address(hash) {
    if (location.protocol !== "about:") history.replaceState(null, "", location.pathname + location.search + hash);
  }

  function show(next) {
    at = clamp(next, 0, figures.length - 1);
    figures.forEach((figure, here) => figure.classList.toggle("now", here === at));
    place.textContent = fill(words.place, { at: at + 1, of: figures.length });
    fit(figures[at]);
    address(`#present=${at + 1}`);
  }

  // Enlarge the text as far as the window's width allows, and the picture to the height left by the caption.
  function fit(figure) {
    const zoom = clamp(innerWidth / 720, 1, 2.4), legend = figure.dataset.kind === "chart" ? 0 : LEGEND;
    const beside = getComputedStyle(figure).flexDirection === "row";
    const room = innerHeight - (beside ? 0 : figure.querySelector("figcaption").offsetHeight) - FRAME;
    document.body.style.setProperty("--large", `${zoom}`);
    figure.room = [Math.max(120, Math.floor(room / zoom) - legend), zoom];
    figure.fit?.(...figure.room);
  }

  function begin(next) {
    classList.add("presenting");
    show(next);
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  }

  function stop() {
    classList.remove("presenting");
    for (const figure of figures.filter(({ room }) => room)) {
      figure.fit?.(null, 1);
      delete figure.room;
    }
    address("");
    figures[at]?.scrollIntoView({ block: "center" });
  }

  const nearest = () => figures.findIndex((figure) => figure.getBoundingClientRect().bottom > innerHeight / 3);

  document.addEventListener("keydown", (event) => {
    const [pressed] = /** @type {Element[]} */ (event.composedPath());
    const presenting = classList.contains("presenting"), inside = pressed.closest?.(WITHIN);
    const elsewhere = parent !== window && !presenting && document.activeElement === document.body;   // in a frame
    if (event.ctrlKey || event.metaKey || event.altKey || elsewhere) return;
    if (event.key.toLowerCase() === "p") presenting ? stop() : begin(nearest());
    else if (presenting && event.key === "Escape") stop();
    else if (presenting && !inside && SCREENS[event.key]) show(at + SCREENS[event.key]);
    else return;
    event.preventDefault();
  });
  addEventListener("resize", () => classList.contains("presenting") && fit(figures[at]));
  document.querySelector("#present")?.addEventListener("click", () => begin(nearest()));
  const asked = location.hash.match(/^#present(?:=(\d{1,3}))?$/);
  if (asked && figures.length) begin(Number(asked[1] ?? 1) - 1);
}
