// Draw pixels on the components' canvases.
import { parts, zoomOf } from "./shared.js";

/**
 * Interpolate `steps` colours from the first stop to the last, as 32-bit pixels.
 * @param {string[]} stops  #rrggbb
 * @param {number} steps
 * @returns {Uint32Array}
 */
export function pixels(stops, steps) {
  const out = new Uint32Array(steps), known = stops.map(parts);
  for (let i = 0; i < steps; i++) {
    const at = steps > 1 ? (i / (steps - 1)) * (known.length - 1) : 0, low = Math.min(Math.floor(at), known.length - 2);
    const mixed = [0, 1, 2].map((c) => Math.round(known[low][c] + (known[low + 1][c] - known[low][c]) * (at - low)));
    out[i] = (255 << 24) | (mixed[2] << 16) | (mixed[1] << 8) | mixed[0];
  }
  return out;
}

/**
 * Draw a matrix of codes into an array of pixels. A pixel that covers several cells takes the largest code, so that no
 * strong weight disappears.
 * @param {ArrayLike<number>} codes
 * @param {number} start  index of the first code
 * @param {number[]} shape  rows and columns
 * @param {Uint32Array} colour  the pixel of each code
 * @param {Uint32Array} out  receives the pixels
 * @param {number[]} size  pixels down and across
 */
export function paint(codes, start, [rows, columns], colour, out, [high, wide]) {
  const from = new Int32Array(wide), to = new Int32Array(wide);
  for (let x = 0; x < wide; x++) {
    from[x] = Math.floor(x * columns / wide);
    to[x] = Math.max(from[x] + 1, Math.floor((x + 1) * columns / wide));
  }
  for (let y = 0; y < high; y++) {
    const top = Math.floor((y * rows) / high), bottom = Math.max(top + 1, Math.floor(((y + 1) * rows) / high));
    for (let x = 0; x < wide; x++) {
      let most = 0;
      for (let r = top; r < bottom; r++) {
        const line = start + r * columns;
        for (let c = from[x]; c < to[x]; c++) if (codes[line + c] > most) most = codes[line + c];
      }
      out[y * wide + x] = colour[most];
    }
  }
}

/**
 * Draw the lines between cells.
 * @param {CanvasRenderingContext2D} pen
 * @param {number[]} cell  width and height
 * @param {number[]} size  width and height of all cells
 */
export function rule(pen, [wide, high], [right, bottom]) {
  pen.beginPath();
  for (let x = wide; x < right - 1; x += wide) pen.rect(Math.round(x) - 0.5, 0, 0, bottom);
  for (let y = high; y < bottom - 1; y += high) pen.rect(0, Math.round(y) - 0.5, right, 0);
  pen.stroke();
}

/**
 * Size a canvas in CSS pixels, with enough device pixels for the screen and the page's zoom, and return its context.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 * @returns {CanvasRenderingContext2D}
 */
export function canvasOf(canvas, width, height) {
  const ratio = (devicePixelRatio || 1) * zoomOf(canvas);
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  return canvas.getContext("2d");
}
