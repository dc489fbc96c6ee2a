// One block. Click, Enter or Space opens a box; arrow keys move up and down. Sends {box}.
import { ARROWS, onKeys } from "../js/input.js";
import { div, framed } from "../js/shared.js";
import { box, set, shape, wire } from "../js/svg.js";

/** @type {import("../js/component.js").Mount} */
export const mount = framed("block", ({ root, on, send }) => {
  const stage = div(root, "stage");
  let boxes = [], opened = "";

  function build({ size, alt, box: [width, height], ...body }) {
    stage.replaceChildren();
    const svg = shape("svg", { viewBox: `0 0 ${size.join(" ")}`, role: "radiogroup", "aria-label": alt }, stage);
    for (const points of body.wires) wire(svg, points);
    boxes = body.boxes.map(([name, x, y, tint, ...lines]) => {
      const group = box(svg, tint, [x, y, width, height], lines);
      set(group, { role: "radio", "aria-label": lines.join(", ") });
      return { name, group };
    });
  }

  function mark() {
    for (const { name, group } of boxes) {
      const open = name === opened;
      set(group, { "aria-checked": open, tabindex: open ? 0 : -1 });
    }
  }

  function open(found) {
    if (!found || found.name === opened) return;
    opened = found.name;
    mark();
    found.group.focus();
    send({ box: opened });
  }

  on(stage, "click", ({ target }) => open(boxes.find(({ group }) => group.contains(target))));
  onKeys(on, stage, ({ key }) => {
    const [right, down] = ARROWS[key] ?? [];
    if (right === undefined) return false;
    open(boxes[boxes.findIndex(({ name }) => name === opened) + right - down]);
  });

  return { build, take: (read) => { ({ opened } = read); }, redraw: mark };
});
