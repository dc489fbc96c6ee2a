// One entry of the browser's history for each click, key press or drag that changes the address, where Streamlit adds
// one for every change of it: the first change after a press is a new entry, those that follow take its place. An
// address that ends with PASSING changed by itself, as in a film, and is no entry.
const PASSING = /[?&]passing=$/;
const { pushState, replaceState } = History.prototype;
let presses = 0, entered = 0, written = false, later;

// Safari refuses more than a hundred addresses in ten seconds: the last one of a long drag waits.
function write(how, ...given) {
  clearTimeout(later);
  written = true;
  try {
    how.apply(history, given);
    dispatchEvent(new Event("clearhead-address"));
  } catch {
    later = setTimeout(write, 1000, replaceState, ...given);
  }
}

function press({ type, repeat, detail }) {
  // a click that no pointer made is a screen reader's or a script's
  if (!repeat && (type !== "click" || detail === 0)) presses += 1;
}

for (const type of ["pointerdown", "keydown", "click", "drop"]) addEventListener(type, press, true);
addEventListener("popstate", () => clearTimeout(later), true);
history.pushState = (state, title, address) => {
  const clean = address.replace(PASSING, ""), enters = clean === address && presses !== entered;
  if (enters) entered = presses;
  write(enters ? pushState : replaceState, state, title, clean);
};
// Streamlit calls it after Back, also for what a film still says then of the view that was left
history.replaceState = (state, title, address) => {
  if (!PASSING.test(address)) write(replaceState, state, title, address);
};

// On a phone the menu is a drawer over the page, and Streamlit leaves it open on the page that was tapped.
addEventListener("click", ({ target }) => {
  if (innerWidth < 768 && target.closest("#stSidebar a")) {
    setTimeout(() => document.querySelector('[aria-controls="stSidebar"][aria-expanded="true"]')?.click());
  }
});

// clean: what takes the place of an address that was typed, where nothing was written yet.
export const entries = ({ data: [clean] }) => {
  if (clean && !written) write(replaceState, {}, "", location.pathname + clean.replace(/^\?$/, ""));
};
