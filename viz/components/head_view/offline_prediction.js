// A prediction without a server, as in a handout: the browser has the numbers, so it covers, reveals and scores the
// head itself.
import { valueOf } from "./codes.js";

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
