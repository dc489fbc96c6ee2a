// A lesson in a lecture room: a row of screens, one of them seen, each of a size with the window. A question is a
// screen, and so is every section; of a section first its lead and then its notices are seen, one at a time, under its
// picture. What is drawn stays where it is on the page: elements of the other screens are only not seen.
import { zoomOf } from "./shared.js";

const MAIN = "[data-testid=stMain]", BLOCK = "[data-testid=stMainBlockContainer] > [data-testid=stVerticalBlock]";
const SCREEN = "[class*='st-key-section-'], [class*='st-key-predict-'], [class*='st-key-screen-']";
const PROMPT = "[class*='st-key-predict-']", KEYS = ".st-key-presentation";
const TEXTS = "[class*='st-key-lead-'], [class*='st-key-notices-'] li";
const CHART = ".clearhead-chart";
const PROOF = "[class*='st-key-about-']";
const REVEAL = "[class*='st-key-reveal-'] button";
/** @type {string} */
export const TITLE = "title";
const EDGE = 0.04;   // of a screen's height
// in the page's own pixels, before it is enlarged: the window, of which 15, a letter, are 40 of 1,080; a chart's height
// at least, and where nothing is missing
const WIDE = 720, HIGH = 405, LEAST = 175, GOOD = 240;
const MOST = 1.2, LETTERS = 0.96;   // times as high as on a desk a chart is at most; its letters, of the page's

const nameOf = (element) => /st-key-(?:section|screen)-([\w-]+)|st-key-(predict-[\w-]+)/.exec(element.className)
  .slice(1).find(Boolean);
const seen = (element) => element.getClientRects().length > 0;

// The parts of a page in their order, each with the screen that begins with it, if one does: a container that is no
// screen itself, as of a fragment, is the parts in it.
function partsOf(block) {
  return [...block.children].filter((child) => !child.querySelector(KEYS)).flatMap((child) => {
    const own = child.matches(SCREEN) ? child : child.querySelector(`:scope > :is(${SCREEN})`);
    return !own && child.querySelector(SCREEN) ? partsOf(child) : [[child, own]];
  });
}

/**
 * The screens of a page in their order. Each {name, parts, spot, without}: spot is the only element in the parts that is
 * seen, where it is not all of them; a question that stands in a section is asked before it, alone.
 * @param {Element} block
 * @returns {{name: string, parts: Element[], spot?: Element, without?: Element[]}[]}
 */
export function screensOf(block) {
  const found = [];
  for (const [part, own] of partsOf(block)) {
    const prompts = own ? [...own.querySelectorAll(PROMPT)] : [];
    for (const spot of prompts) found.push({ name: nameOf(spot), parts: [part], spot });
    if (own) found.push({ name: nameOf(own), parts: [part], without: prompts.map(around) });
    else if (found.length) found.at(-1).parts.push(part);
    else found.push({ name: TITLE, parts: [part] });
  }
  return found;
}

// A question with all that there is only for it, as the column in which it stands.
function around(prompt) {
  let at = prompt;
  while (at.parentElement.children.length === 1 && !at.parentElement.matches(SCREEN)) at = at.parentElement;
  return at;
}

// The elements in a container that are not seen, where a screen is.
function unseen(container, { parts, spot, without = [] }) {
  const seen = spot ? [spot] : parts;
  const off = [...container.children].filter((child) => !seen.includes(child) && !child.querySelector(KEYS))
    .flatMap((child) => (seen.some((each) => child.contains(each)) ? unseen(child, { parts: seen }) : [child]));
  return [...off, ...without];
}

function mark(block, name, wanted) {
  for (const each of block.querySelectorAll(`[data-${name}]`)) if (!wanted.includes(each)) delete each.dataset[name];
  for (const each of wanted) each.dataset[name] = "";
}

/**
 * The page as a row of screens. tell({name, place, of}) is called when another one is seen. Gives what moves it.
 * @param {string | undefined} start  the screen, and the text on it after a dot
 * @param {(shown: {proof: boolean, name?: string, place: number, of: number}) => void} tell
 * @returns {{move: (by: number) => void, end: () => void, prove: () => void, first: () => void, last: () => void}}
 */
