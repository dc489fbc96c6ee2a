// Shared by the components: nodes, listeners, colours, positions, numbers, tooltip. No component stores anything here.

/**
 * @param {string} tag
 * @param {string} [name]  its classes
 * @param {string} [text]
 * @param {ParentNode} [parent]
 * @returns {HTMLElement}
 */
export function node(tag, name = "", text = undefined, parent = undefined) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  parent?.append(made);
  return made;
}

/**
 * @param {string} name  its classes
 * @param {ParentNode} [parent]
 * @returns {HTMLDivElement}
 */
export const div = (name, parent) => node("div", name, undefined, parent);

/**
 * The frame every component stands in: its root, its listeners and observers (all gone after end()), and a redraw
 * once a frame at most.
 * @param {HTMLElement | ShadowRoot} element
 * @param {string} name
 * @param {() => void} redraw
 * @returns {{root: HTMLDivElement, on: (target: EventTarget, type: string, act: (event: Event) => void,
 *   options?: object) => void, draw: () => void, end: () => void}}
 */
export function frame(element, name, redraw) {
  const root = div(`ch ${name}`, element), ended = new AbortController();
  let waiting = 0;
  const draw = () => {
    waiting ||= requestAnimationFrame(() => {
      waiting = 0;
      if (root.clientWidth) redraw();
    });
  };
  const sizes = new ResizeObserver(draw);
  sizes.observe(root);
  const { signal } = ended;
  const on = (target, type, act, options = {}) => target.addEventListener(type, act, { ...options, signal });
  on(matchMedia("(prefers-color-scheme: dark)"), "change", draw);
  const end = () => {
    cancelAnimationFrame(waiting);
    ended.abort();
    sizes.disconnect();
    root.remove();
  };
  return { root, on, draw, end };
}

/**
 * The red, green and blue of #rrggbb.
 * @param {string} colour
 * @returns {number[]}
 */
export const parts = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

// Return any CSS colour as #rrggbb, or nothing if it is transparent.
function hex(colour) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.fillStyle = "#00000000";
  pen.fillStyle = colour;
  return pen.fillStyle.startsWith("#") ? pen.fillStyle : undefined;
}

// Return a property of the page's theme, "" outside Streamlit.
const themed = (element, name) => getComputedStyle(element).getPropertyValue(name).trim();

function background(element) {
  for (let at = element; at; at = at.parentElement ?? at.getRootNode().host) {
    const colour = hex(themed(at, "--st-background-color") || getComputedStyle(at).backgroundColor);
    if (colour) return colour;
  }
  return "#ffffff";
}

/**
 * The theme's colours, by the background that is really there.
 * @param {HTMLElement} root
 * @param {object} colours  of viz/theme.py
 * @returns {{theme: "light" | "dark", ink: string, accent: string, paper: string,
 *   heads: string[], ramp: string[], gradient: string}}
 */
export function palette(root, colours) {
  const [r, g, b] = parts(background(root)), theme = 0.3 * r + 0.59 * g + 0.11 * b < 128 ? "dark" : "light";
  const ink = colours.ink[theme], paper = colours.paper[theme], ramp = colours.ramp[theme];
  const accent = themed(root, "--st-primary-color") || colours.accent;
  for (const [name, colour] of Object.entries({ ink, paper, accent })) root.style.setProperty(`--${name}`, colour);
  const heads = (colours.heads ?? []).map((each) => (each === "#000000" ? ink : each));
  return { theme, ink, accent, paper, heads, ramp, gradient: `linear-gradient(90deg, ${ramp.join()})` };
}

/**
 * How many times the page's style enlarges an element: a presentation does.
 * @param {Element} element
 * @returns {number}
 */
export function zoomOf(element) {
  let zoom = 1;
  for (let at = element; at; at = at.parentElement ?? at.getRootNode().host) zoom *= getComputedStyle(at).zoom;
  return zoom;
}

const LOWEST = 110, HEADING = 0.27;   // pixels; the share of a window that a picture's heading takes
let enlarges;

// Whether bounding boxes are in screen pixels. Safari before 26.4 returns an enlarged element's own pixels.
function boxesEnlarge() {
  if (enlarges === undefined) {
    const probe = div("", document.body);
    probe.style.cssText = "position: fixed; width: 1px; zoom: 2;";
    enlarges = probe.getBoundingClientRect().width === 2;
    probe.remove();
  }
  return enlarges;
}

/**
 * Where an element is in the window, and how many times it is enlarged there.
 * @param {Element} element
 * @returns {{left: number, top: number, bottom: number, zoom: number}}
 */
export function inWindow(element) {
  const box = element.getBoundingClientRect(), zoom = zoomOf(element), scale = boxesEnlarge() ? 1 : zoom;
  return { left: box.left * scale, top: box.top * scale, bottom: box.bottom * scale, zoom };
}

