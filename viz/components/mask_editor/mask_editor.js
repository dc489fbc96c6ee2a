// A square of buttons to paint on. The painted square is sent on release, as {allowed}.
import { dragging } from "../js/drag.js";
import { receiver } from "../js/messages.js";
import { div, fill, frame, node, palette } from "../js/shared.js";

const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/** @type {import("../js/component.js").Mount} */
export function mount(element, bytes, send) {
  const { root, on, draw, end } = frame(element, "cells", redraw);
  const square = div("square", root), hint = div("hint", root);
  let body, allowed = [], marked, buttons = [], names = [], at = 0;

  function build() {
    const { labels, text } = body;
    square.replaceChildren(node("span"));
    square.style.gridTemplateColumns = `minmax(40px, 72px) repeat(${labels.length}, minmax(0, 1fr))`;
    square.setAttribute("role", "group");
    square.setAttribute("aria-label", text.group);
    for (const label of labels) node("bdi", "name column", label, square).title = label;
    buttons = [];
    names = [];
    labels.forEach((row, i) => {
      names.push(node("bdi", "name row", row, square));
      labels.forEach((column, j) => {
        const made = node("button", "", undefined, square);
        made.type = "button";
        made.tabIndex = i || j ? -1 : 0;
        made.disabled = body.frozen === true;
        made.setAttribute("aria-label", fill(text.cell, { row: `${row} (${i})`, column: `${column} (${j})` }));
        buttons.push(made);
      });
    });
    hint.textContent = body.frozen ? "" : text.hint;
    square.classList.toggle("frozen", body.frozen === true);
    at = 0;
  }

  function redraw() {
    if (!body || !allowed.length) return;
    const colours = palette(root, body.colours);
    root.style.setProperty("--on", colours.ramp[colours.theme === "dark" ? 5 : 4]);
    buttons.forEach((each, cell) => {
      each.setAttribute("aria-pressed", String(allowed[cell] === 1));
      each.textContent = allowed[cell] ? "" : "−∞";
    });
    names.forEach((each, row) => each.classList.toggle("marked", row === marked));
  }

  function paint(cell, value) {
    if (cell < 0 || allowed[cell] === value) return;
    allowed = allowed.map((each, i) => (i === cell ? value : each));
    draw();
  }

  const under = (event) => buttons.indexOf(root.getRootNode().elementFromPoint(event.clientX, event.clientY));

  // while dragging, the held value is the one being painted
  const held = dragging(on, square, {
    grab(event) {
      const cell = buttons.indexOf(event.target);
      if (cell < 0 || body.frozen) return undefined;
      const value = 1 - allowed[cell];
      paint(cell, value);
      rove(cell);
      return value;
    },
    move: (value, event) => paint(under(event), value),
    drop: () => send({ allowed }),
  });

  function rove(cell) {
    buttons[at].tabIndex = -1;
    at = cell;
    buttons[at].tabIndex = 0;
    buttons[at].focus({ focusVisible: false });
  }

  on(square, "keydown", (event) => {
    const step = STEPS[event.key], n = body.labels.length;
    if (step) {
      const inside = (place) => Math.min(n - 1, Math.max(0, place));
      const row = inside(Math.floor(at / n) + step[0]), column = inside((at % n) + step[1]);
      rove(row * n + column);
    } else if (event.key === " " || event.key === "Enter") {
      paint(at, 1 - allowed[at]);
      send({ allowed });
    } else return;
    event.preventDefault();
  });

  return receiver(bytes, (read) => {
    if (read.part === "body") {
      body = read;
      build();
    } else if (held() === undefined) ({ allowed, marked } = read);
    draw();
  }, end);
}
