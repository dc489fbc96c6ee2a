// Mark negative cells with strokes, for readers who cannot rely on colour.

/**
 * Share of the bound from which a negative cell is struck through.
 * @type {number}
 */
export const STRUCK = 0.08;

/**
 * Draw a stroke through a cell, as in print. Lengths are in the canvas's units.
 * @param {CanvasRenderingContext2D} pen
 * @param {number} x
 * @param {number} y
 * @param {number} wide
 * @param {number} high
 * @param {string} colour
 */
export function strike(pen, x, y, wide, high, colour) {
  const inset = 0.22 * Math.min(wide, high);
  pen.strokeStyle = colour;
  pen.beginPath();
  pen.moveTo(x + inset, y + high - inset);
  pen.lineTo(x + wide - inset, y + inset);
  pen.stroke();
}

/**
 * Return the bar of a signed scale, whose negative half has the same strokes as the cells.
 * @param {string[]} stops
 * @param {string} paper
 * @returns {string} a CSS background
 */
export function signedBar(stops, paper) {
  const strokes = `repeating-linear-gradient(135deg, transparent 0 5px, ${paper} 5px 6px) left / 46% 100% no-repeat`;
  return `${strokes}, linear-gradient(90deg, ${stops.join()})`;
}
