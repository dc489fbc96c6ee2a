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

const turn = (a, b, c) => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);

/**
 * Return the corners of the points' convex hull, counter-clockwise (Andrew 1979).
 * @param {number[][]} points  [x, y] per point
 * @returns {number[][]}
 */
export function hull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const chain = (given) => {
    const corners = [];
    for (const each of given) {
      while (corners.length > 1 && turn(corners.at(-2), corners.at(-1), each) <= 0) corners.pop();
      corners.push(each);
    }
    return corners.slice(0, -1);
  };
  const corners = [...chain(sorted), ...chain([...sorted].reverse())];
  return corners.length ? corners : sorted.slice(0, 1);
}
