// Read a figure's messages in a page without a server, and draw the controls of an open head.
import { button, div, node } from "../js/shared.js";

/**
 * Decode the messages in a figure's scripts: zlib format (RFC 1950) in base64.
 * @param {Element} parent
 * @param {...string} names  classes of the scripts
 * @returns {Promise<Uint8Array[]>}
 */
export const messagesIn = (parent, ...names) =>
  Promise.all(names.map((name) => bytesIn(parent.querySelector(`script.${name}`))));

/**
 * Tell a page's height to the frame around it whenever the height changes.
 * @param {string} name  the frame's name, "" if it has none
 */
export function tellHeight(name) {
  const tell = () => parent.postMessage({ clearhead: name, height: document.body.scrollHeight }, "*");
  new ResizeObserver(tell).observe(document.body);
}

/**
 * @param {HTMLScriptElement} script
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
export async function bytesIn(script) {
  const text = atob(script.textContent);
  const deflated = new Blob([Uint8Array.from(text, (sign) => sign.charCodeAt(0))]).stream();
  return new Uint8Array(await new Response(deflated.pipeThrough(new DecompressionStream("deflate"))).arrayBuffer());
}

/**
 * Draw a component in an element's shadow root.
 * @param {Element} parent
 * @param {{mount: import("../js/component.js").Mount, css: string}} component
 * @param {Uint8Array | object} body
 * @param {Uint8Array | object} state
 * @param {(event: *) => void} send
 * @returns {{update: (message: Uint8Array | object) => void}}
 */
export function drawn(parent, { mount, css }, body, state, send) {
  const stage = parent.attachShadow({ mode: "open" });
  node("style", stage, "", css);
  const view = mount(stage, body, send);
  view.update(state);
  return view;
}

/**
 * Draw the controls of an open head: transpose, and lens and scale if they have labels.
 * @param {{lens?: Record<string, string>, scale?: Record<string, string>, transpose: string}} words  their labels
 * @param {import("../js/messages.js").Message} state  changed in place
 * @param {boolean} signed  whether a difference is shown, which has only one lens
 * @param {(change: object) => void} update  called with the part of a state message that a choice changes
 * @returns {HTMLDivElement}
 */
export function choices(words, state, signed, update) {
  const bar = div(undefined, "choices"), offered = [];
  const offer = (field, value, text) => {
    const made = button(bar, "", text, () => {
      state[field] = field === "transpose" ? !state.transpose : value;
      mark();
      update({ part: "state", [field]: state[field] });
    });
    offered.push([made, field, value]);
  };
  for (const field of signed ? [] : ["lens", "scale"]) {
    for (const [value, text] of Object.entries(words[field] ?? {})) offer(field, value, text);
  }
  offer("transpose", true, words.transpose);
  const mark = () => offered.forEach(([made, field, value]) => { made.ariaPressed = state[field] === value; });
  mark();
  return bar;
}
