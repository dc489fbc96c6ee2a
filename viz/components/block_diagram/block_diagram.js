// One block. A box opens by click, Enter or Space; arrow keys go up and down. What is opened is sent as {box}.
import { draw, wire } from "../js/svg.js";
import { unpack } from "../js/messages.js";
import { frame, node, palette } from "../js/shared.js";

export function mount(element, bytes, send) {
  const { root, on, draw: redraw, end } = frame(element, "block", () => palette(root, body.colours)), stage = node("div", "stage", undefined, root);
  let body, boxes = [], opened = "";

  function build() {
    const [wide, high] = body.box, svg = draw("svg", { viewBox: `0 0 ${body.size.join(" ")}`, role: "radiogroup", "aria-label": body.alt }, root);
    stage.replaceChildren(svg);
    for (const points of body.wires) wire(svg, points);
    boxes = body.boxes.map(([name, x, y, tint, words, shape]) => {
      const group = draw("g", { class: `box ${tint}`, role: "radio", tabindex: -1, "aria-label": `${words}, ${shape}` }, svg);
      draw("rect", { x: x - wide / 2, y: y - high / 2, width: wide, height: high, rx: 6 }, group);
      draw("text", { x, y: y - 2 }, group).textContent = words;
      draw("text", { x, y: y + 15, class: "shape" }, group).textContent = shape;
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

  function update(message) {
    const read = unpack(message);
    if (read.part === "body") {
      body = read;
      build();
    } else opened = read.opened;
    mark();
    redraw();
  }
  update(bytes);
  return { update, destroy: end };
}
