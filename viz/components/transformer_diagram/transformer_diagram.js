// The Transformer diagram. Boxes with lessons are links; hovering over one shows the lesson and the boxes it builds on.
import { onKeys } from "../js/input.js";
import { div, framed } from "../js/shared.js";
import { box, label, set, shape, wire } from "../js/svg.js";

/** @type {import("../js/component.js").Mount} */
export const mount = framed("anatomy", ({ root, on, send }) => {
  const drawings = div(root, "drawings"), hint = div(root, "hint");
  let body, boxes = [];

  function build(read) {
    body = read;
    const { text, sizes, frames, wires, labels } = body, names = [text.figure, text.inside];
    drawings.replaceChildren();
    const figures = sizes.map((size, at) => shape("svg",
      { viewBox: `0 0 ${size.join(" ")}`, role: "group", "aria-label": names[at] }, drawings));
    for (const [at, x, y, width, height] of frames) {
      shape("rect", { class: "frame", x, y, width, height, rx: 10 }, figures[at]);
    }
    for (const [at, points] of wires) wire(figures[at], points);
    for (const [at, x, y, name, anchor] of labels) {
      label(figures[at], text.labels[name], { x, y, "text-anchor": anchor, class: "small" });
    }
    boxes = body.boxes.map((each) => linked(figures[each[1]], each));
    point();
  }

  function linked(parent, [name, , x, y, height, colour]) {
    const { wide: width, doors: { [name]: door }, text } = body, lines = text.boxes[name];
    const group = box(parent, `${colour} ${door ? "door" : "closed"}`, [x, y, width, height], lines);
    if (door) {
      label(group, `${door.minutes}′`, { x: x + width / 2 - 5, y: y + height / 2 - 5, class: "minutes" });
      set(group, { role: "link", tabindex: 0, "aria-label": `${lines.join(" ")}: ${door.words}` });
    }
    return { name, group, door };
  }

  const of = ({ target }) => boxes.find(({ door, group }) => door && group.contains(target));

  function point(found) {
    for (const { group, name } of boxes) {
      group.classList.toggle("same", name === found?.name);
      group.classList.toggle("before", !!found?.door.before.includes(name));
    }
    hint.textContent = found ? found.door.words : body.text.hint;
  }

  function open(event) {
    const found = of(event);
    if (!found) return false;
    send({ box: found.name });
  }

  on(drawings, "pointerover", (event) => point(of(event)));
  on(drawings, "pointerleave", () => point());
  on(drawings, "focusin", (event) => point(of(event)));
  on(drawings, "click", open);
  onKeys(on, drawings, (event) => event.key === "Enter" && open(event));

  return { build };
});
