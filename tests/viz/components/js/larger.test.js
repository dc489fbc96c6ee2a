import { equal } from "../check.js";
import { larger } from "./larger.js";

const chart = (size, width, y, tick, l, font, words, yshift) => ({
  data: [{ marker: { size }, line: { width }, y, colorbar: { tickfont: { size: tick } } }],
  layout: { height: 300, margin: { l }, font: { size: font }, legend: { y: 1.2 },
    annotations: [{ font: { size: words }, text: "x", yshift }] } });

export function textAndLinesGrowButNumbersDoNot() {
  const plain = chart(4, 2, [1, 2], 10, 40, 12, 8, 18);
  equal(larger(plain, 2), chart(8, 4, [1, 2], 20, 80, 24, 16, 36));
  equal(larger(plain, 1), plain);
}
