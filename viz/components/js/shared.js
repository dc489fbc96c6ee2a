// Helpers shared by the components: nodes, messages, listeners, colours, positions, numbers, tooltip. No component
// stores state here.
import { unpack } from "./messages.js";

/** @typedef {import("./messages.js").Message} Message */

/**
 * Create an HTML element.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {ParentNode} [parent]
 * @param {string} [name]  CSS classes
 * @param {string | number} [text]
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function node(tag, parent, name = "", text = "") {
  const made = document.createElement(tag);
  if (name) made.className = name;
  made.textContent = String(text);
  parent?.append(made);
  return made;
}

/**
 * @param {ParentNode} [parent]
 * @param {string} [name]  CSS classes
 * @param {string | number} [text]
 * @returns {HTMLDivElement}
 */
export const div = (parent, name, text) => node("div", parent, name, text);

/** @returns {HTMLElement} the part of Streamlit's window that scrolls a page */
export const mainOf = () => document.querySelector("[data-testid=stMain]");

/**
 * @param {ParentNode} [parent]
 * @param {string} [name]  CSS classes
 * @param {string | number} [text]
 * @returns {HTMLSpanElement}
 */
export const span = (parent, name, text) => node("span", parent, name, text);

/**
 * @param {ParentNode} [parent]
 * @param {string} [name]  CSS classes
 * @param {string | number} [text]
 * @param {() => void} [onclick]
 * @returns {HTMLButtonElement}
 */
export const button = (parent, name, text, onclick = null) =>
  Object.assign(node("button", parent, name, text), { onclick });

/**
 * @typedef {GlobalEventHandlersEventMap & Record<"clearhead-hands" | "clearhead-hand" | "clearhead-step", CustomEvent>} Events
 * @typedef {<Type extends keyof Events>(target: EventTarget, type: Type,
 *   act: (event: Events[Type] & {target: HTMLElement}) => void, options?: object) => void} On
 */
/**
 * @returns {{on: On, stop: () => void}} on: adds a listener; stop: removes all of them
 */
export function listeners() {
  const ended = new AbortController(), { signal } = ended;
  const on = (target, type, act, options) => target.addEventListener(type, act, { ...options, signal });
  return { on, stop: () => ended.abort() };
}

/**
 * Return a component's mount(): it creates the component in a root of its own, and passes on the first message and each
 * later one. Pages without a server pass objects: fields to change in the last body, or in the state.
 * @param {string} name
 * @param {(frame: {root: HTMLDivElement, on: On, draw: () => void, send: (event: *) => void}) => {
 *   build: (body: Message) => void, take?: (state: Message) => void, redraw?: (colours: Colours) => void,
 *   leave?: () => void}} create
 *   on: adds a listener until the end; draw: calls redraw with the result of palette(), at most once per frame and only
 *   once a message of every part has come
 * @returns {import("./component.js").Mount}
 */
export const framed = (name, create) => (element, bytes, send) => {
  const root = div(element, `ch ${name}`), { on, stop } = listeners();
  let waiting = 0, body, incomplete = true;
  root.style.visibility = "hidden";   // until the first drawing gives pictures their labels
  const draw = () => {
    waiting ||= requestAnimationFrame(() => {
      waiting = 0;
      if (!root.clientWidth || incomplete) return;
      const colours = palette(root, body.colours);   // also sets the style sheet's colours
      redraw?.(colours);
      root.style.visibility = "";
    });
  };
  const sizes = new ResizeObserver(draw);
  sizes.observe(root);
  on(matchMedia("(prefers-color-scheme: dark)"), "change", draw);
  const { build, take, redraw, leave } = create({ root, on, draw, send });

  function update(message) {
    const whole = message instanceof Uint8Array, read = whole ? unpack(message) : message;
    if (read.part === "body") build(body = whole ? read : { ...body, ...read });
    else take?.(read);
    incomplete &&= take && read.part === "body";
    draw();
  }

  function destroy() {
    leave?.();
    cancelAnimationFrame(waiting);
    stop();
    sizes.disconnect();
    root.remove();
  }
  update(bytes);
  return { update, destroy };
};

/**
 * Return red, green and blue of #rrggbb.
 * @param {string} colour
 * @returns {number[]}
 */
export const parts = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

/**
 * Return how bright a colour is, 0 to 255.
 * @param {number[]} rgb
 * @returns {number}
 */
export const brightness = ([red, green, blue]) => 0.3 * red + 0.59 * green + 0.11 * blue;

/**
 * The theme and its colours (#rrggbb), see COMPONENT in viz/style/theme.py.
 * @typedef {{theme: "light" | "dark", ink: string, paper: string, accent: string, masked: string, line: string,
 *   allowed: string, ramp: string[], signed: string[], heads: string[]}} Colours
 */

// Return the element and everything around it, across shadow roots.
function around(element) {
  const outer = element.parentElement ?? element.getRootNode().host;
  return outer ? [element, ...around(outer)] : [element];
}

