// Numbers over a picture: the picture steps back, and what is looked at glows. glow.py says in which colours.
import { node } from "./shared.js";

/**
 * The last step of the colours; a patch has from −STEPS to STEPS of them.
 * @type {number}
 */
export const STEPS = 255;

/**
 * @param {string[]} colours  of every step, #rrggbbaa
 * @param {number} opacity  of them all, 0 to 1
 * @returns {number[][]} red, green, blue and how much they cover, 0 to 255 each
 */
export const shadesOf = (colours, opacity) => colours.map((colour) => {
  const [red, green, blue, cover] = [1, 3, 5, 7].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return [red, green, blue, Math.round(cover * opacity)];
});

// Of one channel of a pixel, how light it is under an overlay: greyer and darker the more the overlay covers.
const stepBack = (channel, grey, opacity) => (channel + (grey - channel) * 0.75 * opacity) * (1 - 0.35 * opacity);

/**
 * The picture, {values, shape [high, wide, 3]}, on a canvas of its own size, stepped back.
 * @param {{values: Uint8Array, shape: number[]}} picture
 * @param {number} opacity  of what lies over it, 0 to 1
 * @returns {HTMLCanvasElement}
 */
export function canvasOfPicture({ values, shape: [high, wide] }, opacity) {
  const canvas = node("canvas"), pen = canvas.getContext("2d");
  [canvas.width, canvas.height] = [wide, high];
  const image = pen.createImageData(wide, high);
  for (let at = 0; at < wide * high; at++) {
    const [red, green, blue] = values.subarray(3 * at, 3 * at + 3), grey = 0.299 * red + 0.587 * green + 0.114 * blue;
    [red, green, blue].forEach((each, c) => { image.data[4 * at + c] = stepBack(each, grey, opacity); });
    image.data[4 * at + 3] = 255;
  }
  pen.putImageData(image, 0, 0);
  return canvas;
}

const FINE = 8;   // pixels a patch has each way where it is drawn smooth

// The value between the middles of cells, at x and y in cells; beyond the outer middles as there.
function between(numbers, [rows, columns], x, y) {
  const inside = (at, most) => Math.max(0, Math.min(most - 1, at));
  const left = inside(Math.floor(x - 0.5), columns), top = inside(Math.floor(y - 0.5), rows);
  const right = inside(left + 1, columns), low = inside(top + 1, rows);
  const across = Math.max(0, Math.min(1, x - 0.5 - left)), down = Math.max(0, Math.min(1, y - 0.5 - top));
  const at = (row, column) => numbers[row * columns + column];
  const above = at(top, left) * (1 - across) + at(top, right) * across;
  return above * (1 - down) + (at(low, left) * (1 - across) + at(low, right) * across) * down;
}

/**
 * @param {ArrayLike<number>} numbers  steps of the colours (row, column); those below 0 are of the second shades
 * @param {number[]} shape  rows and columns
 * @param {number[][][]} lists  shades of what is above 0 and of what is below
 * @param {boolean} smooth
 * @returns {HTMLCanvasElement} to be stretched over the picture
 */
export function canvasOfSteps(numbers, [rows, columns], [shades, below = shades], smooth) {
  const fine = smooth ? FINE : 1, canvas = node("canvas"), pen = canvas.getContext("2d");
  [canvas.width, canvas.height] = [columns * fine, rows * fine];
  const image = pen.createImageData(canvas.width, canvas.height);
  for (let y = 0; y < rows * fine; y++) {
    for (let x = 0; x < columns * fine; x++) {
      const found = smooth ? between(numbers, [rows, columns], (x + 0.5) / fine, (y + 0.5) / fine) : numbers[y * columns + x];
      image.data.set((found < 0 ? below : shades)[Math.round(Math.abs(found))], 4 * (y * canvas.width + x));
    }
  }
  pen.putImageData(image, 0, 0);
  return canvas;
}

/**
 * The picture, wide × high pixels of the pen from (x, y), and over the part of it that has patches the shares.
 * @param {CanvasRenderingContext2D} pen
 * @param {HTMLCanvasElement} picture
 * @param {HTMLCanvasElement} shares  of canvasOfSteps()
 * @param {number[]} size  of the picture
 * @param {number[]} covered  how much of it has patches
 * @param {boolean} smooth
 * @param {number[]} [corner]  its upper left
 */
export function drawOver(pen, picture, shares, [wide, high], [right, bottom], smooth, [x, y] = [0, 0]) {
  pen.imageSmoothingEnabled = wide < 4 * picture.width;
  pen.drawImage(picture, x, y, wide, high);
  pen.imageSmoothingEnabled = smooth;
  pen.drawImage(shares, x, y, right, bottom);
}

/**
 * The shades as a bar of CSS, over the middle grey that a picture steps back to; those of what is below 0 before them.
 * @param {number[][]} shades  of shadesOf()
 * @param {number[][]} [below]
 * @returns {string} a background of CSS
 */
export function barOf(shades, below = undefined) {
  const grey = stepBack(150, 150, 0.8), steps = [0, 51, 102, 153, 204, 255];
  const mixed = ([red, green, blue, cover]) => {
    const mix = (channel) => Math.round(grey + (channel - grey) * (cover / 255));
    return `rgb(${mix(red)} ${mix(green)} ${mix(blue)})`;
  };
  const stops = [...(below ? [...steps].reverse().map((step) => below[step]) : []), ...steps.map((step) => shades[step])];
  return `linear-gradient(90deg, ${stops.map(mixed).join()})`;
}
