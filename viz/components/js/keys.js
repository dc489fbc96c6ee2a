// What arrow keys mean in every component.

/** @type {Record<string, number[]>} columns and rows by which a key moves */
export const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** @type {Record<string, number>} screens by which a key moves; presenter remotes send the page keys */
export const SCREENS = { ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1 };

const LINE = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -Infinity, End: Infinity };

/**
 * Return the place to which a key moves in a row of `count` places, or undefined if it does not move.
 * @param {KeyboardEvent} event
 * @param {number} at
 * @param {number} count
 * @returns {number | undefined}
 */
export const stepped = ({ key }, at, count) => LINE[key] && Math.max(0, Math.min(count - 1, at + LINE[key]));

/**
 * Return whether a key presses a button.
 * @param {KeyboardEvent} event
 * @returns {boolean}
 */
export const presses = ({ key }) => key === "Enter" || key === " ";

/**
 * Handle an element's keys.
 * @param {import("./shared.js").On} on
 * @param {Element} target
 * @param {(event: KeyboardEvent) => *} act  returns false for a key that it leaves to the browser
 */
export const onKeys = (on, target, act) =>
  on(target, "keydown", (event) => act(event) === false || event.preventDefault());
