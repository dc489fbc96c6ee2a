// Draw a record in a notebook: all heads with the clicked one beside them, or a single head. Like a handout, it makes
// no requests; it receives the theme from the notebook around its iframe and sends its height.
import { bytesIn, choices, stageOf } from "../handout/figure.js";
import { header } from "../js/messages.js";
import { node } from "../js/shared.js";

const read = (id) => JSON.parse(document.querySelector(id).textContent);

// Draw one kind of attention, with its grid and heads, in its own section; return the function that redraws it.
async function kindOf(section, components, words) {
  const part = (name) => section.querySelector(`script.${name}`), views = [], state = await bytesIn(part("state"));
  const all = section.querySelector(".all"), one = section.querySelector(".one"), hint = one.querySelector(".hint");
  const nameOf = ([layer, head]) => words.head.replace("{layer}", layer).replace("{head}", head);
  let view;

  function draw(name, parent, body, state, send) {
    const { css, mount } = components[name], view = mount(stageOf(parent, css), body, send);
    view.update(state);
    views.push(view);
    return view;
  }

  // Open another head in the same lens with the same token in focus.
  async function open(number) {
    const script = section.querySelector(`script[data-head="${number}"]`), drawn = one.querySelector(".drawn");
    hint.hidden = Boolean(script);
    drawn.hidden = !script;
    if (!script) return void (hint.textContent = words.too_large);
    const body = await bytesIn(script);
    if (view) view.update(body);
    else {
      drawn.append(choices(words, header(state), false, (change) => view.update(change)), node("div", "live"));
      view = draw("head_view", drawn.querySelector(".live"), body, state, () => {});
    }
    one.querySelector("h2").textContent = nameOf(header(body).heads[0]);
  }

  if (all) {
    const [body, shown] = await Promise.all(["grid", "shown"].map((name) => bytesIn(part(name))));
    draw("head_grid", all, body, shown, open);
  } else await open(0);
  return () => views.forEach((each) => each.update({ part: "body" }));
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