/**
 * Return the colours of the theme, light or dark, that the text around the component has.
 * @param {HTMLElement} root
 * @param {Record<string, *>} colours  see COMPONENT in viz/style/theme.py
 * @returns {Colours}
 */
export function palette(root, colours) {
  const { color } = getComputedStyle(around(root)[1]);
  const theme = brightness(color.match(/[\d.]+/g).map(Number)) > 128 ? "dark" : "light";
  const own = /** @type {Colours} */ ({ theme });
  for (const [name, both] of Object.entries(colours)) own[name] = both[theme] ?? both;
  own.accent = getComputedStyle(root).getPropertyValue("--st-primary-color") || own.accent;
  for (const name of ["ink", "paper", "accent"]) root.style.setProperty(`--${name}`, own[name]);
  return own;
}

/**
 * Return the factor by which the page's style enlarges an element, as it does while presenting.
 * @param {Element} element
 * @returns {number}
 */
export const zoomOf = (element) => around(element).reduce((zoom, each) => zoom * Number(getComputedStyle(each).zoom), 1);

const LOWEST = 110, HEADING = 0.27;   // pixels; share of the window taken by a picture's heading
let enlarges;

// Return whether bounding boxes are in screen pixels. Safari before 26.4 uses an enlarged element's own pixels.
function boxesEnlarge() {
  if (enlarges === undefined) {
    const probe = div(document.body);
    probe.style.cssText = "position: fixed; width: 1px; zoom: 2;";
    enlarges = probe.getBoundingClientRect().width === 2;
    probe.remove();
  }
  return enlarges;
}

/**
 * Return an element's position in the window and its enlargement.
 * @param {Element} element
 * @returns {{left: number, top: number, bottom: number, zoom: number}}
 */
export function inWindow(element) {
  const box = element.getBoundingClientRect(), zoom = zoomOf(element), scale = boxesEnlarge() ? 1 : zoom;
  return { left: box.left * scale, top: box.top * scale, bottom: box.bottom * scale, zoom };
}

/**
 * Return a picture's height: the rest of the window below its top if the page sets --picture-below (pixels needed below
 * the picture), otherwise `wanted`.
 * @param {Element} element
 * @param {number} wanted
 * @param {number} [least]  if less is left, the picture is below the first screen and gets a screen of its own
 * @returns {number} in the element's own pixels
 */
export function heightFor(element, wanted, least = LOWEST) {
  const below = parseFloat(getComputedStyle(element).getPropertyValue("--picture-below"));
  if (!below) return wanted;
  const { top, zoom } = inWindow(element);
  const scrolled = around(element).reduce((sum, each) => sum + each.scrollTop, 0);
  const left = (innerHeight - top - scrolled) / zoom - below;
  return left < least ? Math.min(wanted, (1 - HEADING) * innerHeight / zoom - below) : left;
}

/**
 * Return what is at a point of the window, inside the same page or shadow root as an element.
 * @param {Element} element
 * @param {number} x
 * @param {number} y
 * @returns {HTMLElement | null}
 */
export function elementAt(element, x, y) {
  const around = /** @type {Document | ShadowRoot} */ (element.getRootNode());
  return /** @type {HTMLElement} */ (around.elementFromPoint(x, y));
}

/**
 * Return the pointer's position inside an element, in the element's own pixels.
 * @param {Element} element
 * @param {{clientX: number, clientY: number}} event
 * @returns {[number, number]} across and down
 */
export function within(element, event) {
  const { left, top, zoom } = inWindow(element);
  return [(event.clientX - left) / zoom, (event.clientY - top) / zoom];
}

/**
 * @param {HTMLElement} element
 * @param {number} x
 * @param {number} y
 * @param {number} [width]
 * @param {number} [height]
 */
export function place(element, x, y, width = undefined, height = undefined) {
  element.style.transform = `translate(${x}px, ${y}px)`;
  if (width !== undefined) element.style.width = `${width}px`;
  if (height !== undefined) element.style.height = `${height}px`;
  element.hidden = false;
}

/**
 * Format a number as Python does: with fixed decimals, exact ties rounded to even, and a true minus sign; numbers that
 * round to 0 have no sign.
 * @param {number} value
 * @param {number} digits
 * @returns {string}
 */
export function fixed(value, digits) {
  // a tie is an odd multiple of a power of two, which toFixed() would round away from zero
  const shift = 10 ** digits, tie = Math.abs(value * 2 ** (digits + 1) % 2) === 1;
  const even = tie ? 2 * Math.round(value * shift / 2) / shift : value;
  return minus(even.toFixed(digits).replace(/^-(?=[0.]+$)/, ""));
}
const minus = (written) => written.replace(/^-/, "−");

/**
 * Format a weight or measure with the same digits as format_weight() in viz/style/numbers.py: three decimals, but never
 * 0.000 for a nonzero number.
 * @param {number} value
 * @returns {string}
 */
