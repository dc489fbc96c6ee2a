// Scale a plotly chart for a room: inside an enlarged element, plotly would misplace the pointer.

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