/**
 * How high a picture may be: what is left of the window under its top where the page gives it the rest of the screen
 * (--picture-below, pixels of what stands below it), else `wanted`.
 * @param {Element} element
 * @param {number} wanted
 * @param {number} [least]  of less that is left: the picture is below the first screen, and has a screen for itself
 * @returns {number} in the element's own pixels
 */
export function heightFor(element, wanted, least = LOWEST) {
  const below = parseFloat(getComputedStyle(element).getPropertyValue("--picture-below"));
  if (!below) return wanted;
  const { top, zoom } = inWindow(element);
  let scrolled = 0;
  for (let at = element; at; at = at.parentElement ?? at.getRootNode().host) scrolled += at.scrollTop;
  const left = (innerHeight - top - scrolled) / zoom - below;
  return left < least ? Math.min(wanted, (1 - HEADING) * innerHeight / zoom - below) : left;
}

/**
 * Where the pointer is inside an element, in the element's own pixels.
 * @param {Element} element
 * @param {PointerEvent} event
 * @returns {number[]} across and down
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
 * So many decimals, with a true minus, and none before what they round to 0.
 * @param {number} value
 * @param {number} digits
 * @returns {string}
 */
export const fixed = (value, digits) => minus(value.toFixed(digits).replace(/^-(?=[0.]+$)/, ""));
const minus = (written) => written.replace(/^-/, "−");

/**
 * A weight or a measure as people read it, in the very digits of viz/format.py format_weight(): three decimals, never
 * 0.000 for something that is not 0, and what lies in the middle of two (an odd number of sixteenths) to the even one.
 * @param {number} value
 * @returns {string}
 */
export function figure(value) {
  if (value !== 0 && Math.abs(value) < 0.0005) return minus(value.toExponential(1).replace(/-(\d)$/, "-0$1"));
  if (Math.abs((value * 16) % 2) !== 1) return fixed(value, 3);
  const below = Math.floor(Math.abs(value) * 1000);
  return fixed(Math.sign(value) * (below + (below % 2)) / 1000, 3);
}

/**
 * The same without the zeros of a round number, and with two digits that count, for legends.
 * @param {number} value
 * @returns {string}
 */
export function short(value) {
  const size = Math.abs(value);
  const written = size < 0.01 ? String(+value.toPrecision(2)) : size < 10 ? figure(value) : fixed(value, +(size < 100));
  return minus(written).replace(/\.0+$|(\.\d*?[1-9])0+$/, "$1");
}

/**
 * {name}, and {name:# head|# heads}: its first form for 1, the second for every other number (viz/text.py).
 * @param {string} text
 * @param {Record<string, string | number>} values
 * @returns {string}
 */
export const fill = (text, values) => text.replace(/\{(\w+)(?::([^{|}]*)\|([^{|}]*))?\}/g, (_, name, one, other) =>
  (one === undefined ? values[name] : (values[name] === 1 ? one : other).replace("#", values[name])));

/**
 * The tooltip: a title and rows of [label, value], beside the pointer and inside the window, above everything. It is
 * laid out once for each new text and then only moved; between two texts it stays open and unseen, because opening a
 * popover is dear.
 * @param {HTMLElement} root
 * @returns {{show: (x: number, y: number, head: string, rows: string[][]) => void, hide: () => void}}
 */
export function tooltip(root) {
  const tip = div("tip", root), title = node("b", "", "", tip), lines = [];
  let wide = 0, high = 0, said = "";
  tip.popover = "manual";
  tip.setAttribute("aria-hidden", "true");

  function line() {
    const made = node("div");
    return { made, name: node("span", "", "", made), value: node("span", "", "", made) };
  }

  function write(head, rows) {
    title.textContent = head;
    rows.forEach(([name, value], at) => {
      lines[at] ??= line();
      lines[at].name.textContent = name;
      lines[at].value.textContent = value;
    });
    tip.replaceChildren(title, ...rows.map((_, at) => lines[at].made));
    if (!tip.matches(":popover-open")) tip.showPopover();
    [wide, high] = [tip.offsetWidth, tip.offsetHeight];
  }

  function show(x, y, head, rows) {
    const text = head + rows;
    if (text !== said) write(head, rows);
    said = text;
    const zoom = zoomOf(tip), [across, down, right, low] = [x, y, innerWidth, innerHeight].map((each) => each / zoom);
    const left = across + 16 + wide > right - 8 ? Math.max(8, across - 16 - wide) : across + 16;
    const top = down + 16 + high > low - 8 ? Math.max(8, down - 16 - high) : down + 16;
    tip.style.transform = `translate(${left}px, ${top}px)`;
    tip.style.visibility = "visible";
  }

  const hide = () => { tip.style.visibility = "hidden"; };
  return { show, hide };
}
