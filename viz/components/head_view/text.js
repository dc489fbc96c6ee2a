// The text lens: the sentence as flowing words, each on the colour of the weight that the focused token gives it.
import { node, pixels, token } from "../shared.js";
import { strengths } from "./codes.js";

const TINTS = 256;

export function text(stage, view) {
  let steps, shades, looking, lookedAt;
  stage.style.height = "auto";

  function paragraph(axis, name) {
    const made = node("p", `words ${name}`, undefined, stage);
    return axis.texts.map((each, at) => {
      if (at && !(axis.flags[at] & 4)) made.append(" ");
      const word = token(each, axis.flags[at], made);
      word.dataset.at = at;
      return word;
    });
  }

  function draw() {
    const { rows, columns, body, state, colours } = view, one = body.columns === null;
    stage.replaceChildren();
    steps = strengths(state.scale, body.floor);
    shades = pixels(colours.ramp, TINTS);
    looking = one ? undefined : paragraph(rows, "looking");
    lookedAt = paragraph(columns, one ? "looking" : "");
    looking ??= lookedAt;
  }

  const css = (pixel) => `rgb(${pixel & 255} ${(pixel >> 8) & 255} ${(pixel >> 16) & 255})`;

  // Ink or paper, whichever can be read on it.
  function readable(pixel) {
    const bright = 0.3 * (pixel & 255) + 0.59 * ((pixel >> 8) & 255) + 0.11 * ((pixel >> 16) & 255) > 125;
    return bright === (view.colours.theme === "light") ? view.colours.ink : view.colours.paper;
  }

  function mark({ row, column }) {
    const { focus, pair } = view.state, from = focus ?? row ?? null, { weights } = view.body, columns = weights.shape[2];
    lookedAt.forEach((word, at) => {
      const step = from === null ? 0 : steps[weights.values[from * columns + at]], shade = shades[Math.round(step * (TINTS - 1))];
      word.style.background = step ? css(shade) : "";
      word.style.color = step ? readable(shade) : "";
      word.classList.toggle("to", pair !== null && at === pair[1]);
      word.classList.toggle("over", at === column);
    });
    looking.forEach((word, at) => word.classList.toggle("from", at === from));
  }

  function at(event, clicked) {
    const word = event.target.closest?.(".token"), place = word ? Number(word.dataset.at) : undefined, { focus } = view.state;
    if (place === undefined) return {};
    const chooses = looking[place] === word;
    if (chooses && (looking !== lookedAt || focus === null || (clicked && !event.shiftKey))) return { row: place };
    return { row: focus ?? undefined, column: place };
  }

  function where({ row, column }) {
    const edge = (column === undefined ? looking[row] : lookedAt[column]).getBoundingClientRect();
    return [edge.left, edge.bottom];
  }

  return { draw, mark, at, where };
}
