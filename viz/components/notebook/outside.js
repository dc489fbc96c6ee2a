// Runs in the notebook, next to the iframe: sends it the notebook's theme and applies the height that it requests.
(() => {
  const frame = /** @type {HTMLIFrameElement} */ (document.getElementById("FRAME"));
  if (!frame) return;
  const numbers = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number);
  const bright = ([red, green, blue]) => 0.3 * red + 0.59 * green + 0.11 * blue;

  // Return the first background colour behind the iframe. If the notebook sets none, its text colour determines whether
  // the theme is dark.
  function look() {
    for (let at = frame.parentElement; at; at = at.parentElement) {
      const paper = getComputedStyle(at).backgroundColor, parts = numbers(paper);
      if (parts.length === 3 || parts[3] > 0.5) return { dark: bright(parts) < 128, paper };
    }
    const dark = bright(numbers(getComputedStyle(frame.parentElement).color)) > 128;
    return { dark, paper: dark ? "#111111" : "#ffffff" };
  }

  const tell = () => frame.contentWindow?.postMessage(look(), "*");
  addEventListener("message", ({ data, source }) => {
    if (source !== frame.contentWindow || data?.clearhead !== "FRAME" || !(data.height > 0)) return;
    const height = `${Math.min(Math.ceil(data.height) + 2, 4000)}px`;
    if (frame.style.height !== height) frame.style.height = height;
    if (!frame.dataset.told) tell();
    frame.dataset.told = "1";
  });
  frame.addEventListener("load", tell);
  const changes = new MutationObserver(tell);
  for (const each of [document.documentElement, document.body]) changes.observe(each, { attributes: true });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", tell);
  tell();
})();
