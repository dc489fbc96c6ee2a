import { equal, near } from "../check.js";
import { strength, strengths, valueOf, widest, widthOf } from "./codes.js";

export function weightHasItsScalesPositionOnTheRamp() {
  for (const [scale, weights, places] of [["linear", [0, 0.25, 1], [0, 0.25, 1]], ["root", [0, 0.25, 1], [0, 0.5, 1]],
    ["log", [0, 1e-4, 1e-2, 1], [0, 0, 0.5, 1]]]) {
    near(weights.map((each) => strength(each, scale, 1e-4)), places);
    const steps = strengths(scale, { floor: 1e-4 }), signed = strengths(scale, { floor: 1e-4, bound: 0.2 });
    equal([steps.length, steps[0], steps[65535]], [65536, 0, 1]);
    equal([signed[0], signed[1], signed[65533], signed[65534]], [NaN, 0, -1, 1]);
  }
}

export function wideCharactersTakeTwoColumns() {
  const texts = ["ab", "漢", "👩", ""];
  near([...texts.map(widthOf), widest(texts)], [14.6, 13, 13, 0, 14.6]);
}

export function codeWithoutRangeIsAWeight() {
  equal(valueOf(65535, null), 1);
}
