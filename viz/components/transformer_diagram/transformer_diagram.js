// The Transformer's figure. A box with a lesson is a link; hovering says what the lesson is and points out what it builds on.
import { draw, wire } from "../js/svg.js";
import { unpack } from "../js/messages.js";
import { frame, node, palette } from "../js/shared.js";

export function mount(element, bytes, send) {
  const { root, on, draw: redraw, end } = frame(element, "anatomy", () => palette(root, body.colours));
  const drawings = node("div", "drawings", undefined, root), hint = node("div", "hint", undefined, root);
  let body, boxes = [];

  function build() {
    drawings.replaceChildren();
    const figures = body.sizes.map(([width, height], at) => {
      const made = draw("svg", { viewBox: `0 0 ${width} ${height}`, class: at ? "second" : "first", role: "group" }, drawings);
      made.setAttribute("aria-label", at ? body.text.inside : body.text.figure);
      return made;
    });
    for (const [at, x, y, width, height] of body.frames) draw("rect", { class: "frame", x, y, width, height, rx: 10 }, figures[at]);
    for (const [at, points] of body.wires) wire(figures[at], points);
    for (const [at, x, y, name, anchor] of body.labels) {
      draw("text", { x, y, "text-anchor": anchor, class: "small" }, figures[at]).textContent = body.text.labels[name];
    }
    boxes = body.boxes.map((each) => box(figures[each[1]], each));
    hint.textContent = body.text.hint;
  }

  function box(parent, [name, , x, y, height, colour]) {
    const door = body.doors[name], group = draw("g", { class: `box ${colour} ${door ? "door" : "closed"}` }, parent), lines = body.text.boxes[name];
    draw("rect", { x: x - body.wide / 2, y: y - height / 2, width: body.wide, height, rx: 6 }, group);
    lines.forEach((words, at) => {
      draw("text", { x, y: y + 5 + (at - (lines.length - 1) / 2) * 17, "text-anchor": "middle" }, group).textContent = words;
    });
    if (door) {
      const corner = { x: x + body.wide / 2 - 5, y: y + height / 2 - 5, "text-anchor": "end", class: "minutes" };
      draw("text", corner, group).textContent = `${door.minutes}′`;
      group.setAttribute("role", "link");
      group.setAttribute("tabindex", 0);
      group.setAttribute("aria-label", `${lines.join(" ")}: ${door.words}`);
    }
    return { name, group, door };
  }

  const of = (event) => boxes.find((each) => each.door && each.group.contains(event.target));

  function point(found) {
    for (const each of boxes) {
      each.group.classList.toggle("same", !!found && each.name === found.name);
      each.group.classList.toggle("before", !!found && found.door.before.includes(each.name));
    }
    hint.textContent = found ? found.door.words : body.text.hint;
  }

  on(drawings, "pointerover", (event) => point(of(event)));
  on(drawings, "pointerleave", () => point());
  on(drawings, "focusin", (event) => point(of(event)));
  on(drawings, "click", (event) => of(event) && send({ box: of(event).name }));
  on(drawings, "keydown", (event) => {
    if (event.key !== "Enter" || !of(event)) return;
    send({ box: of(event).name });
    event.preventDefault();
  });

  function update(message) {
    const read = unpack(message);
    if (read.part !== "body") return;
    body = read;
    build();
    redraw();
  }
  update(bytes);
  return { update, destroy: end };
}
