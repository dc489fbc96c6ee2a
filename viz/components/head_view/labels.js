// Show an axis's temporary labels on top of its permanent ones.
import { READABLE } from "./codes.js";

/**
 * Draw the temporary labels that do not overlap more important ones, and hide the permanent labels that they overlap.
 * @param {[number | null | undefined, string][]} marks  [token, kind] of temporary labels, most important first
 * @param {number} pitch  pixels from one token to the next
 * @param {[number, HTMLElement][]} base  [token, element] of permanent labels
 * @param {(token: number, kind: string) => void} draw  draws a temporary label
 * @param {number} [least]  smallest distance between labels in pixels
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
