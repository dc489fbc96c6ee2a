// A slider with its options' labels below. Sends moves while dragging.
import { onSteps, telling } from "../js/input.js";
import { mountOnce, styles } from "../js/lifecycle.js";
import { button, div, node, span } from "../js/shared.js";

const STOPS = 8;   // places at most at which a presentation stops in a film
const TOLD = { pause: 80, patience: 20_000 };   // milliseconds: see telling() in input.js

function begin(parent, _, on) {
  const root = div(parent, "slider"), head = div(root, "head"), label = node("label", head);
  const why = button(head, "why", "?"), about = span(head, "about"), said = span(root, "said");
  const line = Object.assign(node("input", root), { id: "line", type: "range", min: "0", step: "1" });
  const ends = div(root, "ends"), [first, last] = [0, 1].map(() => span(ends));
  let data, send, words = [], count = 0;
  label.htmlFor = "line";
  for (const unheard of [about, said, ends]) unheard.ariaHidden = "true";

  function show() {
    const word = words[line.value];
    said.textContent = word;
    line.ariaValueText = word;
    root.style.setProperty("--share", `${words.length > 1 ? +line.value / (words.length - 1) : 0}`);
    root.style.setProperty("--wide", `${said.offsetWidth}px`);
  }

  const told = telling(() => {
    // the count makes every message different, so a move and its reversal are both sent
    count = Math.max(Date.now(), count + 1, data.heard + 1);
    send({ at: +line.value, word: words[line.value], count });
    return count;
  }, { ...TOLD, late: follow });

  line.oninput = () => {
    show();
    told.tell();
  };

  // the keys of a presentation step through a film while its slider is visible
  onSteps(on, root, (by) => {
    const before = line.value;
    if (data.film) line.value = `${+before + by * Math.ceil((words.length - 1) / STOPS)}`;
    return line.value !== before && [show(), told.tell()];
  });

  // Apply the server's message.
  function follow() {
    words = data.words;
    line.max = `${words.length - 1}`;
    line.value = data.at;
    label.textContent = data.label;
    why.hidden = !data.help;
    about.textContent = data.help;
    why.ariaLabel = data.help;
    first.textContent = words[0];
    last.textContent = words.at(-1);
    show();
  }

  function update(call) {
    [data] = call.data;
    send = (moved) => call.setStateValue("moved", moved);
    if (told.takes(data.heard)) follow();
  }
  return { update, end: told.end };
}

/** @returns {Promise<(call: import("../js/lifecycle.js").Call) => () => void>} the function that Streamlit calls */
export const slider = async () => mountOnce(begin, await styles("slider/slider.css"));
