// Keep one browser history entry per click, key press or drag that changes the URL; Streamlit adds one per change. The
// first change after a press adds an entry, and later ones replace it. A URL that ends with PASSING changed without
// user input, as in an animation, and gets no entry.
const PASSING = /[?&]passing=$/;
const { pushState, replaceState } = History.prototype;
let presses = 0, entered = 0, written = false, later;

// Safari refuses more than 100 history changes in ten seconds, so the last one of a long drag is delayed.
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

function press(/** @type {MouseEvent & KeyboardEvent} */ { type, repeat, detail }) {
  // screen readers and scripts cause clicks without a pointer
  if (!repeat && (type !== "click" || detail === 0)) presses += 1;
}

for (const type of ["pointerdown", "keydown", "click", "drop"]) addEventListener(type, press, true);
addEventListener("popstate", () => clearTimeout(later), true);
/** @type {(state: *, title: string, address: string) => void} Streamlit always gives an address, as text */
history.pushState = (state, title, address) => {
  const clean = address.replace(PASSING, ""), enters = clean === address && presses !== entered;
  if (enters) entered = presses;
  write(enters ? pushState : replaceState, state, title, clean);
};
// Streamlit also calls this after Back, even for late animation updates of the previous view.
/** @type {(state: *, title: string, address: string) => void} */
history.replaceState = (state, title, address) => {
  if (!PASSING.test(address)) write(replaceState, state, title, address);
};

// clean: the URL that replaces a typed one, if nothing was written yet.
export const entries = ({ data: [clean] }) => {
  if (clean && !written) write(replaceState, {}, "", location.pathname + clean.replace(/^\?$/, ""));
};
