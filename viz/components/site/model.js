// The page's side of the worker: load the model, ask it, and check it against PyTorch.
import { codesOf } from "./bodies.js";

/** @typedef {{tokens: import("./tokenizer.js").Token[], weights: (layer: number, head: number) => Float32Array,
 *   embedding: Float32Array, all: Float32Array}} Answer
 *   weights: of one head, row by row; all: of all heads
 * @typedef {{count: number, weights: number, worst: number, most: number, mean: number, same: number}} Check
 *   worst: largest difference from PyTorch with the same rounded weights; most, mean: differences that rounding makes;
 *   same: share of rows that keep their strongest token
 */

const KEPT = 8;   // answers

/**
 * Start the worker.
 * @param {string} code  the worker's script
 * @param {Promise<Uint8Array>} loaded  the model's file
 * @param {number} heads  of a layer
 */
export function modelOf(code, loaded, heads) {
  const worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  const waiting = new Map(), answers = new Map();
  let last = 0;
  worker.onmessage = ({ data: { id, answer } }) => {
    waiting.get(id)(answer);
    waiting.delete(id);
  };
  const send = (message, moved = []) => new Promise((resolve) => {
    waiting.set(++last, resolve);
    worker.postMessage({ id: last, ...message }, moved);
  });
  const checks = loaded.then((bytes) => send({ bytes }, [bytes.buffer]));

  async function compute(text, edits) {
    await checks;
    const { weights: all, ...answer } = await send({ text, edits });
    if (!all) return answer;
    const size = answer.tokens.length ** 2, from = (layer, head) => (layer * heads + head) * size;
    return { ...answer, all, weights: (layer, head) => all.subarray(from(layer, head), from(layer, head) + size) };
  }

  /**
   * Return the answer to a text, or {count, longest} if it has too many tokens.
   * @param {string} text
   * @param {import("./encoder.js").Edits} [edits]
   * @returns {Promise<any>}
   */
  function ask(text, { hide = [], silence = [], temper = {} } = {}) {
    const edits = { hide, silence, temper }, key = JSON.stringify([text, edits]);
    if (!answers.has(key)) answers.set(key, compute(text, edits));
    if (answers.size > KEPT) answers.delete(answers.keys().next().value);
    return answers.get(key);
  }

  /**
   * Compute the check sentences and compare them with what PyTorch computed: with the same weights, and with those
   * before rounding.
   * @param {Map<string, import("./bodies.js").Shown>} recorded  before rounding, by text
   * @returns {Promise<Check>}
   */
  async function check(recorded) {
    const found = { count: 0, weights: 0, worst: 0, most: 0, mean: 0, same: 0 };
    let rows = 0;
    for (const { text, weights } of await checks) {
      const { all, tokens: { length: n } } = await ask(text), exact = recorded.get(text).codes, own = codesOf(all);
      found.count += 1;
      found.weights += all.length;
      all.forEach((weight, at) => {
        const change = Math.abs(weight - (exact[at] / 65535) ** 2);
        found.worst = Math.max(found.worst, Math.abs(weight - weights[at]));
        found.most = Math.max(found.most, change);
        found.mean += change;
      });
      const strongest = (codes, row) => {
        const part = codes.subarray(row * n, (row + 1) * n);
        return part.indexOf(Math.max(...part));
      };
      for (let row = 0; row < all.length / n; row++) found.same += Number(strongest(own, row) === strongest(exact, row));
      rows += all.length / n;
    }
    return { ...found, mean: found.mean / found.weights, same: found.same / rows };
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
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${response.status}`);
  const bytes = new Uint8Array(of), reader = response.body.getReader();
  for (let at = 0, part = await reader.read(); !part.done; part = await reader.read()) {
    bytes.set(part.value, at);
    report(at += part.value.length, of);
  }
  return bytes;
}
