// A chart of plotly's for a room: plotly does not know where the pointer is in what a style enlarges.

const GROWS = /font\.size$|margin\.[lrtb]$|standoff$|ticklen$|yshift$|line\.width$|marker\.size$/;   // in pixels

/**
 * plotly's data or layout with larger letters, lines and the room that they need; numbers stay.
 * @param {*} value
 * @param {number} times
 * @param {string} [path]  of the value in the whole
 * @returns {*}
 */
export function larger(value, times, path = "") {
  if (times === 1) return value;
  if (Array.isArray(value)) return value.map((each) => larger(each, times, path));
  if (value === null || typeof value !== "object") return GROWS.test(path) ? value * times : value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, larger(each, times, `${path}.${key}`)]));
}
