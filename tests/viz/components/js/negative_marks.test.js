import { equal } from "../check.js";
import { signedBar, strike } from "./negative_marks.js";

export function strokeDoesNotTouchTheEdgesOfItsCell() {
  const said = [], pen = { beginPath: () => said.push("begin"), stroke: () => said.push(pen.strokeStyle),
    moveTo: (x, y) => said.push([x, y]), lineTo: (x, y) => said.push([x, y]) };
  strike(pen, 10, 20, 100, 50, "red");
  equal(said, ["begin", [21, 59], [99, 31], "red"], "22 % of the shorter side");
}

export function negativeHalfOfTheScaleIsStruckThrough() {
  const bar = signedBar(["#111", "#eee", "#222"], "white");
  equal([bar.startsWith("repeating-linear-gradient(135deg"), bar.includes("46% 100% no-repeat"),
    bar.endsWith("linear-gradient(90deg, #111,#eee,#222)")], [true, true, true]);
}
