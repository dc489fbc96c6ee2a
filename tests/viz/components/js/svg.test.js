import { equal } from "../check.js";
import { shape, wire } from "./svg.js";

export function wireEndsInAnArrowAlongItsLastSegment() {
  const sheet = shape("svg", { viewBox: "0 0 9 9" }, document.body);
  wire(sheet, [0, 0, 20, 0]);
  wire(sheet, [0, 0, 0, 50, 0, 20]);
  equal([...sheet.children].map((each) => each.getAttribute("points") ?? each.getAttribute("d")),
    ["0 0 20 0", "M20,0L13,3.5L13,-3.5Z", "0 0 0 50 0 20", "M0,20L-3.5,27L3.5,27Z"]);
}
