import { equal } from "../check.js";
import { canvasOfSteps } from "./overlay.js";

const all = (colour) => Array.from({ length: 256 }, (_, step) => colour(step.toString(16).padStart(2, "0")));
const GLOW = all((step) => `#ff${step}00ff`), BELOW = all((step) => `#00${step}ffff`);

const pixelsOf = (canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return Array.from({ length: data.length / 4 }, (_, at) => [...data.subarray(4 * at, 4 * at + 4)]);
};

export function patchHasItsStepAndNegativeOnesTheOtherColours() {
  equal(pixelsOf(canvasOfSteps([0, 255, -7], [1, 3], [GLOW, BELOW])),
    [[255, 0, 0, 255], [255, 255, 0, 255], [0, 7, 255, 255]]);
}
