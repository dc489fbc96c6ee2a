// Decode weights: a code is round(65535 · √w).

/** @type {number} */
const CODES = 65536;

/**
 * Smallest distance between labels in pixels.
 * @type {number}
 */
export const READABLE = 13;

/**
 * Decode a weight or, with a bound, a difference from −bound to bound (messages.signed_codes): 0 means no number, and
 * larger codes mean larger changes.
 * @param {number} code
 * @param {number} [bound]  largest difference
 * @returns {number} NaN if there is no number
 */
export function valueOf(code, bound) {
  if (!bound) return (code / 65535) ** 2;
  const size = ((code - 1) >> 1) / 32766;
  return code ? ((code - 1) & 1 ? size : -size) * bound : NaN;
}

/**
 * Return a weight's position on the colour ramp, like strength() in viz/style/theme.py.
 * @param {number} weight  0 to 1
 * @param {"linear" | "root" | "log"} scale
 * @param {number} floor  the smallest weight of the log scale
 * @returns {number} 0 to 1
 */
export function strength(weight, scale, floor) {
  if (scale === "root") return Math.sqrt(weight);
  if (scale === "log") return weight <= floor ? 0 : 1 - Math.log10(weight) / Math.log10(floor);
  return weight;
}

const known = {};

/**
 * Return strength() of every code: with the sign of a difference, and NaN if there is no number. Computed once per scale,
 * because a picture is drawn at every click.
 * @param {"linear" | "root" | "log"} scale
 * @param {{floor: number, bound?: number | null}} body
 * @returns {Float32Array}
 */
export const strengths = (scale, { floor, bound }) =>
  known[[scale, floor, Boolean(bound)].join()] ??= new Float32Array(CODES).map((_, code) => {
    const value = valueOf(code, bound && 1);
    return Math.sign(value) * strength(Math.abs(value), scale, floor);
  });

/**
 * Estimate a token's width in a 12-pixel monospaced font; East Asian characters have almost double width.
 * @param {string} text
 * @returns {number}
 */
export const widthOf = (text) => [...text].reduce((sum, sign) => sum + (sign.codePointAt(0) >= 0x2e80 ? 13 : 7.3), 0);

/**
 * Estimate the width of the widest of these tokens.
 * @param {string[]} texts
 * @returns {number}
 */
export const widest = (texts) => texts.reduce((most, text) => Math.max(most, widthOf(text)), 0);
