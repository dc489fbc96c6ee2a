// A two-dimensional head: dragging an arrow's tip updates weights and output immediately. Sends {q, k, v} after a drag
// and {looks} for a new query token.
import { dragging, telling } from "../js/drag.js";
import { receiver } from "../js/messages.js";
import { frame } from "../js/shared.js";
import { attend } from "./attention.js";
import { viewOf } from "./view.js";

const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const STEP = 0.1, hundredth = (value) => Math.round(value * 100) / 100 + 0;

/** @type {import("../js/component.js").Mount} */
export function mount(element, bytes, send) {
  const { root, on, draw, end } = frame(element, "arrows", redraw);
  const view = viewOf(root, (looks) => send({ looks }));
  let body, now;

  const pair = (name, at) => now[name].slice(2 * at, 2 * at + 2);
  const pairs = (name) => body.tokens.map((_, at) => pair(name, at));
  const kept = ({ q, k, v }) => [q, k, v].join();

  function redraw() {
    if (now) view.draw(now, attend(pair("q", now.looks), pairs("k"), pairs("v")));
  }

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
    const { svg } = plane;
    // touching an arrow drags it; touching the plane elsewhere scrolls the page
    on(svg, "touchstart", (event) => view.arrowAt(plane, event.target) && event.preventDefault(), { passive: false });
    on(svg, "keydown", (event) => {
      const arrow = view.arrowAt(plane, event.target), step = KEYS[event.key];
      if (!arrow || !step) return;
      move(arrow, pair(arrow.kind, arrow.of ?? now.looks).map((value, axis) => value + STEP * step[axis]));
      event.preventDefault();
    });
    return dragging(on, svg, {
      grab(event) {
        const arrow = view.arrowAt(plane, event.target);
        arrow?.group.focus({ focusVisible: false });
        return arrow;
      },
      move: (arrow, event) => move(arrow, view.valuesAt(plane, event)),
      drop: () => told.tell(true),
    });
  });

  return receiver(bytes, (read) => {
    if (read.part === "body") {
      body = read;
      view.build(body);
    } else {
      const taken = !helds.some((held) => held()) && told.takes(kept(read));
      now = taken || !now ? read : { ...read, q: now.q, k: now.k, v: now.v };
    }
    draw();
  }, () => (told.end(), end()));
}
