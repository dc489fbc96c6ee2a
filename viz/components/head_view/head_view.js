// One head, or the difference of two, in one of the lenses, which share pointer, keyboard, tooltip and table. Only
// selections are sent, as {token, pair}. During a prediction the head is covered: the browser has no weights, the
// reader marks cells, and {marks} is sent at the end.
import { ARROWS, onKeys, presses } from "../js/input.js";
import { button, clamp, div, elementAt, fill, framed, heightFor, place, span, tooltip, within } from "../js/shared.js";
import { lines } from "../lenses/lines/lines.js";
import { matrix } from "../lenses/matrix/matrix.js";
import { covered, marksOf } from "./prediction.js";
import { text } from "../lenses/text/text.js";
import { drawLegend, wordsOf } from "./words.js";

/**
 * One or several heads, as Head.messages in viz/components/picture.py packs them: the weights' codes (head, row,
 * column), the scores' (row, column), or with a bound the codes of a difference.
 * @typedef {import("../js/messages.js").Section} Section
 * @typedef {{texts: string[], flags: number[], tokens: number[]}} Axis
 * @typedef {{heads: [layer: number, head: number][], rows: Axis, columns: Axis | null, weights: Section,
 *   scores?: Section, low: number, high: number, bound: number | null, absent: [number[], number[]] | null,
 *   blind: number[], floor: number, height: number, sums: boolean, notes: string[], text: Record<string, string>,
 *   ticks: Record<string, [number, string][]>}} Body
 * @typedef {{lens: string, scale: "linear" | "root" | "log", transpose: boolean,
 *   focus: number | null, pair: [number, number] | null, why_scale: string, marking: boolean, round: number,
 *   marks: number[][], alone: boolean}} State
 */
/**
 * The data that lenses receive: body and state, the tokens of both axes, the marks, the colours and the available size.
 * @typedef {{body: Body, state: State, rows: Axis, columns: Axis, hidden: boolean,
 *   marks: ReturnType<typeof marksOf>, colours: import("../js/shared.js").Colours, width: number, height: number, turn: <Item>(pair: [Item, Item]) => [Item, Item],
 *   lit: (spot: Spot) => [Marks, Marks]}} View
 *   turn: from [row, column] to [down, across], which are the same unless transposed; lit: the temporary labels of rows
 *   and columns, see labels.js
 */
/**
 * A lens: one way to draw a head.
 * @typedef {{row?: number, column?: number}} Spot
 * @typedef {[token: number | null | undefined, kind: string][]} Marks
 * @callback Lens
 * @param {HTMLElement} stage  the element to draw into
 * @param {View} view
 * @returns {{draw: () => void, mark: (spot: Spot) => void, at: (event: PointerEvent, clicked: boolean) => Spot,
 *   where: (spot: Spot) => number[], drawMarks?: () => void, rowsOnly?: boolean}}
 *   at: the spot under the pointer; where: its position in the window; rowsOnly: arrow keys only move the query token
 */

const LENSES = { matrix, lines, text };

