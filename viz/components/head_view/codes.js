// Decode weights: a code is round(65535 · √w).

/** @type {number} */
export const CODES = 65536;

/**
 * Pixels from one label to the next, at least.
 * @type {number}
 */
export const READABLE = 13;

/**
 * @param {number} code
 * @returns {number}
 */
export const weightOf = (code) => (code / 65535) ** 2;

/**
 * A difference from −bound to bound: 0 is nothing, else 1 + 2 · round(32766 · |v| / bound) + (v > 0), so that a
 * larger code is a larger change.
 * @param {number} code
 * @param {number} [bound]  of a difference
 * @returns {number} NaN for nothing
 */
export function valueOf(code, bound) {
  if (!bound) return weightOf(code);
  const size = ((code - 1) >> 1) / 32766;
  return code ? ((code - 1) & 1 ? size : -size) * bound : NaN;
}

/**
 * Where on the ramp a weight stands, 0 to 1; the same as viz/theme.py strength().
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
 * strength() of every code, worked out once for each scale.
 * @param {"linear" | "root" | "log"} scale
 * @param {number} floor  the smallest weight of the log scale
 * @returns {Float32Array}
 */
export function strengths(scale, floor) {
  const steps = (known[`${scale} ${floor}`] ??= new Float32Array(CODES));
  if (!steps[CODES - 1]) for (let code = 0; code < CODES; code++) steps[code] = strength(weightOf(code), scale, floor);
  return steps;
}

/**
 * About how wide a token is at 12 pixels, monospaced; signs from the wide blocks take two places.
 * @param {string} text
 * @returns {number}
 */
export const widthOf = (text) => [...text].reduce((sum, sign) => sum + (sign.codePointAt(0) >= 0x2e80 ? 13 : 7.3), 0);

/**
 * @param {string[]} texts
 * @returns {number}
 */
export const widest = (texts) => texts.reduce((most, text) => Math.max(most, widthOf(text)), 0);
