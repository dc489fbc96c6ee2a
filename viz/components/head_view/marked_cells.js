// The cells that a reader marks before the head is revealed. They are kept in the browser and sent together, so that no
// server response overwrites newer marks.

const key = (row, column) => `${row} ${column}`;

/**
 * Create an empty set of marks.
 * @param {import("./head_view.js").View} view
 * @returns {{begin: (state: object) => void, has: (row: number, column: number) => boolean,
 *   toggle: (row: number, column: number) => boolean, inside: () => number[][], clear: () => void,
 *   tokens: () => number[][]}}
 */
export function marksOf(view) {
  let cells = new Set(), round;

  // Use the server's marks when a new question begins, and the browser's marks until then.
  function begin(state) {
    if (state.round === round) return;
    round = state.round;
    cells = new Set((state.marks ?? []).map(([row, column]) => key(row, column)));
  }

  const has = (row, column) => cells.has(key(row, column));
  const masked = (row, column) => view.body.scores?.values[row * view.columns.texts.length + column] === 65535;

  // Toggle a cell, unless it is masked; return whether it was toggled.
  function toggle(row, column) {
    if (masked(row, column)) return false;
    if (!cells.delete(key(row, column))) cells.add(key(row, column));
    return true;
  }

  function inside() {
    const { rows, columns } = view, marked = [...cells].map((each) => each.split(" ").map(Number));
    const there = marked.filter(([row, column]) => row < rows.texts.length && column < columns.texts.length);
    return there.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  }

  const clear = () => cells.clear();
  const tokens = () => inside().map(([row, column]) => [view.rows.tokens[row], view.columns.tokens[column]]);
  return { begin, has, toggle, inside, clear, tokens };
}
