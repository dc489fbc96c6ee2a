// Explain the colours of the open head.
import { signedBar } from "../js/negative_marks.js";
import { scaleBar, span } from "../js/shared.js";

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
  const nodes = [span("", bound ? words.change : words.weight),
    scaleBar(undefined, bound ? signedBar(colours.signed, colours.paper) : colours.gradient, body.ticks[state.scale]),
    span("", [words[state.scale], state.why_scale].filter(Boolean).join(", "))];
  if (state.lens === "matrix" && view.hidden) nodes.push(entry(words.masked, colours.masked));
  if (state.lens === "matrix" && body.absent) nodes.push(entry(words.absent, colours.masked));
  if (view.marks.inside().length && state.lens !== "lines") nodes.push(span("entry guess", words.yours));
  return nodes;
}

function entry(text, colour) {
  const made = span("entry", text);
  made.style.setProperty("--head", colour);
  return made;
}
