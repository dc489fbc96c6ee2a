// Explain the colours of the open head.
import { signedBar } from "../js/negative_marks.js";
import { node, short } from "../js/shared.js";
import { strength } from "./codes.js";

const TICKS = { linear: [0, 0.5, 1], root: [0, 0.1, 0.4, 1], log: [0.0001, 0.01, 1] };

/**
 * Return the elements of the legend below the picture. headName: returns a head's name, for lenses with several heads.
 * @param {import("./head_view.js").View} view
 * @param {(number: number) => string} headName
 * @returns {HTMLElement[]}
 */
export function legendOf(view, headName) {
  const { body, state, colours } = view, { text: words, bound } = body;
  if (body.heads.length > 1 && state.lens === "lines") {
    return body.heads.map((_, head) => entry(headName(head), colours.heads[head]));
  }
  const scale = node("span", "scale"), title = bound ? words.change : words.weight;
  scale.append(bar(view), ticks(view));
  const nodes = [node("span", "", title), scale, node("span", "", [words[state.scale], state.why_scale].filter(Boolean).join(", "))];
  if (state.lens === "matrix" && view.hidden) nodes.push(entry(words.masked, colours.masked));
  if (state.lens === "matrix" && body.absent) nodes.push(entry(words.absent, colours.masked));
  if (view.marks.inside().length && state.lens !== "lines") nodes.push(node("span", "entry guess", words.yours));
  return nodes;
}

function entry(text, colour) {
  const made = node("span", "entry", text);
  made.style.setProperty("--head", colour);
  return made;
}

function bar({ body, colours }) {
  const made = node("span", "bar");
  made.style.background = body.bound ? signedBar(colours.signed, colours.paper) : colours.gradient;
  return made;
}

function ticks({ body: { bound, floor }, state }) {
  const made = node("span", "ticks");
  for (const weight of bound ? [-bound, 0, bound] : TICKS[state.scale]) {
    const tick = node("span", "", weight > 0 && bound ? `+${short(weight)}` : short(weight), made);
    tick.style.left = `${100 * (bound ? (weight / bound + 1) / 2 : strength(weight, state.scale, floor))}%`;
  }
  return made;
}
