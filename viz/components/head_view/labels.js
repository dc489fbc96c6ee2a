// The labels of an axis that must be readable now, above those that always stand.
import { READABLE } from "./codes.js";

const touch = (one, other, pitch) => Math.abs(one - other) * pitch < READABLE;

/**
 * Calls draw(token, kind) for `marks`, which are [token, kind] with the most urgent first; what would lie on one of
 * them is left out, or hidden if it is among `base`, [token, node] of the labels that always stand.
 * @param {[number | null | undefined, string][]} marks
 * @param {number} pitch  pixels from one label to the next
 * @param {[number, HTMLElement][]} base
 * @param {(token: number, kind: string) => void} draw
 */
export function light(marks, pitch, base, draw) {
  const lit = [];
  for (const [at, kind] of marks) {
    if (at == null || lit.some((other) => other !== at && touch(at, other, pitch))) continue;
    lit.push(at);
    draw(at, kind);
  }
  for (const [at, made] of base) {
    made.style.visibility = lit.some((other) => touch(at, other, pitch)) ? "hidden" : "";
  }
}
