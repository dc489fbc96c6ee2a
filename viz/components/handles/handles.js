// Handles on an SVG: bars, shares of a whole, or points. Dragging happens here; sends {values}.
import { dragging, telling } from "../js/drag.js";
import { receiver } from "../js/messages.js";
import { frame } from "../js/shared.js";
import { viewOf } from "./view.js";

const STEPS = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1,
  PageUp: 10, PageDown: -10, Home: -Infinity, End: Infinity };
const rounded = (numbers) => numbers.map((each) => Math.round(each * 100) / 100);

/** @type {import("../js/component.js").Mount} */
export function mount(element, bytes, send) {
  const { root, on, draw, end } = frame(element, "drag", () => values.length && view.draw(values, faint));
  const view = viewOf(root);
  let body, values = [], faint = [];

  const told = telling(() => {
    const sent = rounded(values);
    send({ values: sent });
    return sent.join();
  });

  // Set one number. For shares, the others are adjusted proportionally so that the sum stays 1.
  function move(at, value) {
    const next = [...values], to = Math.min(body.high, Math.max(body.low, value));
    if (body.mode === "shares") {
      const rest = values.reduce((sum, each, i) => (i === at ? sum : sum + each), 0), left = Math.max(0, 1 - to);
      next.forEach((each, i) => (next[i] = i === at ? to : rest > 0 ? (each * left) / rest : left / (next.length - 1)));
    } else next[at] = to;
    values = next;
    draw();
  }

  // Move a handle to the pointer.
  function follow(at, event) {
    const [across, up] = view.valuesAt(event);
    if (body.mode === "points") move(2 * at, across);
    move(body.mode === "points" ? 2 * at + 1 : at, up);
    told.tell();
  }

  const held = dragging(on, view.svg, {
    grab(event) {
      const at = view.handleOf(event.target);
      if (at < 0 || body.frozen) return undefined;
      view.focus(at);
      follow(at, event);
      return at;
    },
    move: follow,
    drop: () => told.tell(true),
  });
  on(view.svg, "keydown", (event) => {
    const at = view.handleOf(event.target), step = STEPS[event.key];
    if (at < 0 || step === undefined) return;
    const upright = !["ArrowLeft", "ArrowRight"].includes(event.key), index = body.mode === "points" ? 2 * at + upright : at;
    move(index, values[index] + (step * (body.high - body.low)) / 100);
    told.tell();
    event.preventDefault();
  });

  return receiver(bytes, (read) => {
    if (read.part === "body") {
      body = read;
      view.build(body);
    } else {
      faint = read.faint;
      // a different number of values belongs to another question
      if (held() === undefined && (told.takes(rounded(read.values).join()) || read.values.length !== values.length)) {
        values = read.values;
      }
    }
    draw();
  }, () => (told.end(), end()));
}
