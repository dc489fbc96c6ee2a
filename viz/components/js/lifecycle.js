// What Streamlit calls: again and again for the same element, with one clean-up at the end. begin(parent, call) makes

/**
 * what stands there, once; its update(call) is called every time, its end() when it goes. css: of its place.
 * @param {(parent: HTMLElement, call: object) => {update: (call: object) => void, end: () => void}} begin
 * @param {string} [css]
 * @returns {(call: object) => () => void} what Streamlit calls
 */
export const mountOnce = (begin, css = "") => (call) => {
  const at = call.parentElement;
  // on the element, not here: where a server came back with other files, their module takes this one's place
  if (at.clearheadPart?.begin !== begin) {
    at.clearheadPart?.end();
    at.clearheadPart = start(begin, css, call);
  }
  const one = at.clearheadPart;
  one.call = call;
  one.update(call);
  return () => {
    // Streamlit cleans up after a call that another one overtook while the module was on its way, too
    if (at.clearheadPart !== one || one.call !== call) return;
    delete at.clearheadPart;
    one.end();
  };
};

function start(begin, css, call) {
  const style = document.createElement("style");
  style.textContent = css;
  call.parentElement.append(style);
  const { update, end } = begin(call.parentElement, call);
  return { begin, update, end: () => (style.remove(), end()) };
}
