// Draw a record in a notebook: all heads with the clicked one beside them, or a single head. Like a handout, it makes
// no requests; it receives the theme from the notebook around its iframe and sends its height.
import { bytesIn, choices, packed } from "../handout/figure.js";
import { header } from "../js/header.js";
import { node } from "../js/shared.js";

const read = (id) => JSON.parse(document.querySelector(id).textContent);

// Split concatenated messages, each of which is preceded by its length.
function several(bytes) {
  const found = [];
  for (let at = 0; at < bytes.length;) {
    const size = new DataView(bytes.buffer, bytes.byteOffset + at).getUint32(0, true);
    found.push(bytes.slice(at + 4, at + 4 + size));
    at += 4 + size;
  }
  return found;
}

function stageOf(parent, css) {
  const stage = parent.attachShadow({ mode: "open" });
  node("style", "", css, stage);
  return stage;
}

// Draw one kind of attention, with its grid and heads, in its own section.
async function kindOf(section, components, words) {
  const part = (name) => section.querySelector(`script.${name}`), views = [];
  const [first, heads] = await Promise.all(["state", "heads"].map((name) => bytesIn(part(name)))), bodies = several(heads);
  const numbers = JSON.parse(part("numbers").textContent), state = header(first);
  const all = section.querySelector(".all"), one = section.querySelector(".one"), hint = one.querySelector(".hint");
  let view;

  const bodyOf = (number) => bodies[numbers.indexOf(number)];
  const again = () => view.update(packed(state, first));

  // Open another head in the same lens with the same token in focus.
  function open(number) {
    const body = bodyOf(number);
    hint.hidden = Boolean(body);
    if (!body) hint.textContent = words.too_large;
    one.querySelector(".drawn").hidden = !body;
    if (!body) return;
    if (!view) begin(body);
    else view.update(body);
    one.querySelector("h2").textContent = nameOf(header(body).heads[0]);
  }

  const nameOf = ([layer, head]) => words.head.replace("{layer}", layer).replace("{head}", head);

  function begin(body) {
    const { rows, columns } = header(body), { css, mount } = components.head_view, keys = columns ?? rows;
    const { lens, scale, transpose } = words;
    one.querySelector(".drawn").append(choices({ lens, scale, transpose }, state, false, again), node("div", "live"));
    const stage = stageOf(one.querySelector(".live"), css);
    view = mount(stage, body, ({ token, pair }) => {
      state.focus = token === null ? null : rows.tokens.indexOf(token);
      state.pair = pair && [rows.tokens.indexOf(pair[0]), keys.tokens.indexOf(pair[1])];
    });
    view.update(first);
    views.push(again);
  }

  if (all) {
    const [body, how] = await Promise.all(["grid", "shown"].map((name) => bytesIn(part(name))));
    const { css, mount } = components.head_grid, grid = mount(stageOf(all, css), body, open);
    grid.update(how);
    views.push(() => grid.update(packed({ ...header(how), open: header(how).open }, how)));
  } else {
    open(numbers[0]);
  }
  return () => views.forEach((draw) => draw());
}

// Draw the buttons that choose a kind, if there is more than one.
function tabs(sections, kinds) {
  const bar = document.querySelector("nav"), buttons = [];
  const show = (at) => {
    sections.forEach((section, each) => { section.hidden = each !== at; });
    buttons.forEach((button, each) => button.setAttribute("aria-pressed", String(each === at)));
  };
  sections.forEach((section, at) => {
    const button = node("button", "", kinds[section.dataset.kind], bar);
    button.type = "button";
    button.addEventListener("click", () => show(at));
    buttons.push(button);
  });
  bar.hidden = sections.length < 2;
  show(0);
}

/**
 * @param {Record<string, {mount: import("../js/component.js").Mount, css: string}>} components  by name
 */
export async function start(components) {
  const words = read("#words"), sections = [...document.querySelectorAll("section")], root = document.documentElement;
  tabs(sections, words.kinds);
  const tell = () => parent.postMessage({ clearhead: root.dataset.frame, height: document.body.scrollHeight }, "*");
  let redraw = [];
  addEventListener("message", ({ data, source }) => {
    if (source !== parent || !data || typeof data.dark !== "boolean") return;
    root.dataset.theme = data.dark ? "dark" : "light";
    if (/^(rgba?\([\d., /%]+\)|#[0-9a-f]{3,8})$/i.test(data.paper)) root.style.setProperty("--page", data.paper);
    redraw.forEach((draw) => draw());
  });
  new ResizeObserver(tell).observe(document.body);
  redraw = await Promise.all(sections.map((section) => kindOf(section, components, words)));
  tell();
}
