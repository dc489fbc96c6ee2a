// Dragging: what the pointer holds, how often the server is told, and which responses are outdated.

/**
 * Lets a pointer hold something on an element from its press to its release.
 * @param {(target: EventTarget, type: string, act: (event: PointerEvent) => void) => void} on  as frame() of shared.js gives it
 * @param {Element} target  what the pointer is pressed on
 * @param {{grab: (event: PointerEvent) => *, move: (held: *, event: PointerEvent) => void, drop: (held: *) => void}} acts
 *   grab gives what is held from now on, or undefined
 * @returns {() => *} what is held now, or undefined
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
 * Tells the server of changes: at once, then at most every `pause` milliseconds, and always of the last one.
 * @param {() => *} send  sends the present value and gives what the answer to it will carry
 * @param {{pause?: number, patience?: number, late?: () => void}} options  patience: milliseconds that an answer may
 *   take; late is called when it takes longer
 * @returns {{tell: (now?: boolean) => void, takes: (answer: *) => boolean, end: () => void}} takes: whether an answer
 *   is to be shown. One that was on its way while something was changed again must not pull it back.
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
