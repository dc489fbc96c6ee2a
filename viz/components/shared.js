// What the components share: nodes, listeners, colours, canvas, tooltip. No component keeps anything here.

export function node(tag, name = "", text = undefined, parent = undefined) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  parent?.append(made);
  return made;
}

// The frame every component stands in: its root, its listeners and observers (all gone after end()), and a redraw once a frame at most.
export function frame(element, name, redraw) {
  const root = node("div", `ch ${name}`, undefined, element), ended = new AbortController();
  let waiting = 0;
  const draw = () => {
    waiting ||= requestAnimationFrame(() => {
      waiting = 0;
      if (root.clientWidth) redraw();
    });
  };
  const sizes = new ResizeObserver(draw);
  sizes.observe(root);
  const on = (target, type, act, options = {}) => target.addEventListener(type, act, { ...options, signal: ended.signal });
  on(matchMedia("(prefers-color-scheme: dark)"), "change", draw);
  const end = () => {
    cancelAnimationFrame(waiting);
    ended.abort();
    sizes.disconnect();
    root.remove();
  };
  return { root, on, draw, end };
}

const parts = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

// Any CSS colour as #rrggbb, or nothing if it is transparent.
function hex(colour) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.fillStyle = "#00000000";
  pen.fillStyle = colour;
  return pen.fillStyle.startsWith("#") ? pen.fillStyle : undefined;
}

function background(element) {
  for (let at = element; at; at = at.parentElement ?? at.getRootNode().host) {
    const style = getComputedStyle(at), colour = hex(style.getPropertyValue("--st-background-color").trim() || style.backgroundColor);
    if (colour) return colour;
  }
  return "#ffffff";
}

// The theme's colours, by the background that is really there.
export function palette(root, colours) {
  const [r, g, b] = parts(background(root)), theme = 0.3 * r + 0.59 * g + 0.11 * b < 128 ? "dark" : "light";
  const ink = colours.ink[theme], accent = getComputedStyle(root).getPropertyValue("--st-primary-color").trim() || colours.accent;
  root.style.setProperty("--ink", ink);
  root.style.setProperty("--paper", colours.paper[theme]);
  root.style.setProperty("--accent", accent);
  const stops = colours.ramp[theme], heads = (colours.heads ?? []).map((each) => (each === "#000000" ? ink : each));
  return { theme, ink, accent, paper: colours.paper[theme], heads, ramp: stops, gradient: `linear-gradient(90deg, ${stops.join()})` };
}

// `steps` colours from the first stop to the last as 32-bit pixels.
export function pixels(stops, steps) {
  const out = new Uint32Array(steps), known = stops.map(parts);
  for (let i = 0; i < steps; i++) {
    const at = steps > 1 ? (i / (steps - 1)) * (known.length - 1) : 0, low = Math.min(Math.floor(at), known.length - 2);
    const mixed = [0, 1, 2].map((c) => Math.round(known[low][c] + (known[low + 1][c] - known[low][c]) * (at - low)));
    out[i] = (255 << 24) | (mixed[2] << 16) | (mixed[1] << 8) | mixed[0];
  }
  return out;
}

// Rows × columns of codes drawn into high × wide pixels. A pixel over several cells takes the largest, so that no strong weight disappears.
export function paint(codes, start, [rows, columns], colour, out, [high, wide]) {
  const from = new Int32Array(wide), to = new Int32Array(wide);
  for (let x = 0; x < wide; x++) {
    from[x] = Math.floor((x * columns) / wide);
    to[x] = Math.max(from[x] + 1, Math.floor(((x + 1) * columns) / wide));
  }
  for (let y = 0; y < high; y++) {
    const top = Math.floor((y * rows) / high), bottom = Math.max(top + 1, Math.floor(((y + 1) * rows) / high));
    for (let x = 0; x < wide; x++) {
      let most = 0;
      for (let r = top; r < bottom; r++) {
        const line = start + r * columns;
        for (let c = from[x]; c < to[x]; c++) if (codes[line + c] > most) most = codes[line + c];
      }
      out[y * wide + x] = colour[most];
    }
  }
}

// Sizes a canvas in CSS pixels, sharp on any screen and enlarged by any zoom of the page's style, and gives its pen.
export function canvasOf(canvas, width, height) {
  const ratio = (devicePixelRatio || 1) * zoomOf(canvas);
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  return canvas.getContext("2d");
}

// How many times the page's style enlarges an element: a presentation does.
function zoomOf(element) {
  let zoom = 1;
  for (let at = element; at; at = at.parentElement ?? at.getRootNode().host) zoom *= getComputedStyle(at).zoom;
  return zoom;
}

let enlarges;

// Whether boxes are given as they are on the screen. Safari before 26.4 gives those of an enlarged element in its own pixels.
function boxesEnlarge() {
  if (enlarges === undefined) {
    const probe = node("div", "", undefined, document.body);
    probe.style.cssText = "position: fixed; width: 1px; zoom: 2;";
    enlarges = probe.getBoundingClientRect().width === 2;
    probe.remove();
  }
  return enlarges;
}

// Where an element is in the window, and how many times it is enlarged there.
export function inWindow(element) {
  const box = element.getBoundingClientRect(), zoom = zoomOf(element), scale = boxesEnlarge() ? 1 : zoom;
  return { left: box.left * scale, top: box.top * scale, bottom: box.bottom * scale, zoom };
}

// Where the pointer is inside an element, in the element's own pixels.
export function within(element, event) {
  const { left, top, zoom } = inWindow(element);
  return [(event.clientX - left) / zoom, (event.clientY - top) / zoom];
}

export function place(element, x, y, width = undefined, height = undefined) {
  element.style.transform = `translate(${x}px, ${y}px)`;
  if (width !== undefined) element.style.width = `${width}px`;
  if (height !== undefined) element.style.height = `${height}px`;
  element.hidden = false;
}

// A weight or a measure as people read it: three decimals, and never 0.000 for something that is not 0.
export function figure(value) {
  const size = Math.abs(value);
  if (value === 0 || size >= 100) return value.toFixed(0);
  return size < 0.0005 ? value.toExponential(1) : value.toFixed(size < 10 ? 3 : 1);
}

// The same without the zeros of a round number, and with two digits that count, for legends.
export const short = (value) => (Math.abs(value) < 0.01 ? `${+value.toPrecision(2)}` : figure(value).replace(/\.0+$|(\.\d*?[1-9])0+$/, "$1")).replace(/^-/, "−");

export const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

// The tooltip: a title and rows of [label, value], beside the pointer and inside the window, above everything. It is laid out once for each
// new text and then only moved; between two texts it stays open and unseen, because opening a popover is dear.
export function tooltip(root) {
  const tip = node("div", "tip", undefined, root), title = node("b", "", "", tip), lines = [];
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
