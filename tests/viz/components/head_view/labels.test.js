import { equal } from "../check.js";
import { light } from "./labels.js";

function lit(marks, pitch, base) {
  const standing = base.map((at) => [at, { style: { visibility: "" } }]), drawn = [];
  light(marks, pitch, standing, (at, kind) => drawn.push([at, kind]));
  return [drawn, standing.filter(([, { style }]) => style.visibility !== "hidden").map(([at]) => at)];
}

export function labelThatWouldCoverAMoreImportantOneIsHidden() {
  equal(lit([[null, "over"], [5, "from"]], 4, [0, 4, 8, 12]), [[[5, "from"]], [0, 12]]);
  equal(lit([[6, "over"], [5, "from"]], 4, [0, 4, 8, 12]), [[[6, "over"]], [0, 12]]);
  equal(lit([[5, "over"], [5, "from"]], 20, [4, 5, 6]), [[[5, "over"], [5, "from"]], [4, 6]]);
  equal(lit([[null, "over"], [null, "from"]], 4, [0, 4]), [[], [0, 4]]);
}
