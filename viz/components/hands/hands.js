// The count for one answer, or the button that clears all counts. The tab stores them, so they survive a reload.
import { mountOnce } from "../js/lifecycle.js";
import { fill, node } from "../js/shared.js";
import { styles } from "../js/styles.js";

const NAME = "clearhead hands ", CHANGED = "clearhead-hands", KEY = "clearhead-hand", MOST = 9999;
const unstored = {};   // used if the browser has no storage

function read(question, answers) {
  let found = unstored[question];
  try {
    found = JSON.parse(sessionStorage.getItem(NAME + question)) ?? found;
  } catch {}   // storage is disabled, or the value is invalid
  return Array.from({ length: answers }, (_, at) => {
    const count = Array.isArray(found) ? found[at] : 0;
    return Number.isInteger(count) && count > 0 ? Math.min(count, MOST) : 0;
  });
}

function write(question, counts) {
  unstored[question] = counts;
  try {
    sessionStorage.setItem(NAME + question, JSON.stringify(counts));
  } catch {}   // storage is full or disabled: counts are lost on reload
  document.dispatchEvent(new CustomEvent(CHANGED));
}

function build(parent) {
  const root = node("div", "hands", undefined, parent), bar = node("div", "bar", undefined, root);
  const [fewer, count, more] = [["button", "fewer", "−"], ["span", "count", ""], ["button", "more", "+"]]
    .map((made) => node(...made, root));
  const clear = node("button", "clear", "", root);
  for (const each of [fewer, more, clear]) each.type = "button";
  count.setAttribute("role", "status");
  return { root, bar, fewer, count, more, clear };
}

function begin(parent) {
  const { root, bar, fewer, count, more, clear } = build(parent), one = {}, ended = new AbortController();
  let data;

  function show() {
    const { question, place, answers = 0, told, right, text } = data, counts = read(question, answers);
    const all = counts.reduce((sum, each) => sum + each, 0), own = counts[place] ?? 0, one = place !== undefined;
    root.classList.toggle("right", !!right);
    fewer.hidden = more.hidden = !one || told;
    bar.hidden = !told;
    count.hidden = !one || (told && !all);
    clear.hidden = one;
    clear.textContent = text.clear;
    fewer.disabled = !own;
    fewer.ariaLabel = fill(text.fewer, { answer: place + 1 });
    more.ariaLabel = fill(text.more, { answer: place + 1 });
    count.textContent = told && all ? `${own} · ${Math.round(100 * own / all)} %` : own;
    bar.style.setProperty("--share", all ? own / Math.max(...counts) : 0);
  }

  function add(by) {
    const counts = read(data.question, data.answers);
    counts[data.place] = Math.max(0, Math.min(MOST, counts[data.place] + by));
    write(data.question, counts);
  }

  more.onclick = () => add(1);
  fewer.onclick = () => add(-1);
  clear.onclick = () => write(data.question, []);
  document.addEventListener(CHANGED, show, { signal: ended.signal });
  document.addEventListener(KEY, ({ detail: { hand, by } }) => {
    if (hand === data.place && !data.told && root.getClientRects().length) add(by);
  }, { signal: ended.signal });
  one.update = (call) => {
    [data] = call.data;
    show();
  };
  one.end = () => {
    ended.abort();
    root.remove();
  };
  return one;
}

/** @returns {Promise<(call: object) => () => void>} the function that Streamlit calls */
export const hands = async () => mountOnce(begin, await styles("hands/hands.css"));
