// Read a figure's messages in a page without a server, and draw the controls of an open head.
import { node } from "../js/shared.js";

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
 * Return a message with a new header and the same arrays, in the format of messages.py.
 * @param {object} head  the new header
 * @param {Uint8Array} before  the message that contains the arrays
 * @returns {Uint8Array}
 */
export function packed(head, before) {
  const text = new TextEncoder().encode(JSON.stringify(head)), size = Math.ceil(text.length / 4) * 4;
  const arrays = before.subarray(4 + new DataView(before.buffer).getUint32(0, true));
  const message = new Uint8Array(4 + size + arrays.length).fill(32);
  new DataView(message.buffer).setUint32(0, size, true);
  message.set(text, 4);
  message.set(arrays, 4 + size);
  return message;
}

/**
 * Draw the controls of an open head: lens, scale and transpose.
 * @param {Record<string, Record<string, string> | string>} words  labels of each control
 * @param {object} state  changed in place
 * @param {boolean} signed  whether a difference is shown, which has only one lens
 * @param {() => void} update  called after each choice
 * @returns {HTMLDivElement}
 */
export function choices(words, state, signed, update) {
  const bar = node("div", "choices"), drawn = [];
  const offer = (field, value, text) => {
    const button = node("button", "", text, bar);
    button.type = "button";
    button.addEventListener("click", () => {
      state[field] = field === "transpose" ? !state.transpose : value;
      mark();
      update();
    });
    drawn.push([button, () => (field === "transpose" ? state.transpose : state[field] === value)]);
  };
  for (const field of signed ? [] : ["lens", "scale"]) {
    for (const [value, text] of Object.entries(words[field])) offer(field, value, text);
  }
  offer("transpose", true, words.transpose);
  const mark = () => drawn.forEach(([button, on]) => button.setAttribute("aria-pressed", String(on())));
  mark();
  return bar;
}
