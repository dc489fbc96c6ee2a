// The page's side of the worker: ask the model, and check it against PyTorch.
import { fill } from "../js/shared.js";

/** @typedef {import("./bodies.js").Shown & {tokens: import("./tokenizer.js").Token[], all: Float32Array,
 *   edits: import("./encoder.js").Edits, weights: (layer: number, head: number) => Float32Array,
 *   embedding: Float32Array}} Answer
 *   weights: of one head, row by row; all: of all heads; embedding: the mean of the last vectors, of length 1
 */

const furthest = (one, other) => one.reduce((most, each, at) => Math.max(most, Math.abs(each - other[at])), 0);

/**
 * Start the worker.
 * @param {Uint8Array<ArrayBuffer>} code  the worker's script
 * @param {Promise<Uint8Array>} loaded  the model's file
 * @param {number} heads  of a layer
 * @param {{too_long: string, failed: string}} words  the errors for a text with too many tokens and for a file that
 *   cannot be loaded or read
 */
export function modelOf(code, loaded, heads, words) {
  const worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  const waiting = [];   // the worker answers in the order of the questions
  worker.onmessage = ({ data }) => waiting.shift()[0](data);
  worker.onerror = (error) => waiting.shift()[1](error);
  const send = (message, moved = []) => new Promise((...settle) => {
    waiting.push(settle);
    worker.postMessage(message, moved);
  });
  const checks = loaded.then((bytes) => send({ bytes }, [bytes.buffer])).catch((error) => {
    throw new Error(fill(words.failed, { reason: error.message }), { cause: error });
  });

  /**
   * Answer a text. Throws an Error that says why there is no answer.
   * @param {string} text
   * @param {import("./encoder.js").Edits} [edits]
   * @returns {Promise<Answer>}
   */
  async function ask(text, edits) {
    await checks;
    const { weights: all, ...answer } = await send({ text, edits });
    if (!all) throw new Error(fill(words.too_long, answer));
    const size = answer.tokens.length ** 2, from = (layer, head) => (layer * heads + head) * size;
    return { ...answer, edits, all, weights: (layer, head) => all.subarray(from(layer, head), from(layer, head) + size),
      texts: answer.tokens.map((token) => token.text), flags: answer.tokens.map(({ flags }) => flags),
      codes: Uint16Array.from(all, (weight) => Math.round(65535 * Math.sqrt(weight))) };
  }

  /**
   * Compute the check sentences, and return the number of sentences and weights and the largest differences from what
   * PyTorch computed: with the same weights, and with those before rounding.
   * @param {Map<string, import("./bodies.js").Shown>} recorded  before rounding, by text
   */
  async function check(recorded) {
    const found = { count: 0, weights: 0, worst: 0, rounding: 0 };
    for (const { text, weights } of await checks) {
      const { all } = await ask(text);
      const exact = Float32Array.from(recorded.get(text).codes, (code) => (code / 65535) ** 2);
      found.count += 1;
      found.weights += all.length;
      found.worst = Math.max(found.worst, furthest(all, weights));
      found.rounding = Math.max(found.rounding, furthest(all, exact));
    }
    return found;
  }

  return { ask, check };
}

/**
 * Load a file.
 * @param {string} address
 * @param {number} of  its size in bytes, which a host that compresses it does not tell
 * @param {(at: number, of: number) => void} report  told the bytes that have arrived
 * @returns {Promise<Uint8Array>}
 */
export async function fetched(address, of, report) {
  const response = await fetch(address), bytes = new Uint8Array(of), reader = response.body.getReader();
  if (!response.ok) throw new Error(`${response.status}`);
  for (let at = 0, part = await reader.read(); !part.done; part = await reader.read()) {
    bytes.set(part.value, at);
    report(at += part.value.length, of);
  }
  return bytes;
}
