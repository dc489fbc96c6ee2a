// Store the reader's progress in this browser: each lesson's controls, from its URL, and the visible section. Answers
// in a link do not count until the reader answers again.
const NAME = "clearhead lessons", SECTION = "#", QUESTION = /^(?:guess|check_)/;
const SECTIONS = "[class*='st-key-section-']";
const opened = { path: location.pathname, params: new URLSearchParams(location.search) };
const again = performance.getEntriesByType("navigation")[0]?.type === "reload";
let lesson = "", controls = [], told, moved = false, later;

function stored() {
  try {
    const found = JSON.parse(localStorage.getItem(NAME));
    return typeof found === "object" && found ? found : {};
  } catch {   // storage is disabled, or the value is invalid
    return {};
  }
}

function store(all) {
  try {
    if (Object.keys(all).length) localStorage.setItem(NAME, JSON.stringify(all));
    else localStorage.removeItem(NAME);
  } catch {}   // storage is full or disabled: nothing is remembered
}

const sectionOf = (element) => /st-key-section-([\w-]+)/.exec(element.className)[1];

// Return the visible section, the last one that begins above or in the upper part of the window.
function seen() {
  const begun = [...document.querySelectorAll(SECTIONS)].filter((each) => each.getBoundingClientRect().top < innerHeight / 3);
  return begun.length > 1 ? sectionOf(begun.at(-1)) : undefined;
}

function keep() {
  const params = new URLSearchParams(location.search), all = stored(), before = all[lesson] ?? {};
  // wait until stored progress has been read
  if (!lesson || told === undefined || location.pathname.split("/").at(-1) !== lesson || params.has("present")) return;
  const brought = (name, value) => QUESTION.test(name) && opened.path === location.pathname
    && opened.params.get(name) === value && before[name] !== value;
  const kept = [...params].filter(([name, value]) => controls.includes(name) && !brought(name, value));
  const section = seen();
  if (section) kept.push([SECTION, section]);
  const { [lesson]: _, ...others } = all;
  store(kept.length ? { ...others, [lesson]: Object.fromEntries(kept) } : others);
}

// Keep the remembered section in view while the content above it loads, unless the reader scrolls first.
function scroll(section, tries = 20) {
  if (moved || !tries) return;
  [...document.querySelectorAll(SECTIONS)].find((each) => sectionOf(each) === section)?.scrollIntoView({ block: "start" });
  setTimeout(scroll, 200, section, tries - 1);
}

addEventListener("clearhead-address", keep);
for (const type of ["pointerdown", "keydown", "wheel"]) addEventListener(type, () => { moved = true; }, { once: true, passive: true });
addEventListener("scroll", () => {
  clearTimeout(later);
  if (moved) later = setTimeout(keep, 500);
}, { capture: true, passive: true });

/** @param {object} call  Streamlit's argument, which contains the data */
export const progress = ({ data, setTriggerValue }) => {
  const { read, known, forget } = data, all = stored();
  for (const name of forget) delete all[name];
  if (forget.length) store(all);
  [lesson, controls] = [data.lesson, data.controls];
  const says = JSON.stringify(all), left = all[lesson]?.[SECTION];
  if (!known && left && (again || !opened.params.size) && opened.path === location.pathname) scroll(left);
  if (read && (!known || says !== told)) setTriggerValue("event", all);
  if (read) told = says;
};
