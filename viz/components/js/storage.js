// Values that this browser keeps.

/**
 * Return the value under a name, or undefined if there is none, it is not JSON, or storage is disabled.
 * @param {"localStorage" | "sessionStorage"} where
 * @param {string} name
 * @returns {*}
 */
export function stored(where, name) {
  try {
    return JSON.parse(globalThis[where].getItem(name)) ?? undefined;
  } catch {
    return undefined;
  }
}

/**
 * Store a value; nothing is kept if storage is full or disabled.
 * @param {"localStorage" | "sessionStorage"} where
 * @param {string} name
 * @param {*} value
 */
export function store(where, name, value) {
  try {
    globalThis[where].setItem(name, JSON.stringify(value));
  } catch {}
}
