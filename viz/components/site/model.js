// The page's side of the worker: load the model and ask it.
import { fill } from "../js/shared.js";

/** @typedef {import("./encoder.js").Edits & {text: string, codes: {values: Uint16Array}, weights: Float32Array,
 *   ids: number[], tokens: {texts: string[], flags: number[], tokens: number[], segments: number[]}}} Answer
 *   weights: of all heads, (layer · head, query, key), and their codes as viz/components/messages.py encodes them
 */

/**
 * Start the worker.
 * @param {Uint8Array<ArrayBuffer>} code  the worker's script
 * @param {Promise<Uint8Array>} loaded  the model's file
 * @param {{too_long: string, failed: string}} words  the errors for a text with too many tokens and for a file that
 *   cannot be loaded or read
 * @returns {{ask: (question: import("./encoder.js").Edits & {text: string}) => Promise<Answer>,
 *   checked: Promise<import("./worker.js").Checked>}}
 *   ask: answers a text, or throws an Error that says why there is no answer; checked: throws it if there is no model
 */
export function modelOf(code, loaded, words) {
  const worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  const waiting = [];   // the worker answers in the order of the questions
  worker.onmessage = ({ data }) => waiting.shift()[0](data);
  worker.onerror = (error) => waiting.shift()[1](error);
  const send = (message, moved = []) => new Promise((...settle) => {
    waiting.push(settle);
    worker.postMessage(message, moved);
  });
  const checked = loaded.then((bytes) => send({ bytes }, [bytes.buffer])).catch((error) => {
    throw new Error(fill(words.failed, { reason: error.message }), { cause: error });
  });

  async function ask(question) {
    await checked;
    const answer = await send(question);
    if (!answer.weights) throw new Error(fill(words.too_long, answer));
    return answer;
  }

  return { ask, checked };
}

/**
 * Load a file.
 * @param {string} address
 * @param {number} of  its size in bytes, which a host that compresses it does not state
 * @param {(at: number) => void} report  told the bytes that have arrived
 * @returns {Promise<Uint8Array>}
 */
export async function fetched(address, of, report) {
  const response = await fetch(address), bytes = new Uint8Array(of), reader = response.body.getReader();
  if (!response.ok) throw new Error(`${response.status}`);
  for (let at = 0, part = await reader.read(); !part.done; part = await reader.read()) {
    bytes.set(part.value, at);
    report(at += part.value.length);
  }
  return bytes;
}
