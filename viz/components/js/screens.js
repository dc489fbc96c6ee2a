// A presented page: a sequence of screens, one of them visible. In a lesson, each section is a screen, whose texts are
// shown one at a time in the order that the page states (viz/widgets/lesson.py): its question beside the picture, then
// what to notice below it, then its formula alone. Other pages have a single screen. Elements are not moved: this module
// marks the visible ones, and present.css hides the rest.
import { clamp, inWindow, mainOf } from "./shared.js";

const BLOCK = "[data-testid=stMainBlockContainer] > [data-testid=stVerticalBlock]";
const PROMPT = "[class*='st-key-predict-']", KEYS = ".st-key-presentation", CHART = ".clearhead-chart";
const SCREEN = `[class*='st-key-section-'], [class*='st-key-screen-'], ${PROMPT}`;
const PROOF = "[class*='st-key-about-']", CODE = `${PROOF}:not(:has(.katex))`, REVEAL = "[class*='st-key-reveal-'] button";
/** @type {string} */
export const TITLE = "title";
const WIDE = 720, HIGH = 405;   // the window in a lesson's own pixels, before enlarging
const SINGLE = 0.88;            // scale of a page that is not split into screens
const SETTLED = 500;            // ms until charts have settled
const EDGE = 0.04;              // share of a screen's height: overhang of a shadow or of a slider's label
const MOST = 0.6;               // share of the window's height that a lesson's charts take
// what a screen gives up, in this order, until it fits: the least share of its charts, and its least enlargement
const GIVEN_UP = [[0.45, 1], [0.45, 0.85], [0.3, 0.85], [0.3, 0.76], [0.25, 0.64]];
const ASKED = [[0.55, 1], [0.55, 0.7], [0.25, 0.64]];   // beside a question, whose answers are what is too high
const WHOLE = 1.01;             // height of what hangs over at most: a margin
const LINE = 26;                // height of the bottom line in pixels
const IDLE = "[class*='st-key-idle-']";   // in a section that shows nothing until it is started, or only switches
const PARTS = "[data-testid=stElementContainer]", COLUMN = "[data-testid=stColumn]";
const SECTION = "[class*='st-key-section-']", CHARTED = `${SECTION}:has(${CHART})`;
const ROWS = `:is(${SECTION}, ${SECTION} ${COLUMN} > div)`;   // of controls
// what present.css tells apart by its content. With :has() in the style sheet, the browser would compute the styles of the
// whole page again after each change of a chart, of which plotly makes hundreds
const MARKS = {
  keys: `:has(${KEYS})`,
  figure: `${SECTION} > :not(:has(h3, > [class*='st-key-lead-'], > [class*='st-key-notices-']))`,
  control: `${ROWS} > :has(button, [type=checkbox]):not(:has(${COLUMN}, ${CHART}, [class*='st-key-slider-']))`,
  field: `${ROWS} > :has(> div > label ~ div [type=text])`,
  charts: CHARTED,
  repeated: `${CHARTED} > :has(table):not(:has(${CHART})), `
    + `${CHARTED} > * > * > :has(table):not(:has(${CHART}), ${COLUMN})`,
  empty: `${SECTION} ${COLUMN}:not(:has(* *))`,
  aside: `${COLUMN}:has(> * > * > [class*='st-key-aside-'])`,
  column: `:has(> * > * > ${PROMPT})`,
  story: ":has(.st-key-story)",
  untold: `[data-asking] + :not(:has(${PARTS}:not([class*='st-key-lead-'] *)))`,
};

/**
 * Return the name of a section, another screen or a question.
 * @param {Element} element
 * @returns {string}
 */
export const nameOf = (element) => /st-key-(?:section-|screen-)?([\w-]+)/.exec(element.className)[1];

// Return the parts of a page in order, each with the screen that it contains, if any. A container that is not itself a
// screen, such as a fragment's, is replaced by its parts.
function partsOf(block) {
  return [...block.children].filter((child) => !child.querySelector(KEYS)).flatMap((child) => {
    const own = child.matches(SCREEN) ? child : child.querySelector(`:scope > :is(${SCREEN})`);
    return !own && child.querySelector(SCREEN) ? partsOf(child) : [[child, own]];
  });
}

/**
 * Return a page's screens in order.
 * @param {Element} block
 * @returns {{name: string, seen: HTMLElement[]}[]}
 */
