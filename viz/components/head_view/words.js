// The texts of an open head: names, numbers, sentences, the row in focus as a table, and the legend of its colours.
import { weightBar } from "../js/canvas.js";
import { number } from "../js/messages.js";
import { figure, fill, fixed, isolated, scaleBar, span, table } from "../js/shared.js";
import { valueOf } from "./codes.js";

/**
 * @param {import("./head_view.js").View} view
 * @returns {{headName: (number: number) => string, pairName: (row: number, column: number) => string,
 *   about: (spot: import("./head_view.js").Spot) => [string, string[][]] | undefined, sentence: () => string,
 *   fillTable: (table: HTMLElement) => string | undefined}} about: title and rows of the tooltip
 */
export function wordsOf(view) {
  const name = (axis, at) =>
    fill(view.body.text.position, { token: isolated(axis.texts[at]), position: axis.tokens[at] });
  const rowName = (row) => {
    const from = name(view.rows, row);
    return view.body.blind.includes(row) ? fill(view.body.text.blind, { from }) : from;
  };
  const pairName = (row, column) =>
    fill(view.body.text.pair, { from: name(view.rows, row), to: name(view.columns, column) });

  function headName(number) {
    const [layer, head] = view.body.heads[number];
    return fill(view.body.text.head, { layer, head });
  }

  const code = (head, row, column) => {
    const { values, shape } = view.body.weights;
    return values[(head * shape[1] + row) * shape[2] + column];
  };

  // Return one token's largest weights in descending order.
  const most = (row, count) => view.columns.texts.map((_, column) => column)
    .sort((one, other) => code(0, row, other) - code(0, row, one)).slice(0, count)
    .map((column) => [name(view.columns, column), value(0, row, column)]);

  // Format a number: differences with a sign, missing values as a dash.
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

  /**
   * Return the tooltip's title and rows for the spot under the pointer or keyboard cursor.
   * @returns {[string, string[][]] | undefined}
   */
  function about({ row, column }) {
    if (row === undefined) return column === undefined ? undefined : [name(view.columns, column), []];
    const nothing = view.state.marking || view.body.blind.includes(row);
    if (column === undefined) return [rowName(row), nothing ? [] : most(row, 3)];
    return [pairName(row, column), facts(row, column)];
  }

  // Describe the picture in words.
  function sentence() {
    const { text: words, sums, notes } = view.body, { lens: kind, transpose, focus, marking } = view.state;
    const from = focus === null ? "" : name(view.rows, focus);
    if (marking) return kind === "text" && from ? fill(words.predict_text, { from }) : words.predict;
    const first = {
      matrix: transpose ? words.column : words.row,
      lines: transpose ? words.lines_transposed : words.lines,
      text: from ? fill(words.text, { from }) : words.text_none,
    }[kind];
    const sum = sums && kind === "matrix" ? [transpose ? words.column_sum : words.row_sum] : [];
    return [first, ...sum, ...notes].join("; ");
  }

  // Fill a table with the row in focus, for readers who cannot see the picture; return the table's description.
  function fillTable(unseen) {
    const { focus } = view.state, words = view.body.text;
    if (focus === null) return unseen.replaceChildren();
    const from = name(view.rows, focus), blind = view.body.blind.includes(focus);
    const head = [words.column_token, ...facts(focus, 0).map(([title]) => title)];
    const rows = view.columns.texts.map(
      (_, column) => [name(view.columns, column), ...facts(focus, column).map(([, value]) => value)]);
    table(unseen, blind ? rowName(focus) : fill(words.table, { from }), [head, ...rows]);
    const list = most(focus, 3).map((each) => each.join(" ")).join(", ");
    return blind ? rowName(focus) : fill(words.said, { from, list });
  }

  return { headName, pairName, about, sentence, fillTable };
}

/**
 * Draw the legend below the picture. headName: returns a head's name, for lenses with several heads.
 * @param {HTMLElement} legend
 * @param {import("./head_view.js").View} view
 * @param {(number: number) => string} headName
 */
export function drawLegend(legend, view, headName) {
  const { body, state, colours } = view, { text: words, bound } = body;
  const entry = (text, colour) => span(legend, "entry", text).style.setProperty("--head", colour);
  legend.replaceChildren();
  if (body.heads.length > 1 && state.lens === "lines") {
    return body.heads.forEach((_, head) => entry(headName(head), colours.heads[head]));
  }
  span(legend, "", bound ? words.change : words.weight);
  scaleBar(legend, weightBar(colours, bound), body.ticks[state.scale]);
  span(legend, "", [words[state.scale], state.why_scale].filter(Boolean).join(", "));
  if (state.lens === "matrix" && view.hidden) entry(words.masked, colours.masked);
  if (state.lens === "matrix" && body.absent) entry(words.absent, colours.masked);
  if (view.marks.inside().length && state.lens !== "lines") span(legend, "entry guess", words.yours);
}
