// What pointers and keys do in every component: arrow keys, exploring a picture, and dragging.
import { clamp, inWindow } from "./shared.js";

/** @type {Record<string, number[]>} columns and rows by which a key moves */
export const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** @type {Record<string, number>} screens by which a key moves; presenter remotes send the page keys */
export const SCREENS = { ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1 };

/** @type {Record<string, number>} hundredths of its range by which a key moves a handle */
export const NUDGES = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10,
  Home: -Infinity, End: Infinity };

const LINE = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -Infinity, End: Infinity };

/**
 * Return the place to which a key moves in a row of `count` places, or undefined if it does not move. In a row from
 * right to left, the left arrow moves forwards.
 * @param {KeyboardEvent & {target: HTMLElement}} event
 * @param {number} at
 * @param {number} count
 * @returns {number | undefined}
 */
export function stepped({ key, target }, at, count) {
  const turned = ARROWS[key]?.[0] && getComputedStyle(target).direction === "rtl";
  return LINE[key] && clamp(at + (turned ? -1 : 1) * LINE[key], 0, count - 1);
}

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
 * @param {(event: KeyboardEvent & {target: HTMLElement}) => *} act  returns false for a key that it leaves to the browser
 */
export const onKeys = (on, target, act) =>
  on(target, "keydown", (event) => act(event) === false || event.preventDefault());

/**
 * Let the keys of a presentation step through an element while it is visible.
 * @param {import("./shared.js").On} on
 * @param {Element} root
 * @param {(by: number) => *} go  moves by one step, or returns a false value at the end
 */
export const onSteps = (on, root, go) => on(document, "clearhead-step", (event) => {
  if (root.checkVisibility() && go(event.detail)) event.preventDefault();
});

/**
 * Explore a picture whose parts have numbers with the pointer and the keyboard: point at a part, read it out and choose
 * one.
 * @param {import("./shared.js").On} on
 * @param {ReturnType<typeof import("./shared.js").tooltip>} tip
 * @param {{part: Element, board?: Element, aside?: boolean, at: (event: PointerEvent) => number | undefined,
 *   point: (found?: number) => void, reach?: (found?: number) => void, about: (found: number) => [string, string[][]],
 *   next?: (found: number | undefined, step: number[]) => number, choose: (found: number, event: MouseEvent | KeyboardEvent) => void,
 *   press?: (event: KeyboardEvent, found?: number) => *}} acts
 *   part, board: the elements that receive the pointer and the keys; aside: whether the tooltip is below the board
 *   instead of beside the pointer; at: the part under the pointer; point, reach:
 *   frame the part under the pointer and the one reached with the keyboard; about: title and rows of its tooltip; next:
 *   the part `step` (columns, rows) away, if arrow keys move; press: handles other keys, or returns false
 * @returns {() => void} frames the reached part again, after the picture was redrawn
 */
export function explored(on, tip, { part, board = part, aside, at, point, reach, about, next, choose, press }) {
  let reached;

  function leave() {
    point();
    tip.hide();
  }

  on(part, "pointerleave", leave);
  on(board, "scroll", leave, { passive: true });
  on(part, "pointermove", (event) => {
    const found = at(event);
    if (found === undefined) return leave();
    point(found);
    tip.show(event.clientX, aside ? inWindow(board).bottom : event.clientY, ...about(found));
  });
  on(part, "click", (event) => {
    const found = at(event);
    if (found !== undefined) choose(found, event);
  });
  if (!next) return undefined;
  on(board, "blur", () => {
    reach(reached = undefined);
    leave();
  });
  onKeys(on, board, (event) => {
    const step = ARROWS[event.key];
    if (step) {
      reach(reached = next(reached, step));
      tip.say(...about(reached));
    } else if (!presses(event)) return press(event, reached);
    else if (reached !== undefined) choose(reached, event);
  });
  return () => reach(reached);
}

/**
 * Handle drags that start on an element, from press to release.
 * @param {import("./shared.js").On} on
 * @param {Element} target  the element that the pointer is pressed on
 * @param {{grab: (event: PointerEvent) => *, move: (held: *, event: PointerEvent) => void,
 *   drop: (held: *) => void}} acts
 *   grab: returns the object to drag, or undefined
 * @returns {() => *} returns the object being dragged, or undefined
 */
export function dragging(on, target, { grab, move, drop }) {
  let held;
  on(target, "pointerdown", (event) => {
    const found = event.button ? undefined : grab(event);
    if (found === undefined) return;
    held = found;
    target.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  on(target, "pointermove", (event) => held !== undefined && move(held, event));
  const release = () => {
    if (held !== undefined) drop(held);
    held = undefined;
  };
  on(target, "pointerup", release);
  on(target, "pointercancel", release);
  return () => held;
}

/**
 * Send changes to the server: the first immediately, then at most one every `pause` milliseconds, and always the last.
 * @param {() => *} send  sends the current value and returns the identifier expected in the response
 * @param {{pause?: number, patience?: number, late?: () => void}} options  patience: milliseconds to wait for a
 *   response; late: called if it takes longer
 * @returns {{tell: (now?: boolean) => void, takes: (answer: *) => boolean, end: () => void}} takes: whether to apply a
 *   response; an outdated one must not undo newer changes
 */
export function telling(send, { pause = 120, patience = 2000, late = () => {} } = {}) {
  let last = -Infinity, later, awaited, expiry;

  function forget() {
    clearTimeout(expiry);
    awaited = undefined;
  }

  function tell(now = false) {
    const wait = now ? 0 : last + pause - performance.now();
    clearTimeout(later);
    later = wait > 0 ? setTimeout(tell, wait, true) : undefined;
    if (later) return;
    last = performance.now();
    forget();
    awaited = send();
    expiry = setTimeout(() => {
      forget();
      if (!later) late();
    }, patience);
  }

  function takes(answer) {
    if (later || (awaited !== undefined && awaited !== answer)) return false;
    forget();
    return true;
  }

  const end = () => [later, expiry].forEach(clearTimeout);
  return { tell, takes, end };
}
