// What the weights' codes mean: a code is round(65535 · √w).

export const CODES = 65536;

// Pixels from one label to the next, at least.
export const READABLE = 14;

export const weightOf = (code) => (code / 65535) ** 2;

// Where on the ramp a weight stands, 0 to 1; the same as viz/theme.py strength().
export function strength(weight, scale, floor) {
  if (scale === "root") return Math.sqrt(weight);
  if (scale === "log") return weight <= floor ? 0 : 1 - Math.log10(weight) / Math.log10(floor);
  return weight;
}

// strength() of every code.
export const strengths = (scale, floor) => Float32Array.from({ length: CODES }, (_, code) => strength(weightOf(code), scale, floor));

// About how wide a token is at 12 pixels, monospaced; signs from the wide blocks take two places.
export const widthOf = (text) => [...text].reduce((sum, sign) => sum + (sign.codePointAt(0) >= 0x2e80 ? 13 : 7.3), 0);

export const widest = (texts) => texts.reduce((most, text) => Math.max(most, widthOf(text)), 0);
