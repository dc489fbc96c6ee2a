// The Transformer diagram. Boxes with lessons are links; hovering over one shows the lesson and the boxes it builds on.
import { shape, wire } from "../js/svg.js";
import { receiver } from "../js/messages.js";
import { div, frame, palette } from "../js/shared.js";

/** @type {import("../js/component.js").Mount} */
export function mount(element, bytes, send) {
  const { root, on, draw, end } = frame(element, "anatomy", () => palette(root, body.colours));
  const drawings = div("drawings", root), hint = div("hint", root);
  let body, boxes = [];

  function build() {
    drawings.replaceChildren();
    const figures = body.sizes.map(([width, height], at) => {
      const attributes = { viewBox: `0 0 ${width} ${height}`, class: at ? "second" : "first", role: "group" };
      const made = shape("svg", attributes, drawings);
      made.setAttribute("aria-label", at ? body.text.inside : body.text.figure);
      return made;
    });
    for (const [at, x, y, width, height] of body.frames) {
      shape("rect", { class: "frame", x, y, width, height, rx: 10 }, figures[at]);
    }
    for (const [at, points] of body.wires) wire(figures[at], points);
    for (const [at, x, y, name, anchor] of body.labels) {
      shape("text", { x, y, "text-anchor": anchor, class: "small" }, figures[at]).textContent = body.text.labels[name];
    }
    boxes = body.boxes.map((each) => box(figures[each[1]], each));
    hint.textContent = body.text.hint;
  }

  function box(parent, [name, , x, y, height, colour]) {
    const door = body.doors[name], lines = body.text.boxes[name];
    const group = shape("g", { class: `box ${colour} ${door ? "door" : "closed"}` }, parent);
    shape("rect", { x: x - body.wide / 2, y: y - height / 2, width: body.wide, height, rx: 6 }, group);
    lines.forEach((words, at) => {
      const middle = y + 5 + (at - (lines.length - 1) / 2) * 17;
      shape("text", { x, y: middle, "text-anchor": "middle" }, group).textContent = words;
    });
    if (door) {
      const corner = { x: x + body.wide / 2 - 5, y: y + height / 2 - 5, "text-anchor": "end", class: "minutes" };
      shape("text", corner, group).textContent = `${door.minutes}′`;
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

  return receiver(bytes, (read) => {
    if (read.part !== "body") return;
    body = read;
    build();
    draw();
  }, end);
}
