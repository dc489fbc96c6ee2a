// Assertions and helpers for the tests of modules (*.test.js).

/** @param {*} found @param {*} wanted  any value that JSON can represent @param {string} why */
export function equal(found, wanted, why = "") {
  const [one, other] = [found, wanted].map((each) => JSON.stringify(each) ?? "undefined");
  if (one !== other) throw new Error(`expected ${other}, got ${one}${why && `: ${why}`}`);
}

/** @param {number[]} found @param {number[]} wanted  compared to five decimals */
export const near = (found, wanted) => equal(...[found, wanted].map((each) => each.map((value) => value.toFixed(5))));

/** @param {number} milliseconds */
export const pause = (milliseconds) => new Promise((done) => { setTimeout(done, milliseconds); });

/** Dispatch a pointer event like a browser. @param {Element} target @param {string} type @param {object} more */
export const pointer = (target, type, more = {}) =>
  target.dispatchEvent(
    new PointerEvent(`pointer${type}`, { bubbles: true, cancelable: true, composed: true, ...more }));
