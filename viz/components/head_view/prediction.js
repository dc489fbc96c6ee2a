// A reader's prediction of a head: the marked cells, and, in pages without a server, covering and scoring the head.
import { valueOf } from "./codes.js";

/**
 * Create an empty set of marks. They are kept in the browser and sent together, so that no server response overwrites
 * newer marks.
 * @param {import("./head_view.js").View} view
 * @returns {{begin: (state: object) => void, has: (row: number, column: number) => boolean,
 *   toggle: (row: number, column: number) => boolean, inside: () => number[][], clear: () => void,
 *   tokens: () => number[][]}}
 */
export function marksOf(view) {
  let cells = [], round;

  // Use the server's marks when a new question begins, and the browser's marks until then.
  function begin(state) {
    if (state.round === round) return;
    ({ round, marks: cells = [] } = state);
  }

  const others = (row, column) => cells.filter(([r, c]) => r !== row || c !== column);
  const has = (row, column) => others(row, column).length < cells.length;
  const masked = (row, column) => view.body.scores?.values[row * view.columns.texts.length + column] === 65535;

  // Toggle a cell, unless it is masked; return whether it was toggled.
  function toggle(row, column) {
    if (masked(row, column)) return false;
    cells = has(row, column) ? others(row, column) : [...cells, [row, column]];
    return true;
  }

  const exists = ([row, column]) => row < view.rows.texts.length && column < view.columns.texts.length;
  const inside = () => cells.filter(exists).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const clear = () => { cells = []; };
  const tokens = () => inside().map(([row, column]) => [view.rows.tokens[row], view.columns.tokens[column]]);
  return { begin, has, toggle, inside, clear, tokens };
}

/**
 * Return the head without its numbers.
 * @param {object} body  the head's body
 * @returns {object}
 */
export function covered(body) {
  const { weights } = body, values = new Uint16Array(weights.values.length);
  return { ...body, weights: { ...weights, values } };
}

/**
 * Score a prediction (model/studies/prediction_game.py): the weight on the marked cells, on the same number of best
 * cells, and on the same number of random cells, each averaged over the rows with marks.
 * @param {object} body  the head's body
 * @param {number[][]} marks  [row, column] per mark
 * @returns {number[]} the three means
 */
export function scored({ weights, scores }, marks) {
  const columns = weights.shape[2], rows = new Map(), sums = [0, 0, 0];
  for (const [row, column] of marks) rows.set(row, [...(rows.get(row) ?? []), column]);
  for (const [row, marked] of rows) {
    const own = Array.from({ length: columns }, (_, column) => valueOf(weights.values[row * columns + column]));
    const open = own.filter((_, column) => scores?.values[row * columns + column] !== 65535).sort((a, b) => b - a);
    sums[0] += total(marked.map((column) => own[column]));
    sums[1] += total(open.slice(0, marked.length));
    sums[2] += (total(open) * marked.length) / open.length;
  }
  return sums.map((sum) => sum / rows.size);
}

const total = (numbers) => numbers.reduce((sum, each) => sum + each, 0);
