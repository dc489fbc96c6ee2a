// Show the labels of an axis that must be readable now above the permanent ones.
import { READABLE } from "./codes.js";

/**
 * Calls draw(token, kind) for `marks`, which are [token, kind] with the most urgent first; what would lie on one of
 * them is left out, or hidden if it is among `base`, [token, node] of the labels that always stand.
 * @param {[number | null | undefined, string][]} marks
 * @param {number} pitch  pixels from one label to the next
 * @param {[number, HTMLElement][]} base
 * @param {(token: number, kind: string) => void} draw
 * @param {number} [least]  pixels from one label to the next
 */
export function light(marks, pitch, base, draw, least = READABLE) {
  const touch = (one, other) => Math.abs(one - other) * pitch < least;
  const lit = [];
  for (const [at, kind] of marks) {
    if (at == null || lit.some((other) => other !== at && touch(at, other))) continue;
    lit.push(at);
    draw(at, kind);
  }
  for (const [at, made] of base) {
    made.style.visibility = lit.some((other) => touch(at, other)) ? "hidden" : "";
  }
}