function screensOf(block) {
  const screens = [];
  for (const [part, own] of partsOf(block)) {
    if (part.querySelector(IDLE)) continue;
    if (own) screens.push({ name: nameOf(own), seen: [own] });
    else if (screens.length) screens.at(-1).seen.push(part);
    else screens.push({ name: TITLE, seen: [part] });
  }
  return screens;
}

/**
 * Give these elements, and no others, a data attribute.
 * @param {string} name
 * @param {Element[]} wanted
 */
export function mark(name, wanted) {
  for (const each of document.querySelectorAll(`[data-${name}]`)) {
    if (!wanted.includes(each)) each.removeAttribute(`data-${name}`);
  }
  for (const each of wanted) each.setAttribute(`data-${name}`, "");
}

// Return what contains these elements, up to the page's block.
function around(elements) {
  const found = [];
  for (let { parentElement: at } of elements) for (; at?.closest(BLOCK); at = at.parentElement) found.push(at);
  return found;
}

/**
 * Show a page as a sequence of screens; return the functions that move between them.
 * @param {string} start  name of the first screen, and the step on it after a dot
 * @param {{lesson: string[], only: string}} how  lesson: the texts of a screen in order, by the first word of their
 *   keys; none if the page is a single screen. only: the screen to show, or ""
 * @param {(shown: {proof: boolean, name?: string, place: number, of: number, whole: boolean}) => void} tell  called for
 *   each new screen; whole: whether the page is there
 * @returns {{move: (by: number) => boolean | void, turn: (to: string) => void, end: () => void, prove: () => void,
 *   first: () => void, last: () => void}}
 */
