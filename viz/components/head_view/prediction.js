// A reader's prediction of a head: the marked cells, and, in pages without a server, covering the head.
/**
 * Create an empty set of marks. They are kept in the browser and sent together, so that no server response overwrites
 * newer marks.
 * @param {import("./head_view.js").View} view
 * @returns {{begin: (state: import("./head_view.js").State) => void, has: (row: number, column: number) => boolean,
 *   toggle: (row: number, column: number) => boolean, inside: () => [number, number][], clear: () => void,
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
 * @param {import("./head_view.js").Body} body
 * @returns {import("./head_view.js").Body}
 */
export function covered(body) {
  const { weights } = body, values = new Uint16Array(weights.values.length);
  return { ...body, weights: { ...weights, values } };
}
