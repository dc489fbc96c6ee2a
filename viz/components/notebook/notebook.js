// Draw a record in a notebook: all heads with the clicked one beside them, or a single head. Like a handout, it makes
// no requests; it receives the theme from the notebook around its iframe and sends its height.
import { bytesIn, choices, stageOf } from "../handout/figure.js";
import { header } from "../js/messages.js";
import { fill, node } from "../js/shared.js";

const read = (id) => JSON.parse(document.querySelector(id).textContent);

// Draw one kind of attention, with its grid and heads, in its own section; return the function that redraws it.
async function kindOf(section, components, words) {
  const part = (name) => section.querySelector(`script.${name}`), views = [], state = await bytesIn(part("state"));
  const all = section.querySelector(".all"), one = section.querySelector(".one"), hint = one.querySelector(".hint");
  const nameOf = ([layer, head]) => fill(words.head, { layer, head });
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

/**
 * @param {Record<string, {mount: import("../js/component.js").Mount, css: string}>} components  by name
 */
export async function start(components) {
  const words = read("#words"), sections = [...document.querySelectorAll("section")], root = document.documentElement;
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
