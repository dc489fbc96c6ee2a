// A thumb on a line over the words of its options. The server is told at once, then at most every PAUSE, and always
// of the last place.
import { mountOnce } from "../js/lifecycle.js";
import { styles } from "../js/styles.js";

const PAUSE = 80, PATIENCE = 20_000;

function add(parent, tag, attributes = {}) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  parent.append(made);
  return made;
}

function build(parent) {
  const root = add(parent, "div", { class: "slider" }), head = add(root, "div", { class: "head" });
  const label = add(head, "label", { for: "line" }), why = add(head, "button", { type: "button", class: "why" });
  const unheard = (parent, tag, name) => add(parent, tag, { class: name, "aria-hidden": true });
  const about = unheard(head, "span", "about"), said = unheard(root, "span", "said");
  const line = add(root, "input", { id: "line", type: "range", min: 0, step: 1 }), ends = unheard(root, "div", "ends");
  why.textContent = "?";
  return { root, label, why, about, said, line, first: add(ends, "span"), last: add(ends, "span") };
}

function begin(parent) {
  const { root, label, why, about, said, line, first, last } = build(parent), one = {};
  let data, words = [], told = -PAUSE, later, awaited, patience;

  function show() {
    const word = words[line.value];
    said.textContent = word;
    line.setAttribute("aria-valuetext", word);
    root.style.setProperty("--share", words.length > 1 ? line.value / (words.length - 1) : 0);
    root.style.setProperty("--wide", `${said.offsetWidth}px`);
  }

  function tell() {
    told = performance.now();
    later = undefined;
    // no two messages are equal: a change back and forth is two changes
    awaited = Math.max(Date.now(), (awaited ?? data.heard) + 1);
    one.send({ at: +line.value, word: words[line.value], count: awaited });
    clearTimeout(patience);
    patience = setTimeout(take, PATIENCE, true);
  }

  line.oninput = () => {
    show();
    const wait = told + PAUSE - performance.now();
    if (wait > 0) later ??= setTimeout(tell, wait);
    else if (!later) tell();
  };

  // What the server says; one that has not heard the last word yet must not pull the thumb back.
  function take(late = false) {
    if (later || (awaited !== undefined && data.heard !== awaited && !late)) return;
    clearTimeout(patience);
    awaited = undefined;
    words = data.words;
    line.max = words.length - 1;
    line.value = data.at;
    label.textContent = data.label;
    why.hidden = !data.help;
    about.textContent = data.help;
    why.setAttribute("aria-label", data.help);
    first.textContent = words[0];
    last.textContent = words.at(-1);
    show();
  }

  one.update = (call) => {
    [data] = call.data;
    one.send = (moved) => call.setStateValue("moved", moved);
    take();
  };
  one.end = () => {
    clearTimeout(later);
    clearTimeout(patience);
    root.remove();
  };
  return one;
}

export const slider = async () => mountOnce(begin, await styles("slider/slider.css"));
