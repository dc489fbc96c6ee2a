// Draw numbers over a picture: the picture is dimmed, and attended parts glow in the colours of glow.py.
import { node } from "./shared.js";

/**
 * The last colour step; a patch's step is between −STEPS and STEPS.
 * @type {number}
 */
export const STEPS = 255;

/**
 * Scale the opacity of the colours.
 * @param {string[]} colours  colour of each step, #rrggbbaa
 * @param {number} opacity  factor for all opacities, 0 to 1
 * @returns {number[][]} red, green, blue and opacity, 0 to 255 each
 */
export const shadesOf = (colours, opacity) => colours.map((colour) => {
  const [red, green, blue, cover] = [1, 3, 5, 7].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return [red, green, blue, Math.round(cover * opacity)];
});

/**
 * Draw the picture on a canvas of its own size: greyer and darker the more opaque the overlay is (glow.step_back).
 * @param {{values: Uint8Array, shape: number[]}} picture  shape: [height, width, 3]
 * @param {number} opacity  opacity of the overlay, 0 to 1
 * @returns {HTMLCanvasElement}
 */
export function canvasOfPicture({ values, shape: [high, wide] }, opacity) {
  const canvas = node("canvas"), pen = canvas.getContext("2d"), image = pen.createImageData(wide, high);
  [canvas.width, canvas.height] = [wide, high];
  for (let at = 0; at < wide * high; at++) image.data.set([...values.subarray(3 * at, 3 * at + 3), 255], 4 * at);
  pen.putImageData(image, 0, 0);
  for (const [mode, alpha] of [["saturation", 0.75], ["source-over", 0.35]]) {   // black has no saturation
    [pen.globalCompositeOperation, pen.globalAlpha] = [mode, alpha * opacity];
    pen.fillRect(0, 0, wide, high);
  }
  return canvas;
}

/**
 * Draw one pixel per patch on a canvas, to be stretched over the picture.
 * @param {ArrayLike<number>} numbers  colour steps (row, column); negative ones use the second list of shades
 * @param {number[]} shape  rows and columns
 * @param {number[][][]} lists  shades of positive and of negative steps
 * @returns {HTMLCanvasElement}
 */
export function canvasOfSteps(numbers, [rows, columns], [shades, below = shades]) {
  const canvas = node("canvas"), pen = canvas.getContext("2d");
  [canvas.width, canvas.height] = [columns, rows];
  const image = pen.createImageData(columns, rows);
  for (let at = 0; at < rows * columns; at++) {
    image.data.set((numbers[at] < 0 ? below : shades)[Math.abs(numbers[at])], 4 * at);
  }
  pen.putImageData(image, 0, 0);
  return canvas;
}

/**
 * Draw the picture and, over the area that has patches, their colours.
 * @param {CanvasRenderingContext2D} pen
 * @param {HTMLCanvasElement} picture
 * @param {HTMLCanvasElement} shares  see canvasOfSteps()
 * @param {number[]} size  width and height of the picture
 * @param {number[]} covered  width and height of the area with patches
 * @param {number[]} [corner]  upper left corner of the picture
 */
export function drawOver(pen, picture, shares, [wide, high], [right, bottom], [x, y] = [0, 0]) {
  pen.imageSmoothingEnabled = wide < 4 * picture.width;
  pen.drawImage(picture, x, y, wide, high);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(shares, x, y, right, bottom);
}

/**
 * Return the colour bar as CSS: the shades over the grey of a dimmed picture, with those of negative steps first.
 * @param {number[][]} shades  see shadesOf()
 * @param {number[][]} [below]  shades of negative steps
 * @returns {string} a CSS background
 */
export function barOf(shades, below = []) {
  const few = (list) => list.filter((_, step) => step % 51 === 0), stops = [...few(below).toReversed(), ...few(shades)];
  return `linear-gradient(90deg, ${stops.map(([r, g, b, cover]) => `rgb(${r} ${g} ${b} / ${cover / 255})`).join()}), rgb(108 108 108)`;
}
