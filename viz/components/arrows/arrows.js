// A two-dimensional head: dragging an arrow's tip updates weights and output immediately. Sends {q, k, v} after a drag
// and {looks} for a new query token.
import { dragging, telling } from "../js/drag.js";
import { ARROWS, onKeys } from "../js/keys.js";
import { framed } from "../js/shared.js";
import { attend } from "./attention.js";
import { viewOf } from "./view.js";

const STEP = 0.1, hundredth = (value) => Math.round(value * 100) / 100 + 0;

/** @type {import("../js/component.js").Mount} */
export const mount = framed("arrows", ({ root, on, draw, send }) => {
  const view = viewOf(root, (looks) => send({ looks }));
  let body, now;

  const pair = (name, at) => now[name].slice(2 * at, 2 * at + 2);
  const pairs = (name) => body.tokens.map((_, at) => pair(name, at));
  const kept = ({ q, k, v }) => [q, k, v].join();

  const told = telling(() => {
    const { q, k, v } = now;
    send({ q, k, v });
    return kept(now);
  });

  // Move an arrow's tip to a point, rounded to hundredths.
  function move({ kind, of = now.looks }, to) {
    const numbers = [...now[kind]];
    numbers.splice(2 * of, 2, ...to.map((value) => hundredth(Math.min(body.high, Math.max(body.low, value)))));
    now = { ...now, [kind]: numbers };
    draw();
    told.tell();
  }

  const helds = view.planes.map((plane) => {
    const { svg } = plane, arrowAt = ({ target }) => plane.arrows.findLast(({ group }) => group.contains(target));
    // touching an arrow drags it; touching the plane elsewhere scrolls the page
    on(svg, "touchstart", (event) => arrowAt(event) && event.preventDefault(), { passive: false });
    onKeys(on, svg, (event) => {
      const arrow = arrowAt(event), step = ARROWS[event.key];
      if (!arrow || !step) return false;
      const [x, y] = pair(arrow.kind, arrow.of ?? now.looks);
      move(arrow, [x + STEP * step[0], y - STEP * step[1]]);
    });
    return dragging(on, svg, {
      grab(event) {
        const arrow = arrowAt(event);
        arrow?.group.focus({ focusVisible: false });
        return arrow;
      },
      move: (arrow, event) => move(arrow, plane.area.at(event)),
      drop: () => told.tell(true),
    });
  });

  function take(read) {
    const taken = !helds.some((held) => held()) && told.takes(kept(read));
    now = taken || !now ? read : { ...read, q: now.q, k: now.k, v: now.v };
  }

  const redraw = (colours) => view.draw(now, attend(pair("q", now.looks), pairs("k"), pairs("v")), colours);
  return { build: (read) => view.build(body = read), take, redraw, leave: told.end };
});
