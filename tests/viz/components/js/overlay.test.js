import { equal } from "../check.js";
import { canvasOfSteps, shadesOf } from "./overlay.js";

const SHADES = shadesOf(Array.from({ length: 256 }, (_, step) => `#ff${step.toString(16).padStart(2, "0")}00ff`), 1);
const BELOW = SHADES.map(([, green]) => [0, green, 255, 255]);

const pixelsOf = (canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return Array.from({ length: data.length / 4 }, (_, at) => [...data.subarray(4 * at, 4 * at + 4)]);
};

export function opacityIsOfTheCoverAlone() {
  equal(shadesOf(["#0a0b0c80", "#ffffffff"], 0.5), [[10, 11, 12, 64], [255, 255, 255, 128]]);
}

export function eachPatchHasItsStepAndWhatBecameLessTheOtherColours() {
  equal(pixelsOf(canvasOfSteps([0, 255, -7], [1, 3], [SHADES, BELOW])),
    [[255, 0, 0, 255], [255, 255, 0, 255], [0, 7, 255, 255]]);
}
