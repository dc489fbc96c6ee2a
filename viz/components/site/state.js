// What the page shows, in the address's fragment: #text=…&head=3.1&lens=lines&token=10&hide=4&silence=3.1&t=3.1:0.5

/** @typedef {{text: string, head: string, lens: string, transpose: boolean, token: number | null,
 *   pair: number[] | null, hide: number[], silence: string[], temper: Record<string, number>}} State */

/**
 * Temperatures that the slider reaches, as exponents of 2.
 * @type {number}
 */
export const REACH = 3;

const LENSES = ["matrix", "lines", "text"], HEAD = /^\d{1,2}\.\d{1,2}$/, NUMBER = /^\d{1,3}$/;

const listed = (written, form) => (written ?? "").split(",").filter((each) => form.test(each));

/**
 * Read a fragment; what it lacks or states wrongly is as in `first`.
 * @param {string} hash
 * @param {State} first
 * @param {(head: string) => boolean} exists  whether the model has a head
 * @returns {State}
 */
export function readState(hash, first, exists) {
  const asked = new URLSearchParams(hash.replace(/^#/, "")), state = { ...first };
  const text = asked.get("text"), [head] = listed(asked.get("head"), HEAD), [token] = listed(asked.get("token"), NUMBER);
  const pair = listed(asked.get("pair"), NUMBER).map(Number);
  if (text !== null) Object.assign(state, { text, token: null });
  if (head && exists(head)) state.head = head;
  if (LENSES.includes(asked.get("lens"))) state.lens = asked.get("lens");
  state.transpose = asked.get("transpose") === "1";
  if (asked.has("token")) state.token = token ? Number(token) : null;
  state.pair = pair.length === 2 ? pair : null;
  state.hide = listed(asked.get("hide"), NUMBER).map(Number);
  state.silence = listed(asked.get("silence"), HEAD).filter(exists);
  const temper = (asked.get("t") ?? "").split(",").map((each) => each.split(":"));
  state.temper = Object.fromEntries(temper.filter(([name, t]) =>
    HEAD.test(name) && exists(name) && Number(t) >= 2 ** -REACH && Number(t) <= 2 ** REACH)
    .map(([name, t]) => [name, Number(t)]));
  return state;
}

/**
 * Write a state as a fragment, without what is as in `first`.
 * @param {State} state
 * @param {State} first
 * @returns {string}
 */
export function writeState(state, first) {
  const { text, head, lens, transpose, token, pair, hide, silence, temper } = state, told = new URLSearchParams();
  if (text !== first.text) told.set("text", text);
  if (head !== first.head) told.set("head", head);
  if (lens !== first.lens) told.set("lens", lens);
  if (transpose) told.set("transpose", "1");
  if (token !== (text === first.text ? first.token : null)) told.set("token", String(token ?? ""));
  for (const [name, list] of Object.entries({ pair: pair ?? [], hide, silence })) {
    if (list.length) told.set(name, list.join());
  }
  const tempered = Object.entries(temper).map((each) => each.join(":"));
  if (tempered.length) told.set("t", tempered.join());
  return `#${told}`;
}
