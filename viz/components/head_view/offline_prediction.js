// A covered head without a server, as in a handout: its numbers are present, so it is covered, revealed and scored
// here.
import { valueOf } from "./codes.js";

/**
 * The head without a number in it.
 * @param {object} body  of the head
 * @returns {object}
 */
export function covered(body) {
  const { weights } = body, values = new Uint16Array(weights.values.length);
  return { ...body, weights: { ...weights, values } };
}

/**
 * Means over the rows with marks of the weight on them, on the best as many, and on as many at random
 * (model/studies/prediction_game.py).
 * @param {object} body  of the head
 * @param {number[][]} marks  [row, column] of each
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
