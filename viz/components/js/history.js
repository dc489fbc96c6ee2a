// Keep one browser history entry per click, key press or drag that changes the address, where Streamlit adds one per
// change: the first change after a press adds an entry, later ones replace it. An address that ends with PASSING
// changed by itself, as in an animation, and gets no entry.
const PASSING = /[?&]passing=$/;
const { pushState, replaceState } = History.prototype;
let presses = 0, entered = 0, written = false, later;

// Safari refuses more than a hundred addresses in ten seconds, so the last one of a long drag waits.
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
  // a click without a pointer comes from a screen reader or a script
  if (!repeat && (type !== "click" || detail === 0)) presses += 1;
}

for (const type of ["pointerdown", "keydown", "click", "drop"]) addEventListener(type, press, true);
addEventListener("popstate", () => clearTimeout(later), true);
history.pushState = (state, title, address) => {
  const clean = address.replace(PASSING, ""), enters = clean === address && presses !== entered;
  if (enters) entered = presses;
  write(enters ? pushState : replaceState, state, title, clean);
};
// Streamlit also calls it after Back, even for what an animation still reports about the previous view.
history.replaceState = (state, title, address) => {
  if (!PASSING.test(address)) write(replaceState, state, title, address);
};

// On a phone the menu is a drawer over the page, and Streamlit leaves it open after a tap.
addEventListener("click", ({ target }) => {
  if (innerWidth < 768 && target.closest("#stSidebar a")) {
    setTimeout(() => document.querySelector('[aria-controls="stSidebar"][aria-expanded="true"]')?.click());
  }
});

// clean: replaces a typed address, if nothing was written yet.
export const entries = ({ data: [clean] }) => {
  if (clean && !written) write(replaceState, {}, "", location.pathname + clean.replace(/^\?$/, ""));
};