export function present(start, { lesson, only }, tell) {
  const main = mainOf(), fits = new Map(), style = document.documentElement.style;
  let name, step, later, place = 0, waiting = 0, screens = [];

  const within = (screen, what) => screen.seen.flatMap((each) => [...each.querySelectorAll(what)]);
  // How a screen is laid out with this text.
  const layoutOf = (text) => [PROMPT, PROOF].find((each) => text?.matches(each));

  function texts(screen) {
    const all = lesson.flatMap((part) =>
      within(screen, `[class*='st-key-${part}-']${part === "notices" ? " li" : ""}`));
    const told = all.filter((text) => text.textContent.trim());
    // a picture without any text below it has its empty lead
    return told.every(layoutOf) ? all : told;
  }

  const named = (screen, to) => screen.name === to || within(screen, `.st-key-${to}`).length;

  function show() {
    if (waiting < 0) return;   // ended
    waiting = 0;
    const page = document.querySelector(BLOCK);
    if (page) sizes.observe(page);   // does nothing if it is observed
    screens = !page ? [] : lesson.length ? screensOf(page) : [{ name: TITLE, seen: [] }];
    const chosen = screens.filter((screen) => only && named(screen, only));
    if (chosen.length) screens = chosen;
    const found = screens.findIndex((screen) => named(screen, name));
    // if the screen does not exist (yet), stay on the current screen
    place = found < 0 ? clamp(place, 0, screens.length - 1) : found;
    const screen = screens[place];
    if (!screen) return;
    const said = texts(screen), at = clamp(step, 0, said.length - 1), layout = layoutOf(said[at]);
    const seen = layout === PROOF ? [said[at]] : screen.seen, asked = layout === PROMPT ? said.slice(at, at + 1) : [];
    mark("seen", seen);   // a formula needs the whole screen
    mark("holds", around(seen));
    mark("asking", [...asked, ...around(asked)]);
    mark("told", said.length && layout !== PROOF ? [page.parentElement] : []);
    for (const [which, selector] of Object.entries(MARKS)) mark(which, [...main.querySelectorAll(selector)]);
    fit(said.filter((text) => layoutOf(text) === layout), layout);
    mark("said", said.slice(at, at + 1));
    const shown = found < 0 ? undefined : at ? `${name}.${at}` : name;
    // until then, the page may be the one before
    const whole = only ? chosen.length > 0 : !lesson.length || screens.length > 1;
    tell({ proof: said.some((text) => text.matches(PROOF)), name: shown, place: place + 1, of: screens.length, whole });
  }

  // Fit the screen with each of these texts to the window: in turn, its charts become lower and everything smaller. If it
  // would become too small, it scrolls instead.
  function fit(said, layout) {
    const key = `${screens[place].name} ${layout} ${innerWidth} ${innerHeight}`, first = { share: MOST, scale: 1 };
    // figures then also take the rest of the window, and the screen is fitted again to their final height
    if (!fits.has(key)) later = setTimeout(() => {
      fits.set(key, first);
      dispatchEvent(new Event("resize"));
    }, SETTLED);
    let { share, scale } = fits.get(key) ?? first;   // scale 0: too small to fit, so it scrolls and is not fitted again
    const high = () => {
      const whole = Math.min(innerWidth / WIDE, innerHeight / HIGH) * (lesson.length ? 1 : SINGLE);
      style.setProperty("--present", `${whole * (scale || 1)}`);
      style.setProperty("--chart-share", `${share}`);
      return Math.max(...(said.length ? said : [undefined]).map((text) => {
        mark("said", text ? [text] : []);
        return main.scrollHeight / main.clientHeight;
      }));
    };
    let over = high();
    for (const [low, small] of layout === PROMPT ? ASKED : GIVEN_UP) {
      for (; lesson.length && over > 1 && share > low + 0.01; over = high()) share -= 0.05;
      for (; over > 1 && scale > small; over = high()) scale = Math.max(small, 0.995 * scale / over);
    }
    if (over > WHOLE) scale = 0;
    if (!scale) high();
    fits.set(key, { share, scale });
  }

  const soon = () => { waiting ||= requestAnimationFrame(show); };

  function turn(to) {
    const [screen, text] = to.split(".");
    [name, step] = [screen, +text || 0];
    soon();
  }

  function go(to, text) {
    main.scrollTop = 0;
    [name, step] = [screens[to].name, text];
    show();
    if (step) document.querySelector("[data-said]")?.scrollIntoView({ block: "nearest" });
  }

  function prove() {
    const said = texts(screens[place]), at = said.findIndex((text) => text.matches(PROOF));
    go(place, step === at ? Math.max(0, at - 1) : at);
  }

  // Scroll through the rest of the screen before moving to the next one.
  function scrolled(by) {
    const before = main.scrollTop, high = main.clientHeight;
    if (main.scrollHeight - main.clientHeight < EDGE * main.clientHeight) return false;
    // forward: bring the first cut-off part to the top
    const cut = [...main.querySelectorAll(PARTS)].filter((each) => each.getClientRects().length).map(inWindow)
      .filter(({ top, bottom }) => bottom > high - LINE && top > high / 4).map(({ top }) => top);
    main.scrollBy({ top: by < 0 || !cut.length ? by * 0.7 * high : Math.min(...cut) - LINE / 2 });
    return Math.abs(main.scrollTop - before) > 8;
  }

  // Step through the figure before moving to the next text: by a component that listens, or by a button.
  function stepped(by) {
    const said = texts(screens[place]), first = said.findIndex((text) => !layoutOf(text));
    if (layoutOf(said[step]) || (by < 0 && step > Math.max(first, 0))) return false;
    const free = document.dispatchEvent(new CustomEvent("clearhead-step", { detail: by, cancelable: true }));
    const [button] = within(screens[place], `.st-key-step-${by > 0 ? "on" : "back"} button:enabled`);
    if (free) button?.click();
    return !free || button;
  }

  // Move by one step; return false at the end.
  function move(by) {
    const last = (at) => Math.max(0, texts(screens[at]).filter((text) => !text.matches(CODE)).length - 1), to = step + by;
    if (!screens[place]) return true;
    /** @type {NodeListOf<HTMLElement>} */
    const reveals = document.querySelectorAll(REVEAL), reveal = [...reveals].find((each) => each.checkVisibility());
    if (by > 0 && reveal) reveal.click();
    else if (stepped(by) || scrolled(by)) return true;
    else if (0 <= to && to <= last(place)) go(place, to);
    else if (screens[place + by]) go(place + by, by > 0 ? 0 : last(place + by));
    else return false;
    return true;
  }

  const sizes = new ResizeObserver(soon), inside = new MutationObserver((changes) => {
    if (changes.some((/** @type {MutationRecord & {target: Element}} */ { target }) => !target.closest?.(`${CHART}, ${KEYS}`))) {
      fits.clear();
      soon();
    }
  });
  inside.observe(main, { childList: true, subtree: true });
  addEventListener("resize", soon);
  turn(start);
  show();
  const end = () => {
    for (const each of [inside, sizes]) each.disconnect();
    removeEventListener("resize", soon);
    clearTimeout(later);
    cancelAnimationFrame(waiting);
    waiting = -1;
    for (const each of ["--present", "--chart-share"]) style.removeProperty(each);
    for (const each of ["seen", "said", "holds", "asking", "told", ...Object.keys(MARKS)]) mark(each, []);
  };
  return { move, turn, end, prove, first: () => go(0, 0), last: () => go(screens.length - 1, 0) };
}
