// Draw numbers over a picture: the picture is dimmed, and attended parts glow in the colours of glow.py.
import { node } from "./shared.js";

/**
 * The last colour step; a patch's step is between −STEPS and STEPS.
 * @type {number}
 */
export const STEPS = 255;

function canvasOf(wide, high) {
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
  const [canvas, pen] = canvasOf(wide, high), image = pen.createImageData(wide, high);
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
 * @param {ArrayLike<number>} numbers  colour steps (row, column); negative ones use the second list of colours
 * @param {number[]} shape  rows and columns
 * @param {string[][]} lists  colours of positive and of negative steps, #rrggbbaa
 * @returns {HTMLCanvasElement}
 */
export function canvasOfSteps(numbers, [rows, columns], [colours, below]) {
  const [canvas, pen] = canvasOf(columns, rows);
  for (let at = 0; at < rows * columns; at++) {
    pen.fillStyle = (numbers[at] < 0 ? below : colours)[Math.abs(numbers[at])];
    pen.fillRect(at % columns, Math.floor(at / columns), 1, 1);
  }
  return canvas;
}

/**
 * Draw the picture and, over the area that has patches, their colours.
 * @param {CanvasRenderingContext2D} pen
 * @param {HTMLCanvasElement} picture
 * @param {HTMLCanvasElement} shares  see canvasOfSteps()
 * @param {number} opacity
 * @param {number[]} size  width and height of the picture
 * @param {number[]} covered  width and height of the area with patches
 * @param {number[]} [corner]  upper left corner of the picture
 */
export function drawOver(pen, picture, shares, opacity, [wide, high], [right, bottom], [x, y] = [0, 0]) {
  pen.imageSmoothingEnabled = wide < 4 * picture.width;
  pen.drawImage(picture, x, y, wide, high);
  pen.imageSmoothingEnabled = false;
  pen.globalAlpha = opacity;
  pen.drawImage(shares, x, y, right, bottom);
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
  return `linear-gradient(90deg, ${thinned.join()}), rgb(108 108 108)`;
}