export function figure(value) {
  if (value !== 0 && Math.abs(value) < 0.0005) return minus(value.toExponential(1).replace(/-(\d)$/, "-0$1"));
  return fixed(value, 3);
}

/**
 * @param {number} value
 * @param {number} low
 * @param {number} high
 * @returns {number}
 */
export const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

/**
 * Round to hundredths, without a negative zero.
 * @param {number} value
 * @returns {number}
 */
export const hundredth = (value) => Math.round(value * 100) / 100 + 0;

/**
 * Fill an element with a table.
 * @param {HTMLElement} parent
 * @param {string} caption
 * @param {string[][]} rows  the first cell of each is its header
 */
export function table(parent, caption, rows) {
  parent.replaceChildren();
  const made = node("table", parent);
  node("caption", made, "", caption);
  for (const [head, ...cells] of rows) {
    const row = node("tr", made);
    node("th", row, "", head).scope = "row";
    for (const cell of cells) node("td", row, "", cell);
  }
}

/**
 * Create a colour bar with ticks below.
 * @param {ParentNode} parent
 * @param {string} background
 * @param {[number, string][]} ticks  [share of the width, label]
 */
export function scaleBar(parent, background, ticks) {
  const scale = span(parent, "scale");
  span(scale, "bar").style.background = background;
  const below = span(scale, "ticks");
  for (const [at, text] of ticks) span(below, "", text).style.left = `${100 * at}%`;
}

/**
 * Fill {name} and plurals such as {name:# head|# heads}: the first form is for 1, the second for all other numbers
 * (viz/style/text.py).
 * @param {string} text
 * @param {Record<string, string | number>} values
 * @returns {string}
 */
export const fill = (text, values) => text.replace(/\{(\w+)(?::([^{|}]*)\|([^{|}]*))?\}/g, (_, name, one, other) =>
  (one === undefined ? values[name] : (values[name] === 1 ? one : other).replace("#", values[name])));

/**
 * Isolate a token with right-to-left letters, so that it cannot reorder the sentence around it.
 * @param {string} text
 * @returns {string}
 */
export const isolated = (text) => (/[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u
  .test(text) ? `\u2068${text}\u2069` : text);

/**
 * Create the tooltip: a title and rows of [label, value] beside the pointer, inside the window and above everything. It
 * is laid out only when its text changes, and hidden without being closed, because opening a popover is slow.
 * @param {HTMLElement} root
 * @returns {{show: (x: number, y: number, head: string, rows: string[][]) => void, hide: () => void,
 *   say: (text: string, rows?: string[][]) => void}} say: tells the same to screen readers
 */
export function tooltip(root) {
  const tip = div(root, "tip"), live = div(root, "unseen");
  let wide = 0, high = 0, said = "";
  Object.assign(tip, { popover: "manual", ariaHidden: "true" });
  live.ariaLive = "polite";

  function write(head, rows) {
    tip.replaceChildren();
    node("b", tip, "", head);
    for (const row of rows) {
      const line = div(tip);
      for (const text of row) span(line, "", text);
    }
    if (!tip.matches(":popover-open")) tip.showPopover();
    [wide, high] = [tip.offsetWidth, tip.offsetHeight];
  }

  function show(x, y, head, rows) {
    const text = head + rows, zoom = zoomOf(tip);
    if (text !== said) write(head, rows);
    said = text;
    const beside = (at, size, end) => (at + 24 + size > end ? Math.max(8, at - 16 - size) : at + 16);
    place(tip, beside(x / zoom, wide, innerWidth / zoom), beside(y / zoom, high, innerHeight / zoom));
    tip.style.visibility = "visible";
  }

  const hide = () => { tip.style.visibility = "hidden"; };
  const say = (text, rows = []) => { live.textContent = [text, ...rows.map((row) => row.join(" "))].join(", "); };
  return { show, hide, say };
}

/**
 * Create a token's element. Its text is isolated, so that right-to-left text cannot reorder its neighbours.
 * @param {string} text
 * @param {number} [flags]  sum of 1 (special), 2 (unknown) and 4 (joined)
 * @param {ParentNode} [parent]
 * @param {"bdi" | "span" | "button"} [tag]
 * @returns {HTMLElement}
 */
export const token = (text, flags, parent, tag = "bdi") => Object.assign(
  node(tag, parent, `token${flags & 1 ? " special" : ""}${flags & 2 ? " unknown" : ""}`, text),
  flags & 1 && { dir: "ltr" });   // the text around a special token takes its direction from the others

/**
 * Return the window position of a point inside an element, even if presenting enlarges the element.
 * @param {Element} element
 * @param {number} x
 * @param {number} y
 * @returns {number[]}
 */
export function pointOf(element, x, y) {
  const { left, top, zoom } = inWindow(element);
  return [left + x * zoom, top + y * zoom];
}
