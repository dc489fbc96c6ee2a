// Turn an answer into the messages that the components draw, as viz/components/picture.py does in the app.
import { fill } from "../js/shared.js";

/** @typedef {import("../js/messages.js").Message} Message
 * @typedef {import("./encoder.js").Edits & {text: string, codes: {values: Uint16Array},
 *   tokens: {texts: string[], flags: number[], tokens: number[], segments: number[]}}} Shown
 *   codes: the weights of all heads as viz/components/messages.py encodes them, (layer · head, query, key)
 */

const THUMBNAIL = 64;   // cells

/**
 * Return the thumbnails of all heads. A cell of a long text is the largest of several weights.
 * @param {Message} like
 * @param {Shown} shown
 * @returns {Message}
 */
export function gridBody(like, { tokens: { texts: { length: n } }, codes: { values: codes } }) {
  const pool = Math.ceil(n / THUMBNAIL), side = Math.ceil(n / pool), heads = codes.length / n ** 2;
  const values = new Uint8Array(heads * side * side);
  codes.forEach((code, at) => {
    const row = Math.floor(at / n), column = at % n, head = Math.floor(row / n);
    const cell = (head * side + Math.floor((row % n) / pool)) * side + Math.floor(column / pool);
    values[cell] = Math.max(values[cell], Math.round(code / 257));
  });
  const pooled = pool > 1 ? [fill(like.text.pooled, { rows: pool, columns: pool })] : [];
  return { ...like, cells: { values, shape: [heads, side, side] }, legend: [...like.legend, ...pooled] };
}

/**
 * @param {Message} like
 * @param {Shown} shown
 * @param {number[]} head  its layer and its number there
 * @param {number} number  its number, counted over all layers
 * @param {string[]} notes  sentences beside the picture
 * @returns {Message}
 */
export function headBody(like, { tokens, codes }, head, number, notes) {
  const n = tokens.texts.length, values = codes.values.subarray(number * n * n, (number + 1) * n * n);
  return { ...like, rows: tokens, columns: null, heads: [head], notes, weights: { values, shape: [1, n, n] } };
}
