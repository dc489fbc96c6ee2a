// Save a picture as it is on the screen: the canvases and texts of its elements are drawn on one canvas.
import { node } from "../js/shared.js";

const EDGE = 16, LINE = 18, SCALE = 2;   // pixels around the picture and per line of its caption; pixels per pixel

const FONT = "12px system-ui, sans-serif";

// Draw an element's own box and text at its place; `left` and `top` is the origin.
function drawElement(pen, element, left, top) {
  const look = getComputedStyle(element), box = element.getBoundingClientRect();
  const [x, y] = [box.left - left, box.top - top];
  if (look.visibility === "hidden" || !box.width) return;
  pen.globalAlpha = Number(look.opacity);
  pen.fillStyle = look.backgroundColor;
  pen.fillRect(x, y, box.width, box.height);
  if (look.backgroundImage !== "none") drawBar(pen, look.backgroundImage, x, y, box);
  if (element instanceof HTMLCanvasElement) pen.drawImage(element, x, y, box.width, box.height);
  const width = parseFloat(look.borderTopWidth);
  if (width && parseFloat(look.borderLeftWidth)) {
    pen.strokeStyle = look.borderTopColor;
    pen.lineWidth = width;
    pen.strokeRect(x + width / 2, y + width / 2, box.width - width, box.height - width);
  }
  for (const part of element.childNodes) if (part instanceof Text && part.data.trim()) drawText(pen, part, look, left, top);
}

// Draw a colour bar: a gradient from left to right, as scaleBar() in shared.js sets it.
function drawBar(pen, image, x, y, { width, height }) {
  const colours = image.match(/rgba?\([^)]*\)/g) ?? [], fill = pen.createLinearGradient(x, 0, x + width, 0);
  colours.forEach((colour, at) => fill.addColorStop(at / Math.max(1, colours.length - 1), colour));
  pen.fillStyle = fill;
  pen.fillRect(x, y, width, height);
}

// Draw a text line by line, or turned as the names above a matrix are.
function drawText(pen, text, look, left, top) {
  const range = document.createRange(), turned = new DOMMatrix(look.transform).b < 0;
  pen.font = `${look.fontWeight} ${look.fontSize} ${look.fontFamily}`;
  pen.fillStyle = look.color;
  pen.textBaseline = "middle";
  let from = 0;
  const write = (to) => {
    range.setStart(text, from);
    range.setEnd(text, to);
    const box = range.getBoundingClientRect(), said = text.data.slice(from, to).trim();
    pen.save();
    pen.translate(box.left - left + (turned ? box.width / 2 : 0), box.top - top + (turned ? box.height : box.height / 2));
    if (turned) pen.rotate(-Math.PI / 2);
    pen.fillText(said, 0, 0);
    pen.restore();
    from = to;
  };
  // a line ends where the next character is below it
  let bottom;
  for (let at = 0; at < text.length && !turned; at++) {
    range.setStart(text, at);
    range.setEnd(text, at + 1);
    const box = range.getBoundingClientRect();
    if (bottom !== undefined && box.top >= bottom - 1) write(at);
    bottom = box.bottom;
  }
  write(text.length);
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
 * @param {HTMLElement} picture  a component's root
 * @param {string} caption  the words below it
 * @param {{ink: string, paper: string}} colours
 * @returns {Promise<Blob>}
 */
export function pngOf(picture, caption, { ink, paper }) {
  const canvas = node("canvas"), pen = canvas.getContext("2d"), { left, top, width, height } = picture.getBoundingClientRect();
  pen.font = FONT;
  const lines = linesOf(pen, caption, width);
  canvas.width = SCALE * (width + 2 * EDGE);
  canvas.height = SCALE * (height + 3 * EDGE + LINE * lines.length);
  pen.scale(SCALE, SCALE);
  pen.fillStyle = paper;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  for (const element of picture.querySelectorAll("*")) {
    if (!element.closest(".unseen, .tip, [hidden]")) drawElement(pen, element, left - EDGE, top - EDGE);
  }
  pen.globalAlpha = 1;
  pen.fillStyle = ink;
  pen.font = FONT;
  lines.forEach((line, at) => pen.fillText(line, EDGE, height + 2 * EDGE + LINE * (at + 0.5)));
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
