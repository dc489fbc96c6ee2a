// Store the reader's progress in this browser: each lesson's controls, from its URL, and the visible section. Answers
// in a link do not count until the reader answers again.
import { nameOf } from "./screens.js";
import { store, stored } from "./storage.js";

const NAME = "clearhead lessons", SECTION = "#", QUESTION = /^(?:guess|check_)/;
const SECTIONS = "[class*='st-key-section-']";
const opened = { path: location.pathname, params: new URLSearchParams(location.search) };
const [navigation] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
const again = navigation?.type === "reload";
let lesson = "", controls = [], told, moved = false, later;

const all = () => Object(stored("localStorage", NAME));   // {} if the value is not an object
const sections = () => [...document.querySelectorAll(SECTIONS)];

// Return the visible section, the last one that begins above or in the upper part of the window.
/** @returns {[string, string][]} */
function seen() {
  const begun = sections().filter((each) => each.getBoundingClientRect().top < innerHeight / 3);
  return begun.length > 1 ? [[SECTION, nameOf(begun.at(-1))]] : [];
}

function keep() {
  const params = new URLSearchParams(location.search), { [lesson]: before = {}, ...others } = all();
  // wait until stored progress has been read
  if (!lesson || told === undefined || location.pathname.split("/").at(-1) !== lesson || params.has("present")) return;
  const brought = (name, value) => QUESTION.test(name) && opened.path === location.pathname
    && opened.params.get(name) === value && before[name] !== value;
  const kept = [...params].filter(([name, value]) => controls.includes(name) && !brought(name, value)).concat(seen());
  store("localStorage", NAME, kept.length ? { ...others, [lesson]: Object.fromEntries(kept) } : others);
}

// Keep the remembered section in view while the content above it loads, unless the reader scrolls first.
function scroll(section, tries = 20) {
  if (moved || !tries) return;
  sections().find((each) => nameOf(each) === section)?.scrollIntoView();
  setTimeout(scroll, 200, section, tries - 1);
}

addEventListener("clearhead-address", keep);
for (const type of ["pointerdown", "keydown", "wheel"]) {
  addEventListener(type, () => { moved = true; }, { once: true, passive: true });
}
addEventListener("scroll", () => {
  clearTimeout(later);
  if (moved) later = setTimeout(keep, 500);
}, { capture: true, passive: true });

/** @param {import("./lifecycle.js").Call} call  Streamlit's argument, which contains the data */
export const progress = ({ data, setTriggerValue }) => {
  const { read, known, forget } = data, lessons = all();
  for (const name of forget) delete lessons[name];
  if (forget.length) store("localStorage", NAME, lessons);
  ({ lesson, controls } = data);
  const says = JSON.stringify(lessons), left = lessons[lesson]?.[SECTION];
  if (!known && left && (again || !opened.params.size) && opened.path === location.pathname) scroll(left);
  if (read && (!known || says !== told)) setTriggerValue("event", lessons);
  if (read) told = says;
};
