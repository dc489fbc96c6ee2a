// One head through one of three lenses, or the difference of two. Pointer, keyboard, tooltip and table are the same
// for all; only a choice is sent, as {token, pair}. While a reader predicts, the head is covered: no weights are
// here, cells are marked, and {marks} is sent in the end.
import { number, receiver } from "../js/messages.js";
import { div, figure, fill, fixed, frame, node, palette, tooltip, zoomOf } from "../js/shared.js";
import { covered, scored } from "./offline_prediction.js";
import { valueOf } from "./codes.js";
import { legendOf } from "./legend.js";
import { lines } from "./lines.js";
import { marksOf } from "./marked_cells.js";
import { matrix } from "./matrix.js";
import { text } from "./text.js";

/**
 * What the lenses see of the head: its message, the tokens of its axes, the state, the marks, the colours and the room.
 * @typedef {{body: object, state: object, rows: object, columns: object, hidden: boolean, marks: object, colours: object,
 *   width: number, height: number}} View
 */
/**
 * One way to draw a head.
 * @typedef {{row?: number, column?: number}} Spot
 * @callback Lens
 * @param {HTMLElement} stage  what it draws into
 * @param {View} view
 * @returns {{draw: () => void, mark: (spot: Spot) => void, at: (event: PointerEvent, clicked: boolean) => Spot,
 *   where: (spot: Spot) => number[], drawMarks?: () => void}} at: what is under the pointer; where: a place in the window
 */

const LENSES = { matrix, lines, text }, LOWEST = 200;