export function stage(start, tell) {
  const one = {}, block = () => document.querySelector(BLOCK);
  let waiting = 0, screens = [];

  // a screen that is not there yet, or no more, leaves one where one is
  const known = () => screens.findIndex((screen) => screen.name === one.name);
  const here = () => (known() < 0 ? Math.min(one.place ?? 0, screens.length - 1) : known());
  const texts = (screen) => screen.parts.flatMap((part) => [...part.querySelectorAll(TEXTS)])
    .filter((text) => !screen.spot && text.textContent.trim());

  function show() {
    waiting = 0;
    const page = block();
    if (!page) return;
    grow();
    screens = screensOf(page);
    const screen = shown(screens[here()]), said = screen ? texts(screen) : [];
    if (!screen) return;
    const step = Math.min(one.step, Math.max(0, said.length - 1));
    mark(page, "off", unseen(page, screen));
    mark(page, "way", way(screen.spot, page));
    mark(page, "text", said);
    const say = (text) => mark(page, "said", [text]);
    reserve(said, say);
    if (said.length) say(said[step]);
    fit(page);
    const proof = one.proof || !screen.spot && screen.parts.some((part) => part.querySelector(PROOF));
    if (known() >= 0) one.place = known();
    const seen = step ? `${screen.name}.${step}` : screen.name;
    tell({ proof, name: known() < 0 ? undefined : seen, place: here() + 1, of: screens.length });
  }

  // What proves a section is looked at alone: a formula needs the room.
  function shown(screen) {
    const spot = one.proof && screen?.parts.map((part) => part.querySelector(PROOF)).find(Boolean);
    return spot ? { ...screen, spot } : screen;
  }

  function turn(to) {
    const [name, step] = to.split(".");
    Object.assign(one, { name, step: +step || 0, proof: false });
    soon();
  }

  const soon = () => { waiting ||= requestAnimationFrame(show); };

  function go(to, step, proof = false) {
    const main = block().closest(MAIN);
    Object.assign(one, { name: screens[to].name, step, proof });
    if (one.at !== one.name) main.scrollTop = 0;
    one.at = one.name;
    show();
    if (step) block().querySelector("[data-said]")?.scrollIntoView({ block: "nearest" });
  }

  // What is not on the screen yet comes before the next one; the edge of a shadow or of a word beside a thumb is nothing.
  function scrolled(by) {
    const main = block().closest(MAIN), before = main.scrollTop;
    if (main.scrollHeight - main.clientHeight < EDGE * main.clientHeight) return false;
    main.scrollBy({ top: by * 0.7 * innerHeight });
    return Math.abs(main.scrollTop - before) > 8;
  }

  function move(by) {
    const at = here(), last = (screen) => Math.max(0, texts(screen).length - 1);
    const reveal = [...block().querySelectorAll(REVEAL)].find(seen);
    if (!screens[at]) return;
    if (one.proof && !scrolled(by)) prove();
    else if (one.proof) return;
    else if (by > 0 && reveal) reveal.click();
    else if (scrolled(by)) return;
    else if (0 <= one.step + by && one.step + by <= last(screens[at])) go(at, one.step + by);
    else if (screens[at + by]) go(at + by, by > 0 ? 0 : last(screens[at + by]));
  }

  const inside = new MutationObserver((changes) => {
    if (changes.some(({ target }) => !target.closest?.(`${CHART}, ${KEYS}`))) soon();
  });
  inside.observe(document.querySelector(MAIN), { childList: true, subtree: true });
  const sizes = new ResizeObserver(soon);
  sizes.observe(document.documentElement);
  if (block()) sizes.observe(block());
  turn(start);
  show();
  const end = () => {
    inside.disconnect();
    sizes.disconnect();
    cancelAnimationFrame(waiting);
    release();
  };
  const prove = () => go(here(), one.step, !one.proof);
  return { move, end, prove, turn, first: () => go(0, 0), last: () => go(screens.length - 1, 0) };
}

// Letters as large as the window bears.
function grow() {
  const { style } = document.documentElement, times = String(Math.min(innerWidth / WIDE, innerHeight / HIGH));
  if (style.getPropertyValue("--lecture") !== times) style.setProperty("--lecture", times);
}

const pixels = (element, ...names) => {
  const style = getComputedStyle(element);
  return names.reduce((sum, name) => sum + (parseFloat(style[name]) || 0), 0);
};

// Charts become as much higher or lower as the window has room left; what is still too high scrolls.
function fit(block) {
  const room = block.parentElement, times = zoomOf(block);
  const charts = [...block.querySelectorAll(CHART)].filter((each) => each.clientWidth);
  const rows = new Set(charts.map((each) => each.getBoundingClientRect().top)).size;
  const heights = (high) => charts.forEach((chart) => {
    chart.style.height = `${chart.dataset.tall = Math.round(Math.min(high, chart.dataset.high * MOST) * times)}px`;
    chart.dataset.times = LETTERS * times;
  });
  const left = () => pixels(room, "height") - pixels(room, "paddingTop", "paddingBottom") - pixels(block, "height");
  heights(GOOD);
  const before = left();
  heights(Math.max(LEAST, GOOD + before / rows));
  if (before < 0 && left() < before + 1) heights(GOOD);   // what stands beside them is higher
}

// Room for the tallest of texts of which one is seen at a time, so that nothing moves from one to the next. say(text)
// makes one the only one that is seen.
function reserve(texts, say) {
  for (const { style } of texts) style.minHeight = "";
  const heights = texts.map((each) => (say(each), pixels(each, "height")));
  for (const { style } of texts) style.minHeight = `${Math.max(...heights)}px`;
}

// Everything as on a desk again.
function release() {
  document.documentElement.style.removeProperty("--lecture");
  for (const each of ["off", "way", "text", "said", "tall", "times"]) {
    for (const element of document.querySelectorAll(`[data-${each}]`)) {
      element.style.minHeight = "";
      delete element.dataset[each];
    }
  }
}

// The elements between the only one that is seen and the page: they take its whole width.
function way(spot, page) {
  const found = [];
  for (let at = spot; at && at !== page; at = at.parentElement) found.push(at);
  return found;
}
