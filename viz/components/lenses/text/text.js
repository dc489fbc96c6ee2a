// The text lens: running text with each word coloured by its attention weight from the token in focus.
import { channels, pixels } from "../../js/canvas.js";
import { brightness, inWindow, node, token } from "../../js/shared.js";
import { strengths } from "../../head_view/codes.js";

const TINTS = 96;

/** @type {import("../../head_view/head_view.js").Lens} */
export function text(stage, view) {
  let steps, shades, looking, lookedAt, tints, marked, guessing;

  function paragraph(axis, name) {
    const made = node("p", stage, `words ${name}`);
    made.dir = "auto";
    return axis.texts.map((each, at) => {
      if (at && !(axis.flags[at] & 4)) made.append(" ");
      const word = token(each, axis.flags[at], made, "span");
      word.dataset.at = at;
      return word;
    });
  }

  function draw() {
    const { rows, columns, body, state, colours } = view, one = body.columns === null;
    stage.replaceChildren();
    steps = strengths(state.scale, body);
    shades = pixels(colours.ramp, TINTS);
    looking = one ? undefined : paragraph(rows, "looking");
    lookedAt = paragraph(columns, one ? "looking" : "");
    looking ??= lookedAt;
    tints = new Uint8Array(lookedAt.length);
    marked = {};
    drawMarks();
  }

  // Draw the reader's marks for the query token.
  function drawMarks() {
    const { focus } = view.state;
    guessing = focus;
    lookedAt.forEach((word, at) => word.classList.toggle("guessed", focus !== null && view.marks.has(focus, at)));
  }

  // Return the text or background colour, whichever is readable on this colour.
  function readable(rgb) {
    const { theme, ink, paper } = view.colours;
    return brightness(rgb) > 125 === (theme === "light") ? ink : paper;
  }

  // Update only what changes: restyling every word on each move would be slow in a long text.
  function colourFrom(from) {
    const { weights } = view.body, columns = weights.shape[2];
    lookedAt.forEach((word, at) => {
      const tint = from === null ? 0 : Math.round(steps[weights.values[from * columns + at]] * (TINTS - 1));
      if (tint === tints[at]) return;
      tints[at] = tint;
      const rgb = channels(shades[tint]);
      word.style.background = tint ? `rgb(${rgb})` : "";
      word.style.color = tint ? readable(rgb) : "";
    });
  }

  function outline(name, word) {
    marked[name]?.classList.remove(name);
    word?.classList.add(name);
    marked[name] = word;
  }

  function mark({ row, column }) {
    const { focus, pair } = view.state, from = focus ?? row ?? null;
    colourFrom(from);
    outline("to", pair ? lookedAt[pair[1]] : undefined);
    outline("over", lookedAt[column]);
    outline("from", looking[from]);
    if (guessing !== focus) drawMarks();
  }

  function at(event, clicked) {
    const word = event.target.closest?.(".token"), { focus, marking } = view.state;
    if (!word) return {};
    const place = Number(word.dataset.at);
    const chooses = looking[place] === word && !(marking && looking === lookedAt && focus !== null);
    if (chooses && (looking !== lookedAt || focus === null || (clicked && !event.shiftKey))) return { row: place };
    return { row: focus ?? undefined, column: place };
  }

  function where({ row, column }) {
    const { left, bottom } = inWindow(column === undefined ? looking[row] : lookedAt[column]);
    return [left, bottom];
  }

  return { draw, mark, at, where, drawMarks, rowsOnly: true };
}