/** @type {import("../js/component.js").Mount} */
export function mount(element, bytes, send) {
  const { root, on, draw, end } = frame(element, "view", redraw);
  const sentence = div("say", root), board = div("board", root), legend = div("legend", root);
  const table = div("unseen", root), live = div("unseen", root), tip = tooltip(root);
  const view = { state: { lens: "matrix", scale: "linear", transpose: false, focus: null, pair: null } };
  let lens, drawn, cursor, later, held, touched, over = "", whole, blank;
  view.marks = marksOf(view);

  live.setAttribute("aria-live", "polite");
  board.tabIndex = 0;
  board.setAttribute("role", "application");

  function redraw() {
    const { state, body } = view;
    view.colours = palette(root, body.colours);
    view.colours.line = view.colours.ramp[view.colours.theme === "dark" ? 6 : 5];
    view.colours.signed = body.colours.signed[view.colours.theme];
    view.colours.masked = view.colours.theme === "dark" ? "#1b212c" : "#eeeff2";
    view.width = root.clientWidth;
    view.height = body.above ? Math.max(LOWEST, innerHeight / zoomOf(root) - body.above) : body.height;
    if (drawn !== state.lens) {
      board.replaceChildren();
      lens = LENSES[state.lens](div(`stage ${state.lens}`, board), view);
      drawn = state.lens;
    }
    lens.draw();
    rest();
    if (held) pointAgain();
    drawLegend();
    const head = headName(0), size = { head, rows: view.rows.texts.length, columns: view.columns.texts.length };
    board.setAttribute("aria-label", fill(body.text.keys, { head }));
    for (const canvas of board.querySelectorAll("canvas")) {
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", fill(body.bound ? body.text.picture_signed : body.text.picture, size));
    }
    root.dataset.drawn = `${head} ${state.lens}`;
  }

  const name = (axis, at) => fill(view.body.text.position, { token: axis.texts[at], position: axis.tokens[at] });
  const rowName = (row) => {
    const from = name(view.rows, row);
    return view.body.blind?.includes(row) ? fill(view.body.text.blind, { from }) : from;
  };
  const between = (row, column) => ({ from: name(view.rows, row), to: name(view.columns, column) });
  const pairName = (row, column) => fill(view.body.text.pair, between(row, column));

  function headName(number) {
    const [layer, head] = view.body.heads[number];
    return fill(view.body.text.head, { layer, head });
  }

  const code = (head, row, column) => {
    const { values, shape } = view.body.weights;
    return values[(head * shape[1] + row) * shape[2] + column];
  };

  // What one token looks at most, largest first.
  function most(row, count) {
    const best = [];
    for (let column = 0; column < view.columns.texts.length; column++) {
      let at = best.length;
      while (at > 0 && code(0, row, column) > code(0, row, best[at - 1])) at--;
      if (at < count) best.splice(at, 0, column);
      best.length = Math.min(best.length, count);
    }
    return best.map((column) => [name(view.columns, column), value(0, row, column)]);
  }

  // A number as people read it; a difference with its sign, and what one side does not have as a dash.
  function value(head, row, column) {
    const { bound, absent } = view.body, found = valueOf(code(head, row, column), bound);
    if (Number.isNaN(found) || absent?.[0].includes(row) || absent?.[1].includes(column)) return "–";
    return bound && found > 0 ? `+${figure(found)}` : figure(found);
  }

  function facts(row, column) {
    const { text: words, heads, scores, low, high, bound } = view.body;
    if (view.state.marking) return [[words.marked, view.marks.has(row, column) ? words.yes : words.no]];
    const title = bound ? words.change : words.weight;
    const rows = heads.map((_, head) => [heads.length > 1 ? headName(head) : title, value(head, row, column)]);
    if (!scores) return rows;
    const score = number(scores.values[row * scores.shape[1] + column], low, high), step = (high - low) / 65534;
    const digits = [0.04, 0.004].filter((each) => step < each).length;
    rows.push([words.score, Number.isNaN(score) ? words.masked : fixed(score, digits)]);
    return rows;
  }

  // Title and rows of the tooltip for what is under the pointer or the cursor.
  function about({ row, column }) {
    if (row === undefined) return column === undefined ? undefined : [name(view.columns, column), []];
    const nothing = view.state.marking || view.body.blind?.includes(row);
    if (column === undefined) return [rowName(row), nothing ? [] : most(row, 3)];
    return [pairName(row, column), facts(row, column)];
  }

  function point(spot, x, y) {
    const key = `${spot.row} ${spot.column}`, explained = about(spot);
    if (key !== over) lens.mark(spot);
    over = key;
    if (explained) tip.show(x, y, ...explained);
    else tip.hide();
  }

  // The picture was drawn anew under a pointer that stays where it is.
  function pointAgain() {
    const { clientX, clientY } = held, target = root.getRootNode().elementFromPoint(clientX, clientY);
    if (board.contains(target)) point(lens.at({ clientX, clientY, target }, false), clientX, clientY);
  }

  function leave() {
    held = undefined;
    rest();
  }

  // Nothing under the pointer: the focus and the pair alone.
  function rest() {
    over = "";
    tip.hide();
    lens.mark({});
    sentence.textContent = whatIsShown();
    drawTableSoon();
  }

  function drawTableSoon() {
    clearTimeout(later);
    later = setTimeout(drawTable, 200);
  }

  // What the picture shows, in words.
  function whatIsShown() {
    const { text: words, sums, notes } = view.body, { lens: kind, transpose, focus, marking } = view.state;
    const from = focus === null ? "" : name(view.rows, focus);
    if (marking) return kind === "text" && from ? fill(words.predict_text, { from }) : words.predict;
    const first = {
      matrix: transpose ? words.column : words.row,
      lines: transpose ? words.lines_transposed : words.lines,
      text: from ? fill(words.text, { from }) : words.text_none,
    }[kind];
    const sum = sums && kind === "matrix" ? [transpose ? words.column_sum : words.row_sum] : [];
    const marks = view.state.alone ? view.marks.inside() : [];
    const [found, best, uniform] = marks.length ? scored(view.body, marks).map(figure) : [];
    const score = marks.length ? [fill(words.scored, { found, best, uniform })] : [];
    return [...score, first, ...sum, ...notes].join("; ");
  }

  function drawLegend() {
    const { marking } = view.state;
    legend.classList.toggle("asks", Boolean(marking));
    if (marking) drawButtons();
    else legend.replaceChildren(...legendOf(view, headName));
  }

  // While the head is covered: how many cells are marked, and the way to the answer.
  function drawButtons() {
    const words = view.body.text, count = view.marks.inside().length;
    const reveal = node("button", "reveal", words.reveal), clear = node("button", "", words.clear);
    reveal.disabled = clear.disabled = !count;
    reveal.onclick = () => {
      send({ marks: view.marks.tokens() });
      if (!view.state.alone) return;
      view.state = { ...view.state, marking: false };
      look();
      draw();
    };
    clear.onclick = () => {
      view.marks.clear();
      marked(words.none);
    };
    legend.replaceChildren(reveal, clear, node("span", "", fill(words.count, { count })));
  }

  function marked(news) {
    lens.drawMarks?.();
    drawButtons();
    live.textContent = news;
    drawTableSoon();
  }

  function toggle(row, column) {
    const { text: words } = view.body, pair = pairName(row, column);
    if (!view.marks.toggle(row, column)) marked(`${pair}, ${words.masked}`);
    else marked(`${pair}, ${words.marked}: ${view.marks.has(row, column) ? words.yes : words.no}`);
  }

  // The focused row as a table, for those who cannot see the picture.
  function drawTable() {
    const { focus } = view.state, words = view.body.text;
    table.replaceChildren();
    if (focus === null) return;
    const made = node("table", "", undefined, table), from = name(view.rows, focus);
    const blind = view.body.blind?.includes(focus);
    node("caption", "", blind ? rowName(focus) : fill(words.table, { from }), made);
    const line = (tag, cells) => {
      const row = node("tr", "", undefined, made);
      for (const cell of cells) node(tag, "", cell, row);
    };
    line("th", [words.column_token, ...facts(focus, 0).map(([title]) => title)]);
    view.columns.texts.forEach((_, column) => {
      line("td", [name(view.columns, column), ...facts(focus, column).map(([, value]) => value)]);
    });
    const list = most(focus, 3).map((each) => each.join(" ")).join(", ");
    if (!view.state.marking) live.textContent = blind ? rowName(focus) : fill(words.said, { from, list });
  }

  function set(focus, pair) {
    view.state = { ...view.state, focus, pair };
    cursor = undefined;
    rest();
    const { rows, columns } = view;
    send({ token: rows.tokens[focus] ?? null, pair: pair && [rows.tokens[pair[0]], columns.tokens[pair[1]]] });
  }

  function choose({ row, column }) {
    const { focus, pair } = view.state;
    if (row === undefined && column === undefined) return;
    if (column === undefined) row === focus ? set(null, null) : set(row, null);
    else if (row === undefined && focus === null) return;
    else {
      const from = row ?? focus;
      if (view.state.marking) return toggle(from, column);
      set(from, pair && pair[0] === from && pair[1] === column ? null : [from, column]);
    }
  }

  // Arrows move a row, and from a row a cell; in the text every arrow moves the token that looks.
  function move(key) {
    const { focus, pair, lens: kind, transpose } = view.state, upright = ["ArrowUp", "ArrowDown"].includes(key);
    const step = ["ArrowRight", "ArrowDown"].includes(key) ? 1 : -1;
    const inside = (at, axis) => Math.max(0, Math.min(axis.texts.length - 1, at));
    cursor ??= { row: focus ?? 0, column: undefined };
    const { row, column } = cursor, next = column === undefined ? pair?.[1] ?? row : column + step;
    if (kind === "text" || upright !== transpose) cursor.row = inside(row + step, view.rows);
    else cursor.column = inside(next, view.columns);
    point(cursor, ...lens.where(cursor));
    const [title, rows] = about(cursor);
    live.textContent = [title, ...rows.map((row) => row.join(" "))].join(", ");
  }

  on(board, "pointermove", (event) => {
    held = event;
    point(lens.at(event, false), event.clientX, event.clientY);
  });
  on(board, "pointerleave", leave);
  on(window, "resize", draw);   // a window that becomes full screen may keep its width
  on(document, "pointerdown", (event) => held && !event.composedPath().includes(board) && leave());
  // in Safari before 18.2 a click does not say it
  on(board, "pointerdown", (event) => { touched = event.pointerType === "touch"; });
  on(board, "click", (event) => {
    const spot = lens.at(event, true), { focus } = view.state;
    const second = event.shiftKey && spot.column === undefined && focus !== null && view.body.columns === null;
    choose(second ? { row: focus, column: spot.row } : spot);
    if (!touched) return;
    held = event;
    pointAgain();
  });
  on(board, "keydown", (event) => {
    if (event.key.startsWith("Arrow")) move(event.key);
    else if (event.key === "Escape") set(null, null);
    else if (event.key !== "Enter" && event.key !== " ") return;
    else if (cursor) cursor.column === undefined ? set(cursor.row, null) : choose(cursor);
    event.preventDefault();
  });
  on(board, "blur", () => {
    cursor = undefined;
    leave();
  });

  // A head that is covered here shows no number of its own.
  function look() {
    view.body = view.state.alone && view.state.marking ? (blank ??= whole && covered(whole)) : whole;
  }

  return receiver(bytes, (read) => {
    if (read.part === "state") {
      view.state = read;
      view.marks.begin(read);
    } else {
      [whole, blank] = [read, undefined];
      const { rows, columns, scores } = read;
      Object.assign(view, { rows, columns: columns ?? rows, hidden: scores?.values.includes(65535) });
    }
    look();
    const { state, rows, columns } = view, within = (at, axis) => at !== null && at < axis.texts.length;
    if (!within(state.focus, rows)) state.focus = null;
    if (state.pair && !(within(state.pair[0], rows) && within(state.pair[1], columns))) state.pair = null;
    draw();
  }, () => (clearTimeout(later), end()));
}
