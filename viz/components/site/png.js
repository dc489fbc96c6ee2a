// Save a picture as it is on the screen: the canvases, boxes and texts of its elements are drawn on one canvas.
import { node } from "../js/shared.js";

const EDGE = 16, LINE = 18, SCALE = 2;   // pixels around the picture and per line of its caption; pixels per pixel
const FONT = "12px system-ui, sans-serif", LEFT_OUT = ".unseen, .tip, .say, [hidden]";

// Draw an element's own box and texts where they are in the window.
function drawElement(pen, element) {
  const look = getComputedStyle(element), { x, y, width, height } = element.getBoundingClientRect();
  const border = parseFloat(look.borderLeftWidth);
  if (look.visibility === "hidden" || !width) return;
  pen.globalAlpha = Number(look.opacity);
  pen.fillStyle = colourBar(pen, look.backgroundImage, x, width) ?? look.backgroundColor;
  pen.fillRect(x, y, width, height);
  if (element instanceof HTMLCanvasElement) pen.drawImage(element, x, y, width, height);
  pen.strokeStyle = look.borderLeftColor;
  pen.lineWidth = border;
  if (border) pen.strokeRect(x + border / 2, y + border / 2, width - border, height - border);
  for (const part of element.childNodes) if (part instanceof Text) drawText(pen, part, look);
}

// Return the gradient from left to right of a colour bar.
function colourBar(pen, image, x, width) {
  const colours = image.match(/rgba?\([^)]*\)/g), fill = pen.createLinearGradient(x, 0, x + width, 0);
  colours?.forEach((colour, at) => fill.addColorStop(at / (colours.length - 1), colour));
  return colours && fill;
}

// Draw a text of one line, turned as the names above a matrix are.
function drawText(pen, text, look) {
  const range = document.createRange(), turned = new DOMMatrix(look.transform).b < 0;
  range.selectNodeContents(text);
  const { x, y, width, height } = range.getBoundingClientRect();
  pen.font = `${look.fontWeight} ${look.fontSize} ${look.fontFamily}`;
  pen.fillStyle = look.color;
  pen.save();
  pen.translate(x + (turned ? width / 2 : 0), y + height / (turned ? 1 : 2));
  if (turned) pen.rotate(-Math.PI / 2);
  pen.fillText(text.data, 0, 0);
  pen.restore();
}

// Break words into lines of this width.
function linesOf(pen, words, width) {
  const lines = [""];
  for (const word of words.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (pen.measureText(longer).width > width) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

/**
 * Return a picture as a PNG file.
 * @param {Element} picture  the root of an open head
 * @param {string} caption  the words below it
 * @returns {Promise<Blob>}
 */
export function pngOf(picture, caption) {
  const canvas = node("canvas"), pen = canvas.getContext("2d"), look = getComputedStyle(picture);
  const { left, bottom, width } = picture.getBoundingClientRect();
  const { top } = picture.querySelector(".board").getBoundingClientRect(), height = bottom - top;
  pen.font = FONT;
  const lines = linesOf(pen, caption, width);
  canvas.width = SCALE * (width + 2 * EDGE);
  canvas.height = SCALE * (height + 3 * EDGE + LINE * lines.length);
  pen.scale(SCALE, SCALE);
  pen.textBaseline = "middle";
  pen.fillStyle = look.getPropertyValue("--paper");
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.translate(EDGE - left, EDGE - top);
  for (const element of picture.querySelectorAll("*")) {
    if (!element.closest(LEFT_OUT)) drawElement(pen, element);
  }
  pen.globalAlpha = 1;
  pen.fillStyle = look.getPropertyValue("--ink");
  pen.font = FONT;
  lines.forEach((line, at) => pen.fillText(line, left, bottom + EDGE + LINE * (at + 0.5)));
  return new Promise((resolve) => canvas.toBlob(resolve));
}
