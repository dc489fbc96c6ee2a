// A square of buttons to paint on. The painted square is sent on release, as {allowed}.
import { ARROWS, dragging, onKeys, presses } from "../js/input.js";
import { button, clamp, div, elementAt, fill, framed, isolated, node, span } from "../js/shared.js";

/** @type {import("../js/component.js").Mount} */
export const mount = framed("cells", ({ root, on, draw, send }) => {
  const square = div(root, "square"), hint = div(root, "hint");
  let body, allowed, marked, buttons, names, at;   // at: the single tab stop, which the arrow keys move

  function build(read) {
    body = read;
    const { labels, text } = body;
    [buttons, names, at] = [[], [], 0];
    square.replaceChildren();
    span(square);
    square.style.gridTemplateColumns = `minmax(40px, 72px) repeat(${labels.length}, minmax(0, 1fr))`;
    [square.role, square.ariaLabel] = ["group", text.group];
    for (const label of labels) node("bdi", square, "name column", label).title = label;
    labels.forEach((row, i) => {
      names.push(node("bdi", square, "name row", row));
      labels.forEach((column, j) => {
        const ariaLabel = fill(text.cell, { row: `${isolated(row)} (${i})`, column: `${isolated(column)} (${j})` });
        buttons.push(Object.assign(button(square), { ariaLabel }));
      });
    });
    hint.textContent = text.hint;
  }

  function redraw({ allowed: on }) {
    root.style.setProperty("--on", on);
    buttons.forEach((each, cell) => {
      each.ariaPressed = allowed[cell] === 1;
      each.textContent = allowed[cell] ? "" : "−∞";
      each.tabIndex = cell === at ? 0 : -1;
    });
    names.forEach((each, row) => each.classList.toggle("marked", row === marked));
  }

  function paint(cell, value) {
    if (cell >= 0) allowed = allowed.with(cell, value);
    draw();
  }

  const under = ({ clientX, clientY }) => buttons.indexOf(elementAt(root, clientX, clientY));

  // while dragging, the held value is the one being painted
  const held = dragging(on, square, {
    grab({ target }) {
      const cell = buttons.indexOf(target);
      if (cell < 0) return undefined;
      const value = 1 - allowed[cell];
      paint(cell, value);
      rove(cell);
      return value;
    },
    move: (value, event) => paint(under(event), value),
    drop: () => send({ allowed }),
  });

  function rove(cell) {
    at = cell;
    buttons[at].focus({ focusVisible: false });
    draw();
  }

  onKeys(on, square, (event) => {
    const n = body.labels.length, inside = (place) => clamp(place, 0, n - 1);
    const [right, down] = ARROWS[event.key] ?? [];
    if (right !== undefined) return rove(inside(Math.floor(at / n) + down) * n + inside(at % n + right));
    if (!presses(event)) return false;
    paint(at, 1 - allowed[at]);
    send({ allowed });
  });

  return { build, take: (read) => { if (held() === undefined) ({ allowed, marked } = read); }, redraw };
});
