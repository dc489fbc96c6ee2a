// Scale a plotly chart for presenting, because plotly misplaces the pointer inside an enlarged element.

const GROWS = /font\.size$|margin\.[lrtb]$|standoff$|ticklen$|yshift$|line\.width$|marker\.size$/;   // in pixels

/**
 * Return plotly data or a layout with larger text, lines and margins; the plotted numbers stay the same.
 * @param {*} value
 * @param {number} times
 * @param {string} [path]  path of the value in the whole
 * @returns {*}
 */
export function larger(value, times, path = "") {
  if (times === 1) return value;
  if (Array.isArray(value)) return value.map((each) => larger(each, times, path));
  if (value === null || typeof value !== "object") return GROWS.test(path) ? value * times : value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, larger(each, times, `${path}.${key}`)]));
}
