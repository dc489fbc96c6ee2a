import { equal } from "../check.js";
import { fill, fixed, node, palette, parts } from "./shared.js";

export function textsAreFilledInAndColoursParsed() {
  equal(fill("{at} of {of}; {at}", { at: 1, of: "<b>" }), "1 of <b>; 1");
  equal(parts("#0a14ff"), [10, 20, 255]);
}

export function countAgreesWithItsNoun() {
  equal([1, 2, 0].map((n) => fill("{n:# head|# heads} of {all}", { n, all: 12 })),
    ["1 head of 12", "2 heads of 12", "0 heads of 12"]);
}

export function numberRoundedToZeroHasNoMinus() {
  equal([-0.0004, -0, -0.25, 0.25].map((value) => fixed(value, 2)), ["0.00", "0.00", "−0.25", "0.25"]);
}

export function themeFollowsTheSurroundingText() {
  const both = (light, dark) => ({ light, dark }), root = node("div", document.body);
  const colours = { ink: both("#000001", "#fffffe"), paper: both("#fffffd", "#000002"), accent: "#c2410c",
    ramp: both(["#ffffff", "#000000"], ["#000000", "#ffffff"]), heads: both(["#000001"], ["#fffffe"]) };
  const drawn = (letters) => {
    document.body.style.color = letters;
    const { theme, ink, heads, accent, ramp } = palette(root, colours);
    return [theme, ink, heads, accent, ramp[0], root.style.getPropertyValue("--ink")];
  };
  equal(drawn("#333333"), ["light", "#000001", ["#000001"], "#c2410c", "#ffffff", "#000001"]);
  equal(drawn("#fafafa"), ["dark", "#fffffe", ["#fffffe"], "#c2410c", "#000000", "#fffffe"]);
}
