// Draw a record in a notebook: all heads with the clicked one beside them, or a single head. Like a handout, it makes
// no requests; it receives the theme from the notebook around its iframe and sends its height.
import { bytesIn, choices, drawn, messagesIn, tellHeight } from "../handout/figure.js";
import { header } from "../js/messages.js";
import { div, fill } from "../js/shared.js";

const read = (id) => JSON.parse(document.querySelector(id).textContent);

// Draw one kind of attention, with its grid and heads, in its own section; return the function that redraws it.
async function kindOf(section, components, words) {
  const [state] = await messagesIn(section, "state"), { head_grid, head_view } = components;
  const all = section.querySelector(".all"), one = section.querySelector(".one"), hint = one.querySelector(".hint");
  let grid, view;

  // Open another head in the same lens with the same token in focus.
  async function open(number) {
    const script = section.querySelector(`script[data-head="${number}"]`), beside = one.querySelector(".drawn");
    hint.hidden = Boolean(script);
    beside.hidden = !script;
    if (!script) return void (hint.textContent = words.too_large);
    const body = await bytesIn(script);
    if (view) view.update(body);
    else {
      beside.append(choices(words, header(state), false, (change) => view.update(change)));
      view = drawn(div(beside, "live"), head_view, body, state, () => {});
    }
    const [layer, head] = header(body).heads[0];
    one.querySelector("h2").textContent = fill(words.head, { layer, head });
  }

  if (all) {
    const [body, shown] = await messagesIn(section, "grid", "shown");
    grid = drawn(all, head_grid, body, shown, open);
  } else await open(0);
  return () => [grid, view].forEach((each) => each?.update({ part: "body" }));
}

/**
 * @param {Record<string, {mount: import("../js/component.js").Mount, css: string}>} components  by name
 */
export async function start(components) {
  const words = read("#words"), sections = [...document.querySelectorAll("section")], root = document.documentElement;
  let redraw = [];
  addEventListener("message", ({ data, source }) => {
    if (source !== parent || !data || typeof data.dark !== "boolean") return;
    root.dataset.theme = data.dark ? "dark" : "light";
    if (CSS.supports("color", data.paper)) root.style.setProperty("--page", data.paper);
    redraw.forEach((draw) => draw());
  });
  tellHeight(words.frame);
  redraw = await Promise.all(sections.map((section) => kindOf(section, components, words)));
}
