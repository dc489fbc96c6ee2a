import { equal } from "../check.js";
import { byLayer, byRank, groupGap } from "./layout.js";

const spotsOf = ({ spots }) => spots.map(({ index, layer, head, x, y }) => [index, layer, head, x, y]);
const sizes = ({ pitch, side, width, height }) => [pitch, side, width, height];

export function headsThatShareKeysAreGrouped() {
  equal([[1, 9], [4, 3], [4, 4], [4, 9]].map((each) => groupGap(...each)), [0, 0, 4, 8]);
}

export function fewHeadsHaveThumbnailsOfTheLargestSize() {
  const laid = byLayer({ layers: [0, 1], heads: [2, 2], groups: 1, height: 1000 }, 400, 8);
  equal(spotsOf(laid), [[0, 0, 0, 52, 16], [1, 0, 1, 156, 16], [2, 1, 0, 52, 120], [3, 1, 1, 156, 120]]);
  equal([...sizes(laid), laid.long], [104, 100, 260, 224, true]);
  equal(laid.labels.map(({ text, layer, x, y }) => [text ?? layer, x, y]),
    [[0, 90, -1], [1, 194, -1], [0, 0, 58], [1, 0, 162]]);
}

export function manyLayersOfFewHeadsAreSplitIntoBlocks() {
  const layers = Array.from({ length: 30 }, (_, at) => at);
  const laid = byLayer({ layers, heads: layers.map(() => 3), groups: 1, height: 400 }, 600, 8);
  equal(laid.labels.filter(({ kind, text }) => kind === "column" && text === 0).length, 3);
  // 30 layers in three blocks are 10 in each: (400 - 16) / 10 pixels; four blocks would be too narrow for more
  equal([laid.pitch, ...spotsOf(laid)[10 * 3].slice(1)], [38, 10, 0, 24 + 3 * 38 + 16 + 24, 16]);
}

export function layersWithoutHeadsAreFlat() {
  const laid = byLayer({ layers: [0, 1, 2], heads: [0, 2, 0], others: ["Mamba", "", "Mamba"], groups: 1, height: 1000 },
    400, 8);
  equal([...spotsOf(laid), sizes(laid)], [[0, 1, 0, 52, 42], [1, 1, 1, 156, 42], [104, 100, 260, 172]]);
  equal(laid.labels.filter(({ kind }) => kind === "other").map(({ text, y }) => [text, y]),
    [["Mamba", 20.5], ["Mamba", 150.5]]);
}

export function rankedHeadsFlowInOrderWithNamesBelow() {
  const laid = byRank({ layers: [0, 3], heads: [2, 1] }, [2, 0], 200);
  equal([spotsOf(laid), sizes(laid)], [[[2, 3, 0, 0, 0], [0, 0, 0, 100, 0]], [100, 94, 200, 116]]);
  equal(laid.labels.map(({ text, x, y }) => [text, x, y]), [["3·0", 0, 94], ["0·0", 100, 94]]);
}
