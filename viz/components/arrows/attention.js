// The arithmetic of a two-dimensional head, the same as in model/lessons/head_steps.py.

/**
 * @param {number[]} query  [x, y]
 * @param {number[][]} keys  [x, y] per token
 * @param {number[][]} values  [x, y] per token
 * @returns {{dots: number[], scores: number[], weights: number[], mix: number[]}}
 */
export function attend(query, keys, values) {
  const dots = keys.map(([x, y]) => query[0] * x + query[1] * y), scores = dots.map((dot) => dot / Math.SQRT2);
  const top = Math.max(...scores), raised = scores.map((score) => Math.exp(score - top));
  const total = raised.reduce((sum, each) => sum + each, 0), weights = raised.map((each) => each / total);
  const mix = [0, 1].map((axis) => weights.reduce((sum, weight, at) => sum + weight * values[at][axis], 0));
  return { dots, scores, weights, mix };
}
