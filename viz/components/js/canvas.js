// Draw on the components' canvases: pixels, strokes through negative cells, and numbers over a picture.
import { node, parts, zoomOf } from "./shared.js";

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
 * Return the red, green and blue of a 32-bit pixel.
 * @param {number} pixel
 * @returns {number[]}
 */
export const channels = (pixel) => [0, 8, 16].map((bits) => (pixel >> bits) & 255);

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

/**
 * Share of the bound from which a negative cell is struck through.
 * @type {number}
 */
export const STRUCK = 0.08;

/**
 * Draw a stroke through a negative cell, as in print, for readers who cannot rely on colour. Lengths are in the
 * canvas's units.
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

const gradient = (stops) => `linear-gradient(90deg, ${stops.join()})`;

/**
 * Return the bar of the weights or of a signed scale, whose negative half has the same strokes as the cells.
 * @param {import("./shared.js").Colours} colours
 * @param {*} isSigned
 * @returns {string} a CSS background
 */
export function weightBar({ ramp, signed, paper }, isSigned) {
  const strokes = `repeating-linear-gradient(135deg, transparent 0 5px, ${paper} 5px 6px) left / 46% 100% no-repeat`;
  return isSigned ? `${strokes}, ${gradient(signed)}` : gradient(ramp);
}

/**
 * The last colour step; a patch's step is between −STEPS and STEPS.
 * @type {number}
 */
export const STEPS = 255;

/**
 * Create a canvas of this many pixels.
 * @param {number} wide
 * @param {number} high
 * @returns {[HTMLCanvasElement, CanvasRenderingContext2D]}
 */
export function smallCanvas(wide, high) {
  const canvas = node("canvas");
  [canvas.width, canvas.height] = [wide, high];
  return [canvas, canvas.getContext("2d")];
}

/**
 * Draw the picture on a canvas of its own size: greyer and darker the more opaque the overlay is (glow.step_back).
 * @param {{values: Uint8Array, shape: number[]}} picture  shape: [height, width, 3]
 * @param {number} opacity  opacity of the overlay, 0 to 1
 * @returns {HTMLCanvasElement}
 */
export function canvasOfPicture({ values, shape: [high, wide] }, opacity) {
  const [canvas, pen] = smallCanvas(wide, high), image = pen.createImageData(wide, high);
  for (let at = 0; at < wide * high; at++) image.data.set([...values.subarray(3 * at, 3 * at + 3), 255], 4 * at);
  pen.putImageData(image, 0, 0);
  const dim = { saturation: 0.75, "source-over": 0.35 };   // black has no saturation
  for (const [mode, alpha] of Object.entries(dim)) {
    Object.assign(pen, { globalCompositeOperation: mode, globalAlpha: alpha * opacity });
    pen.fillRect(0, 0, wide, high);
  }
  return canvas;
}

/**
 * Draw one pixel per patch on a canvas, to be stretched over the picture.
 * @param {ArrayLike<number>} numbers  colour steps (row, column)
 * @param {number[]} shape  rows and columns
 * @param {string[]} colours  of the steps, #rrggbbaa
 * @returns {HTMLCanvasElement}
 */
export function canvasOfSteps(numbers, [rows, columns], colours) {
  const [canvas, pen] = smallCanvas(columns, rows);
  for (let at = 0; at < rows * columns; at++) {
    pen.fillStyle = colours[numbers[at]];
    pen.fillRect(at % columns, Math.floor(at / columns), 1, 1);
  }
  return canvas;
}

/**
 * Draw the dimmed picture and, over it, the colours of its patches (viz/style/glow.py).
 * @param {CanvasRenderingContext2D} pen
 * @param {HTMLCanvasElement} picture
 * @param {number} opacity
 * @param {number[]} size  width and height of the picture
 * @param {() => void} colours  draws the patches
 * @param {number[]} [corner]  upper left corner of the picture
 */
export function drawOver(pen, picture, opacity, [wide, high], colours, [x, y] = [0, 0]) {
  pen.imageSmoothingEnabled = wide < 4 * picture.width;
  pen.drawImage(picture, x, y, wide, high);
  pen.imageSmoothingEnabled = false;
  pen.globalAlpha = opacity;
  colours();
  pen.globalAlpha = 1;
}

/**
 * Return the colour bar as CSS: the colours over the grey of a dimmed picture, with those of negative steps first.
 * @param {number} opacity
 * @param {string[]} colours
 * @param {string[]} [below]  colours of negative steps
 * @returns {string} a CSS background
 */
export function barOf(opacity, colours, below = []) {
  const few = (list) => list.filter((_, step) => step % 51 === 0);
  const stops = [...few(below).toReversed(), ...few(colours)];
  const thinned = stops.map((stop) => `color-mix(in srgb, ${stop} ${100 * opacity}%, transparent)`);
  return `${gradient(thinned)}, rgb(108 108 108)`;
}
