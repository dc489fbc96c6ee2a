// Turn an answer into the messages that the components draw, as viz/components/picture.py does in the app.
import { fill } from "../js/shared.js";

/** @typedef {import("../js/messages.js").Message} Message
 * @typedef {{text: string, texts: string[], flags: number[], codes: Uint16Array}} Shown
 *   codes: the weights of all heads as viz/components/messages.py encodes them, (layer · head, query, key)
 */

const THUMBNAIL = 64;   // cells

/**
 * Encode weights.
 * @param {ArrayLike<number>} weights
 * @returns {Uint16Array}
 */
export const codesOf = (weights) => Uint16Array.from(weights, (weight) => Math.round(65535 * Math.sqrt(weight)));

const axis = ({ texts, flags }) => ({ texts, flags, tokens: texts.map((_, at) => at) });

/**
 * @param {Message} like  the fields that no answer changes
 * @param {Shown} shown
 * @returns {Message}
 */
export const stripBody = (like, shown) =>
  ({ ...like, tokens: { ...axis(shown), segments: shown.flags.map((flags) => (flags & 1 ? -1 : 0)) } });

/**
 * Return the thumbnails of all heads. A cell of a long text is the largest of several weights.
 * @param {Message} like
 * @param {Shown} shown
 * @returns {Message}
 */
export function gridBody(like, { texts: { length: n }, codes }) {
  const pool = Math.ceil(n / THUMBNAIL), side = Math.ceil(n / pool), heads = codes.length / n ** 2;
  const values = new Uint8Array(heads * side * side);
  codes.forEach((code, at) => {
    const head = Math.floor(at / n ** 2), row = Math.floor(at / n) % n, column = at % n;
    const cell = (head * side + Math.floor(row / pool)) * side + Math.floor(column / pool);
    values[cell] = Math.max(values[cell], Math.round(code / 257));
  });
  const pooled = pool > 1 ? [fill(like.text.pooled, { rows: pool, columns: pool })] : [];
  return { ...like, cells: { values, shape: [heads, side, side] }, legend: [...like.legend, ...pooled] };
}

/**
 * @param {Message} like
 * @param {Shown} shown
 * @param {number} number  of the head, counted over all layers
 * @param {string[]} notes  sentences beside the picture
 * @returns {Message}
 */
export function headBody(like, shown, number, notes) {
  const n = shown.texts.length, { heads } = like.all;
  return { ...like, rows: axis(shown), columns: null, heads: [[Math.floor(number / heads), number % heads]], notes,
    weights: { values: shown.codes.subarray(number * n * n, (number + 1) * n * n), shape: [1, n, n] } };
}
