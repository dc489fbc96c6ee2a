// The count for one answer, or the button that clears all counts. The tab stores them, so they survive a reload.
import { mountOnce, styles } from "../js/lifecycle.js";
import { button, clamp, div, span } from "../js/shared.js";
import { store, stored } from "../js/storage.js";

const NAME = "clearhead hands ", CHANGED = "clearhead-hands", KEY = "clearhead-hand", MOST = 9999;
const known = {};   // for a browser without storage

const read = (question, answers) => {
  const found = stored("sessionStorage", NAME + question) ?? known[question];
  return Array.from({ length: answers }, (_, at) => (found?.[at] > 0 ? Math.min(Math.floor(found[at]), MOST) : 0));
};

function write(question, counts) {
  known[question] = counts;
  store("sessionStorage", NAME + question, counts);
  document.dispatchEvent(new CustomEvent(CHANGED));
}

function begin(parent, _, on) {
  const root = div(parent, "hands"), bar = div(root, "bar"), count = span(root, "count");
  const clear = button(root, "clear", "", () => write(data.question, []));
  let data;
  count.role = "status";

  function show() {
    const { question, place, answers = 0, told, right, text } = data, counts = read(question, answers);
    const all = counts.reduce((sum, each) => sum + each, 0), own = counts[place] ?? 0, one = place !== undefined;
    root.classList.toggle("right", !!right);
    bar.hidden = !told;
    count.hidden = !one || (told && !all);
    clear.hidden = one;
    clear.textContent = text.clear;
    count.textContent = told && all ? `${own} · ${Math.round(100 * own / all)}%` : `${own}`;
    bar.style.setProperty("--share", `${all ? own / Math.max(...counts) : 0}`);
  }

  on(document, CHANGED, show);
  on(document, KEY, ({ detail: { hand, by } }) => {
    if (hand !== data.place || data.told || !root.getClientRects().length) return;
    const counts = read(data.question, data.answers);
    write(data.question, counts.with(hand, clamp(counts[hand] + by, 0, MOST)));
  });

  function update(call) {
    [data] = call.data;
    show();
  }
  return { update };
}

/** @returns {Promise<(call: import("../js/lifecycle.js").Call) => () => void>} the function that Streamlit calls */
export const hands = async () => mountOnce(begin, await styles("hands/hands.css"));
