// Explore a picture with the pointer and the keyboard: point at its parts, read them out and choose one.
import { ARROWS, onKeys, presses } from "./keys.js";

/**
 * Handle the pointer and the keys of a picture whose parts have numbers.
 * @param {import("./shared.js").On} on
 * @param {ReturnType<import("./shared.js").tooltip>} tip
 * @param {{part: Element, board?: Element, at: (event: PointerEvent) => number | undefined,
 *   point: (found?: number) => void, reach?: (found?: number) => void, about: (found: number) => [string, string[][]],
 *   next?: (found: number | undefined, step: number[]) => number, choose: (found: number, event: UIEvent) => void,
 *   press?: (event: KeyboardEvent, found?: number) => *}} acts
 *   part, board: the elements that receive the pointer and the keys; at: the part under the pointer; point, reach:
 *   frames the part under the pointer and the one reached with the keyboard; about: title and rows of its tooltip; next:
 *   the part `step` (columns, rows) away, if arrow keys move; press: handles other keys, or returns false
 * @returns {() => void} frames the reached part again, after the picture was redrawn
 */
export function explored(on, tip, { part, board = part, at, point, reach, about, next, choose, press }) {
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
    tip.show(event.clientX, event.clientY, ...about(found));
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