/** @type {import("../js/component.js").Mount} */
export const mount = framed("view", ({ root, on, draw, send }) => {
  const sentence = div(root, "say"), board = div(root, "board"), legend = div(root, "legend");
  const table = div(root, "unseen"), tip = tooltip(root), caret = div(root, "caret"), view = /** @type {View} */ ({});
  let lens, drawn, cursor, later, held, over = "", whole;
  view.marks = marksOf(view);
  view.turn = ([row, column]) => (view.state.transpose ? [column, row] : [row, column]);
  view.lit = ({ row, column }) => {
    const { focus, pair } = view.state;
    return [[[row, "over"], [focus, "from"]], [[column, "over"], [pair?.[1], "to"]]];
  };
  const { headName, pairName, about, sentence: whatIsShown, fillTable } = wordsOf(view);

  board.tabIndex = 0;
  board.role = "application";

  function redraw(colours) {
    const { state, body } = view;
    Object.assign(view, { colours, width: root.clientWidth, height: heightFor(board, body.height) });
    if (drawn !== state.lens) {
      board.replaceChildren();
      lens = LENSES[state.lens](div(board, `stage ${state.lens}`), view);
      drawn = state.lens;
    }
    lens.draw();
    rest();
    if (held) pointAgain();
    drawBelow();
    const head = headName(0), size = { head, rows: view.rows.texts.length, columns: view.columns.texts.length };
    board.ariaLabel = fill(body.text.keys, { head });
    for (const canvas of board.querySelectorAll("canvas")) {
      canvas.role = "img";
      canvas.ariaLabel = fill(body.bound ? body.text.picture_signed : body.text.picture, size);
    }
    root.dataset.drawn = `${head} ${state.lens}`;
  }

  function point(spot, x, y) {
    const key = `${spot.row} ${spot.column}`, explained = about(spot);
    if (key !== over) lens.mark(spot);
    over = key;
    if (explained) tip.show(x, y, ...explained);
    else tip.hide();
  }

  // Update after the picture was redrawn under a resting pointer.
  function pointAgain() {
    const { clientX, clientY } = held, target = elementAt(root, clientX, clientY);
    if (board.contains(target)) point(lens.at({ clientX, clientY, target }, false), clientX, clientY);
  }

  function leave() {
    held = undefined;
    rest();
  }

  // Without a pointer, show only the focus and the pair.
  function rest() {
    over = "";
    tip.hide();
    lens.mark({});
    sentence.textContent = whatIsShown();
    drawTableSoon();
  }

  function drawTableSoon() {
    clearTimeout(later);
    later = setTimeout(() => {
      const said = fillTable(table);
      if (said && !view.state.marking) tip.say(said);
    }, 200);
  }

  function drawBelow() {
    const { marking } = view.state;
    legend.classList.toggle("asks", marking);
    if (marking) drawButtons();
    else drawLegend(legend, view, headName);
  }

  // While the head is covered, show the number of marked cells and the button that reveals the head.
  function drawButtons() {
    const words = view.body.text, count = view.marks.inside().length;
    legend.replaceChildren();
    const reveal = button(legend, "reveal", words.reveal, () => {
      board.focus({ preventScroll: true });   // the buttons are drawn again
      send({ marks: view.marks.tokens() });
      if (!view.state.alone) return;
      take({ marking: false });
      draw();
    });
    const clear = button(legend, "", words.clear, () => {
      board.focus({ preventScroll: true });
      view.marks.clear();
      marked(words.none);
    });
    reveal.disabled = clear.disabled = !count;
    span(legend, "", fill(words.count, { count }));
  }

  function marked(news) {
    lens.drawMarks?.();
    drawButtons();
    tip.say(news);
    drawTableSoon();
  }

  function toggle(row, column) {
    const { text: words } = view.body, pair = pairName(row, column);
    if (!view.marks.toggle(row, column)) marked(`${pair}, ${words.masked}`);
    else marked(`${pair}, ${words.marked}: ${view.marks.has(row, column) ? words.yes : words.no}`);
  }

  function set(focus, pair) {
    Object.assign(view.state, { focus, pair });
    cursor = undefined;
    rest();
    const { rows, columns } = view;
    send({ token: rows.tokens[focus] ?? null, pair: pair && [rows.tokens[pair[0]], columns.tokens[pair[1]]] });
  }

  function choose({ row, column }) {
    const { focus, pair } = view.state;
    if (row === undefined && column === undefined) return;
    if (column === undefined) row === focus ? set(null, null) : set(row, null);
    else if (row !== undefined || focus !== null) {
      const from = row ?? focus;
      if (view.state.marking) return toggle(from, column);
      set(from, pair && pair[0] === from && pair[1] === column ? null : [from, column]);
    }
  }

  // Arrow keys move between rows and, in a lens with cells, within a row between cells.
  function move(/** @type {number[]} */ [right, down]) {
    const { focus, pair, transpose } = view.state, step = right + down;
    const inside = (at, axis) => clamp(at, 0, axis.texts.length - 1);
    cursor ??= { row: focus ?? 0, column: undefined };
    const { row, column } = cursor, next = column === undefined ? pair?.[1] ?? row : column + step;
    if (lens.rowsOnly || Boolean(down) !== transpose) cursor.row = inside(row + step, view.rows);
    else cursor.column = inside(next, view.columns);
    const [clientX, clientY] = lens.where(cursor);
    place(caret, ...within(root, { clientX, clientY }));
    caret.scrollIntoView({ block: "nearest" });
    point(cursor, ...lens.where(cursor));
    tip.say(...about(cursor));
  }

  on(board, "pointermove", (event) => {
    held = event;
    point(lens.at(event, false), event.clientX, event.clientY);
  });
  on(board, "pointerleave", leave);
  on(window, "resize", draw);   // entering full screen may not change a window's width
  on(document, "pointerdown", (event) => held && !event.composedPath().includes(board) && leave());
  on(board, "click", (event) => {
    const spot = lens.at(event, true), { focus } = view.state;
    const second = event.shiftKey && spot.column === undefined && focus !== null && view.body.columns === null;
    choose(second ? { row: focus, column: spot.row } : spot);
    if (event.pointerType !== "touch") return;
    held = event;
    pointAgain();
  });
  onKeys(on, board, (event) => {
    if (ARROWS[event.key]) move(ARROWS[event.key]);
    else if (event.key === "Escape") set(view.state.pair && view.state.focus, null);
    else if (!presses(event)) return false;
    else if (cursor) cursor.column === undefined ? set(cursor.row, null) : choose(cursor);
  });
  on(board, "blur", () => {
    cursor = undefined;
    leave();
  });

  function build(read) {
    whole = read;
    const { rows, columns, scores } = read;
    Object.assign(view, { rows, columns: columns ?? rows, hidden: scores?.values.includes(65535) });
    if (view.state) take({});
  }

  function take(read) {
    const state = view.state = { ...view.state, ...read }, { rows, columns } = view;
    view.marks.begin(state);
    view.body = state.alone && state.marking ? covered(whole) : whole;
    if (state.focus >= rows.texts.length) state.focus = null;
    if (state.pair?.[0] >= rows.texts.length || state.pair?.[1] >= columns.texts.length) state.pair = null;
  }

  return { build, take, redraw, leave: () => clearTimeout(later) };
});
