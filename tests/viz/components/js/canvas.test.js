import { equal } from "../check.js";
import { canvasOf, canvasOfSteps, paint, pixels, strike, weightBar } from "./canvas.js";

export function coloursBetweenStopsAreMixedAsCanvasPixels() {
  equal([...pixels(["#000000", "#ffffff"], 3)], [0xFF000000, 0xFF808080, 0xFFFFFFFF]);
  equal([...pixels(["#102030", "#000000"], 1)], [0xFF302010]);
  equal([...pixels(["#ff0000", "#00ff00", "#0000ff"], 5)],
    [0xFF0000FF, 0xFF008080, 0xFF00FF00, 0xFF808000, 0xFFFF0000]);
}

export function pixelShowsTheLargestOfItsCellsAndACellFillsItsPixels() {
  const painted = (codes, start, size, [high, wide]) => {
    const out = new Uint32Array(high * wide);
    paint(codes, start, size, Uint32Array.from({ length: 10 }, (_, code) => 100 + code), out, [high, wide]);
    return [...out];
  };
  // the first two belong to another head
  equal(painted([0, 0, 1, 9, 2, 3, 4, 0, 8, 5], 2, [2, 4], [1, 2]), [109, 108]);
  equal(painted([3, 7], 0, [1, 2], [2, 4]), [103, 103, 107, 107, 103, 103, 107, 107]);
  equal(painted([1, 5, 2], 0, [1, 3], [1, 2]), [101, 105]);
}

export function canvasIsSharpOnAnEnlargedPage() {
  const canvas = document.body.appendChild(document.createElement("canvas"));
  document.body.style.zoom = 2;
  canvasOf(canvas, 30, 20);
  equal([canvas.width, canvas.height, canvas.style.width, canvas.style.height], [60, 40, "30px", "20px"]);
}

export function strokeDoesNotTouchTheEdgesOfItsCell() {
  const said = [], pen = { beginPath: () => said.push("begin"), stroke: () => said.push(pen.strokeStyle),
    moveTo: (x, y) => said.push([x, y]), lineTo: (x, y) => said.push([x, y]) };
  strike(pen, 10, 20, 100, 50, "red");
  equal(said, ["begin", [21, 59], [99, 31], "red"], "22% of the shorter side");
}

export function negativeHalfOfTheScaleIsStruckThrough() {
  const bar = weightBar({ signed: ["#111", "#eee", "#222"], paper: "white" }, true);
  equal([bar.startsWith("repeating-linear-gradient(135deg"), bar.includes("46% 100% no-repeat"),
    bar.endsWith("linear-gradient(90deg, #111,#eee,#222)")], [true, true, true]);
}

const all = (colour) => Array.from({ length: 256 }, (_, step) => colour(step.toString(16).padStart(2, "0")));
const GLOW = all((step) => `#ff${step}00ff`);

const pixelsOf = (canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return Array.from({ length: data.length / 4 }, (_, at) => [...data.subarray(4 * at, 4 * at + 4)]);
};

export function patchHasTheColourOfItsStep() {
  equal(pixelsOf(canvasOfSteps([0, 255], [1, 2], GLOW)), [[255, 0, 0, 255], [255, 255, 0, 255]]);
}
