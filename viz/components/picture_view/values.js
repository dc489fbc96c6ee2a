// What a number of a patch is on the bar of colours, and how it is written. Pure arithmetic, no document.
import { figure, short } from "../js/shared.js";

// From −1 to 1, how much of the colours a number has; NaN has none.
export function shareOf({ kind, even, low, high }, number) {
  if (Number.isNaN(number)) return 0;
  if (kind === "weight") return Math.max(0, Math.min(1, Math.log(Math.max(number / even, 1)) / Math.log(high)));
  if (kind === "signed") return Math.max(-1, Math.min(1, number / high));
  return high > low ? Math.max(0, Math.min(1, (number - low) / (high - low))) : 0;
}

// A number as people read it: a change with its sign.
export function formOf({ kind }, number) {
  return kind === "signed" && number > 0 ? `+${figure(number)}` : figure(number);
}

// [place on the bar, words] of its ticks.
export function ticksOf({ kind, low, high }) {
  if (kind === "weight") {
    const times = [1, 2, 4, 8].filter((each) => each < high * 0.75);
    const spaced = times.length > 4 ? times.filter((_, at) => at % 2 === 0) : times;
    return [...spaced.map((each) => [Math.log(each) / Math.log(high), `${each}×`]), [1, `${short(high)}×`]];
  }
  if (kind === "signed") return [[0, `−${short(high)}`], [0.5, "0"], [1, `+${short(high)}`]];
  return [[0, short(low)], [1, short(high)]];
}
