// Dragging: track the dragged object, limit how often changes are sent, and detect outdated responses.

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
