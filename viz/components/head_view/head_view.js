// One head through one of three lenses, or the difference of two. Pointer, keyboard, tooltip and table are the same for all; only a choice is
// sent, as {token, pair}. While a reader predicts, the head is covered: no weights are here, cells are marked, and {marks} is sent in the end.
import { number, unpack } from "../wire.js";
import { figure, fill, frame, node, palette, short, tooltip } from "../shared.js";
import { signedBar } from "../signs.js";
import { covered, scored } from "./alone.js";
import { strength, valueOf } from "./codes.js";
import { lines } from "./lines.js";
import { marksOf } from "./marks.js";
import { matrix } from "./matrix.js";
import { text } from "./text.js";

const LENSES = { matrix, lines, text }, TICKS = { linear: [0, 0.5, 1], root: [0, 0.1, 0.4, 1], log: [0.0001, 0.001, 0.01, 0.1, 1] };

export function mount(element, bytes, send) {
  const { root, on, draw, end } = frame(element, "view", redraw);
  const say = node("div", "say", undefined, root), board = node("div", "board", undefined, root), legend = node("div", "legend", undefined, root);
  const table = node("div", "unseen", undefined, root), live = node("div", "unseen", undefined, root), tip = tooltip(root);
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
    if (drawn !== state.lens) {
      board.replaceChildren();
      lens = LENSES[state.lens](node("div", `stage ${state.lens}`, undefined, board), view);
      drawn = state.lens;
    }
    lens.draw();
    rest();
    if (held) pointAgain();
    drawLegend();
    board.setAttribute("aria-label", fill(body.text.keys, { head: headName(0) }));
    for (const canvas of board.querySelectorAll("canvas")) {
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", fill(body.bound ? body.text.picture_signed : body.text.picture, { head: headName(0), rows: view.rows.texts.length, columns: view.columns.texts.length }));
    }
    root.dataset.drawn = `${headName(0)} ${state.lens}`;
  }

  const name = (axis, at) => fill(view.body.text.position, { token: axis.texts[at], position: axis.tokens[at] });
  const headName = (head) => fill(view.body.text.head, { layer: view.body.heads[head][0], head: view.body.heads[head][1] });
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
    const rows = heads.map((_, head) => [heads.length > 1 ? headName(head) : bound ? words.change : words.weight, value(head, row, column)]);
    if (!scores) return rows;
    const score = number(scores.values[row * scores.shape[1] + column], low, high), step = (high - low) / 65534;
    rows.push([words.score, Number.isNaN(score) ? words.masked : score.toFixed(step < 0.004 ? 2 : step < 0.04 ? 1 : 0)]);
    return rows;
  }

  // Title and rows of the tooltip for what is under the pointer or the cursor.
  function about({ row, column }) {
    if (row === undefined) return column === undefined ? undefined : [name(view.columns, column), []];
    if (column === undefined) return [name(view.rows, row), view.state.marking ? [] : most(row, 3)];
    return [fill(view.body.text.pair, { from: name(view.rows, row), to: name(view.columns, column) }), facts(row, column)];
  }

  function point(spot, x, y) {
    const key = `${spot.row} ${spot.column}`, said = about(spot);
    if (key !== over) lens.mark(spot);
    over = key;
    if (said) tip.show(x, y, ...said);
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
    sayWhat();
    clearTimeout(later);
    later = setTimeout(drawTable, 200);
  }

  function sayWhat() {
    const { text: words, sums, notes } = view.body, { lens: kind, transpose, focus, marking } = view.state;
    const from = focus === null ? "" : name(view.rows, focus);
    if (marking) {
      say.textContent = kind === "text" && focus !== null ? fill(words.predict_text, { from }) : words.predict;
      return;
    }
    const first = { matrix: transpose ? words.column : words.row, lines: transpose ? words.lines_transposed : words.lines,
      text: focus === null ? words.text_none : fill(words.text, { from }) }[kind];
    const sum = sums && kind === "matrix" ? [transpose ? words.column_sum : words.row_sum] : [];
    const marks = view.state.alone ? view.marks.inside() : [], [found, best, uniform] = marks.length ? scored(view.body, marks).map(figure) : [];
    say.textContent = [...(marks.length ? [fill(words.scored, { found, best, uniform })] : []), first, ...sum, ...notes].join("; ");
  }

  function drawLegend() {
    const { body, state, colours } = view, words = body.text, { bound } = body;
    legend.classList.toggle("asks", Boolean(state.marking));
    if (state.marking) return drawButtons();
    const bar = node("span", "bar"), ticks = node("span", "ticks");
    bar.style.background = bound ? signedBar(colours.signed, colours.paper) : colours.gradient;
    for (const weight of bound ? [-bound, 0, bound] : TICKS[state.scale]) {
      const tick = node("span", "", weight > 0 && bound ? `+${short(weight)}` : short(weight), ticks);
      tick.style.left = `${100 * (bound ? (weight / bound + 1) / 2 : strength(weight, state.scale, body.floor))}%`;
    }
    const scale = node("span", "scale");
    scale.append(bar, ticks);
    const entry = (text, colour) => {
      const made = node("span", "entry", text);
      made.style.setProperty("--head", colour);
      return made;
    };
    legend.replaceChildren(node("span", "", bound ? words.change : words.weight), scale, node("span", "", words[state.scale]));
    if (state.lens === "matrix" && view.hidden) legend.append(entry(words.masked, colours.masked));
    if (state.lens === "matrix" && body.absent) legend.append(entry(words.absent, colours.masked));
    if (view.marks.inside().length && state.lens !== "lines") legend.append(node("span", "entry guess", words.yours));
    if (body.heads.length > 1 && state.lens === "lines") {
      legend.replaceChildren(...body.heads.map((_, head) => entry(headName(head), colours.heads[head])));
    }
  }

  // While the head is covered: how many cells are marked, and the way to the answer.
  function drawButtons() {
    const words = view.body.text, count = view.marks.inside().length, reveal = node("button", "reveal", words.reveal), clear = node("button", "", words.clear);
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

  function marked(said) {
    lens.drawMarks?.();
    drawButtons();
    live.textContent = said;
    clearTimeout(later);
    later = setTimeout(drawTable, 200);
  }

  function toggle(row, column) {
    const { text: words } = view.body, pair = fill(words.pair, { from: name(view.rows, row), to: name(view.columns, column) });
    if (!view.marks.toggle(row, column)) marked(`${pair}, ${words.masked}`);
    else marked(`${pair}, ${words.marked}: ${view.marks.has(row, column) ? words.yes : words.no}`);
  }

  // The focused row as a table, for those who cannot see the picture.
  function drawTable() {
    const { focus } = view.state, words = view.body.text;
    table.replaceChildren();
    if (focus === null) return;
    const made = node("table", "", undefined, table), from = name(view.rows, focus);
    node("caption", "", fill(words.table, { from }), made);
    const line = (tag, cells) => {
      const row = node("tr", "", undefined, made);
      for (const cell of cells) node(tag, "", cell, row);
    };
    line("th", [words.column_token, ...facts(focus, 0).map(([title]) => title)]);
    view.columns.texts.forEach((_, column) => line("td", [name(view.columns, column), ...facts(focus, column).map(([, value]) => value)]));
    if (!view.state.marking) live.textContent = fill(words.said, { from, list: most(focus, 3).map((each) => each.join(" ")).join(", ") });
  }

  function set(focus, pair) {
    view.state = { ...view.state, focus, pair };
    cursor = undefined;
    rest();
    send({ token: focus === null ? null : view.rows.tokens[focus], pair: pair && [view.rows.tokens[pair[0]], view.columns.tokens[pair[1]]] });
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
    const { focus, pair, lens: kind, transpose } = view.state, step = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
    const upright = key === "ArrowUp" || key === "ArrowDown", inside = (at, axis) => Math.max(0, Math.min(axis.texts.length - 1, at));
    if (!cursor) cursor = { row: focus ?? 0, column: undefined };
    if (kind === "text" || upright !== transpose) cursor.row = inside(cursor.row + step, view.rows);
    else cursor.column = inside(cursor.column === undefined ? pair?.[1] ?? cursor.row : cursor.column + step, view.columns);
    point(cursor, ...lens.where(cursor));
    const [title, rows] = about(cursor);
    live.textContent = [title, ...rows.map((row) => row.join(" "))].join(", ");
  }

  on(board, "pointermove", (event) => {
    held = event;
    point(lens.at(event, false), event.clientX, event.clientY);
  });
  on(board, "pointerleave", leave);
  on(document, "pointerdown", (event) => held && !event.composedPath().includes(board) && leave());
  on(board, "pointerdown", (event) => { touched = event.pointerType === "touch"; });   // in Safari before 18.2 a click does not say it
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

  function update(message) {
    const read = unpack(message);
    if (read.part === "state") {
      view.state = read;
      view.marks.begin(read);
    } else {
      [whole, blank] = [read, undefined];
      Object.assign(view, { rows: read.rows, columns: read.columns ?? read.rows, hidden: read.scores?.values.includes(65535) });
    }
    look();
    const { state, rows, columns } = view, within = (at, axis) => at !== null && at < axis.texts.length;
    if (!within(state.focus, rows)) state.focus = null;
    if (state.pair && !(within(state.pair[0], rows) && within(state.pair[1], columns))) state.pair = null;
    draw();
  }
  update(bytes);
  const destroy = () => {
    clearTimeout(later);
    end();
  };
  return { update, destroy };
}
