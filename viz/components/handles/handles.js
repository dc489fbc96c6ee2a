// Handles on an SVG: bars, shares of a whole, or points. Dragging happens here; sends {values}.
import { dragging, telling } from "../js/drag.js";
import { onKeys } from "../js/keys.js";
import { framed } from "../js/shared.js";
import { viewOf } from "./view.js";

const STEPS = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1,
  PageUp: 10, PageDown: -10, Home: -Infinity, End: Infinity };
const rounded = (numbers) => numbers.map((each) => Math.round(each * 100) / 100);

/** @type {import("../js/component.js").Mount} */
export const mount = framed("drag", ({ root, on, draw, send }) => {
  const view = viewOf(root);
  let body, values = [], faint;

  const told = telling(() => {
    const sent = rounded(values);
    send({ values: sent });
    return sent.join();
  });

  // Set one number. For shares, the others are adjusted proportionally so that the sum stays 1.
  function move(at, value) {
    const to = Math.min(body.high, Math.max(body.low, value));
    const rest = values.reduce((sum, each) => sum + each, -values[at]);
    const others = (each) => Math.max(0, 1 - to) * (rest > 0 ? each / rest : 1 / (values.length - 1));
    values = (body.mode === "shares" ? values.map(others) : values).with(at, to);
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
  onKeys(on, view.svg, ({ target, key }) => {
    const at = view.handleOf(target), upright = !["ArrowLeft", "ArrowRight"].includes(key);
    if (at < 0 || !STEPS[key]) return false;
    const index = body.mode === "points" ? 2 * at + upright : at;
    move(index, values[index] + (STEPS[key] * (body.high - body.low)) / 100);
    told.tell();
  });

  function build(read) {
    body = read;
    view.build(body);
  }

  function take(read) {
    faint = read.faint;
    if (held() !== undefined) return;
    // a different number of values belongs to another question
    if (told.takes(rounded(read.values).join()) || read.values.length !== values.length) ({ values } = read);
  }

  return { build, take, redraw: ({ heads }) => view.draw(values, faint, heads), leave: told.end };
});
