// What the page shows, kept in the address's fragment: #text=…&head=3.1&lens=lines&token=10&hide=[4]&silence=["3.1"]

/** @typedef {{text: string, head: string, lens: string, transpose: boolean, token: number | null,
 *   pair: number[] | null, hide: number[], silence: string[], temper: Record<string, number>}} State
 *   head, silence: as "layer.head"; hide: tokens; temper: the temperature of heads
 */

/**
 * Return what each field of a state may be.
 * @param {string[]} heads  all of them
 * @param {string[]} lenses  all of them
 * @param {number} reach  largest temperature, and one over the smallest, as an exponent of 2
 * @returns {Record<string, (value: *) => boolean>}
 */
export function formsOf(heads, lenses, reach) {
  const token = (value) => Number.isInteger(value) && value >= 0;
  const head = (value) => heads.includes(value);
  const t = ([name, value]) => head(name) && typeof value === "number" && Math.abs(Math.log2(value)) <= reach;
  return { text: () => true, head, lens: (value) => lenses.includes(value),
    transpose: (value) => typeof value === "boolean", token: (value) => value === null || token(value),
    pair: (value) => value === null || (value.length === 2 && value.every(token)),
    hide: (value) => value.every(token), silence: (value) => value.every(head),
    temper: (value) => Object.entries(value).every(t) };
}

/**
 * Read a fragment. Missing and invalid fields are as in `first`.
 * @param {string} hash
 * @param {State} first
 * @param {Record<string, (value: *) => boolean>} forms
 * @returns {State}
 */
export function readState(hash, first, forms) {
  const state = { ...first };
  for (const [name, written] of new URLSearchParams(hash.slice(1))) {
    try {
      const value = typeof first[name] === "string" ? written : JSON.parse(written);
      if (forms[name]?.(value)) state[name] = value;
    } catch {}   // not JSON, in an address that somebody has edited
  }
  return state;
}

/**
 * Write a state as a fragment, leaving out fields that are as in `first`.
 * @param {State} state
 * @param {State} first
 * @returns {string}
 */
export function writeState(state, first) {
  const write = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  const changed = Object.keys(first).filter((name) => write(state[name]) !== write(first[name]));
  return `#${new URLSearchParams(changed.map((name) => [name, write(state[name])]))}`;
}
