// Read a figure's messages in a page without a server, and draw the controls of an open head.
import { button, node } from "../js/shared.js";

/**
 * Decode a figure's message: zlib format (RFC 1950) in base64.
 * @param {HTMLScriptElement} script
 * @returns {Promise<Uint8Array>}
 */
export async function bytesIn(script) {
  const text = atob(script.textContent);
  const deflated = new Blob([Uint8Array.from(text, (sign) => sign.charCodeAt(0))]).stream();
  return new Uint8Array(await new Response(deflated.pipeThrough(new DecompressionStream("deflate"))).arrayBuffer());
}

/**
 * Create an element's shadow root with a style sheet, for a component.
 * @param {Element} parent
 * @param {string} css
 * @returns {ShadowRoot}
 */
export function stageOf(parent, css) {
  const stage = parent.attachShadow({ mode: "open" });
  node("style", "", css, stage);
  return stage;
}

/**
 * Draw the controls of an open head: lens, scale and transpose.
 * @param {Record<string, Record<string, string> | string>} words  labels of each control
 * @param {object} state  changed in place
 * @param {boolean} signed  whether a difference is shown, which has only one lens
 * @param {(change: object) => void} update  called with the part of a state message that a choice changes
 * @returns {HTMLDivElement}
 */
export function choices(words, state, signed, update) {
  const bar = node("div", "choices"), drawn = [];
  const offer = (field, value, text) => {
    const made = button("", text, bar, () => {
      state[field] = field === "transpose" ? !state.transpose : value;
      mark();
      update({ part: "state", [field]: state[field] });
    });
    drawn.push([made, field, value]);
  };
  for (const field of signed ? [] : ["lens", "scale"]) {
    for (const [value, text] of Object.entries(words[field])) offer(field, value, text);
  }
  offer("transpose", true, words.transpose);
  const mark = () => drawn.forEach(([made, field, value]) => { made.ariaPressed = state[field] === value; });
  mark();
  return bar;
}
