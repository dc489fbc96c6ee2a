// Names of tokens along an axis, with temporary ones on top.
import { div, token } from "../js/shared.js";
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

/**
 * Draw as many names of an axis as fit.
 * @param {HTMLElement} parent
 * @param {{texts: string[], flags: number[]}} axis
 * @param {string} name  CSS class of the axis
 * @param {number} pitch  pixels from one token to the next
 * @param {(made: HTMLElement, at: number) => void} put  places a name
 * @param {number} [least]  smallest distance between labels in pixels
 * @returns {(marks: [number | null | undefined, string][]) => void} draws temporary labels; see light()
 */
export function namesOf(parent, { texts, flags }, name, pitch, put, least = READABLE) {
  const base = [];
  function draw(at, kind, into) {
    const made = token(texts[at], flags[at], into);
    made.className += ` label ${name} ${kind}`;
    put(made, at);
    return made;
  }
  for (let at = 0; at < texts.length; at += Math.ceil(least / pitch)) base.push([at, draw(at, "", parent)]);
  const hot = div(parent);
  return (marks) => {
    hot.replaceChildren();
    light(marks, pitch, base, (at, kind) => draw(at, `hot ${kind}`, hot), least);
  };
}
