// A diagram of boxes and lines in one or several drawings. A click, Enter or Space opens a box; meanwhile a box under
// the pointer shows its hint and outlines the boxes before it. Sends {box}.
import { onKeys, presses } from "../js/input.js";
import { div, framed } from "../js/shared.js";
import { box, label, set, shape, wire } from "../js/svg.js";

/** @type {import("../js/component.js").Mount} */
export const mount = framed("diagram", ({ root, on, send }) => {
  const drawings = div(root, "drawings"), hint = div(root, "hint");
  let body, opened, boxes = [];

  function build(read) {
    body = read;
    drawings.replaceChildren();
    const svgs = body.drawings.map(([name, ...size]) => shape("svg", { viewBox: `0 0 ${size.join(" ")}`,
      role: "group", "aria-label": name, style: `--wide: ${size[0]}px` }, drawings));
    for (const [at, x, y, width, height] of body.frames) {
      shape("rect", { class: "frame", x, y, width, height, rx: 10 }, svgs[at]);
    }
    for (const [at, points, look] of body.wires) wire(svgs[at], points, look);
    for (const [at, x, y, words, look = "small"] of body.labels) label(svgs[at], words, { x, y, class: look });
    boxes = body.boxes.map((each) => {
      const group = box(svgs[each.drawing], each.look, each.place, each.lines), [x, y, width, height] = each.place;
      if (each.corner) label(group, each.corner, { x: x + width / 2 - 5, y: y + height / 2 - 5, class: "corner" });
      if (each.label) set(group, { role: "button", tabindex: 0, "aria-label": each.label });
      return { ...each, group };
    });
    point();
  }

  const of = ({ target }) => boxes.find((each) => each.label && each.group.contains(target));

  function point(found) {
    for (const { group, name } of boxes) {
      group.classList.toggle("same", name === found?.name);
      group.classList.toggle("before", !!found?.before.includes(name));
    }
    hint.textContent = found?.hint ?? body.hint;
  }

  function open(event) {
    const found = of(event);
    if (!found) return false;
    send({ box: found.name });
  }

  function redraw() {
    for (const { group, name } of boxes) if (opened) set(group, { "aria-pressed": name === opened });
  }

  on(drawings, "pointerover", (event) => point(of(event)));
  on(drawings, "pointerleave", () => point());
  on(drawings, "focusin", (event) => point(of(event)));
  on(drawings, "click", open);
  onKeys(on, drawings, (event) => presses(event) && open(event));

  return { build, take: (read) => { ({ opened } = read); }, redraw };
});
