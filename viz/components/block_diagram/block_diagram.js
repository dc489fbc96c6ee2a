// One block. Click, Enter or Space opens a box; arrow keys move up and down. Sends {box}.
import { shape, wire } from "../js/svg.js";
import { receiver } from "../js/messages.js";
import { div, frame, palette } from "../js/shared.js";

/** @type {import("../js/component.js").Mount} */
export function mount(element, bytes, send) {
  const { root, on, draw, end } = frame(element, "block", () => palette(root, body.colours)),
    stage = div("stage", root);
  let body, boxes = [], opened = "";

  function build() {
    const [wide, high] = body.box, viewBox = `0 0 ${body.size.join(" ")}`;
    const svg = shape("svg", { viewBox, role: "radiogroup", "aria-label": body.alt }, root);
    stage.replaceChildren(svg);
    for (const points of body.wires) wire(svg, points);
    boxes = body.boxes.map(([name, x, y, tint, words, dimensions]) => {
      const label = { role: "radio", tabindex: -1, "aria-label": `${words}, ${dimensions}` };
      const group = shape("g", { class: `box ${tint}`, ...label }, svg);
      shape("rect", { x: x - wide / 2, y: y - high / 2, width: wide, height: high, rx: 6 }, group);
      shape("text", { x, y: y - 2 }, group).textContent = words;
      shape("text", { x, y: y + 15, class: "shape" }, group).textContent = dimensions;
      return { name, group };
    });
  }

  function mark() {
    for (const { name, group } of boxes) {
      group.classList.toggle("open", name === opened);
      group.setAttribute("aria-checked", String(name === opened));
      group.setAttribute("tabindex", name === opened ? 0 : -1);
    }
  }

  function open(found) {
    if (!found || found.name === opened) return;
    opened = found.name;
    mark();
    found.group.focus();
    send({ box: opened });
  }

  on(stage, "click", (event) => open(boxes.find((each) => each.group.contains(event.target))));
  on(stage, "keydown", (event) => {
    const step = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    open(boxes[boxes.findIndex((each) => each.name === opened) + step]);
    event.preventDefault();
  });

  return receiver(bytes, (read) => {
    if (read.part === "body") {
      body = read;
      build();
    } else opened = read.opened;
    mark();
    draw();
  }, end);
}
