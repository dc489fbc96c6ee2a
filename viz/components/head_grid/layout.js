// Compute the position of each head, without access to the document.
import { clamp } from "../js/shared.js";

/**
 * @typedef {{index: number, layer: number, head: number, x: number, y: number, row: number}} Spot
 * @typedef {{kind: string, x: number, y: number, width: number, text?: string | number, layer?: number}} Label
 * @typedef {{spots: Spot[], labels: Label[], pitch: number, side: number, width: number, height: number,
 *   long?: boolean}} Plan  in pixels; a label of a row has its layer instead of a text
 */

const LABEL = 16, NAME = 16, GUTTER = 52, NARROW = 24, BETWEEN = 16, LARGEST = 104, FLAT = 0.25;   // FLAT: height of a layer without heads, as a share of another's

/**
 * Return a head's extra offset to the right in pixels, which separates groups of heads with shared keys and values.
 * @param {number} groups  number of heads that share keys and values
 * @param {number} head
 * @returns {number}
 */
export const groupGap = (groups, head) => (groups > 1 ? Math.floor(head / groups) * 4 : 0);

/**
 * Arrange heads by layer. The layers are split into the number of side-by-side blocks that gives the largest
 * thumbnails; otherwise 30 layers of 9 heads would form a thin tower.
 * @param {import("../js/messages.js").Message} body  the grid's body
 * @param {number} width  available pixels
 * @param {number} smallest  smallest size of a thumbnail in pixels
 * @returns {Plan}
 */
export function byLayer({ layers, heads, others, groups, height, picture }, width, smallest) {
  const most = Math.max(...heads), gaps = groupGap(groups, most - 1);
  const down = (from, to) => heads.slice(from, to).reduce((sum, count) => sum + (count ? 1 : FLAT), 0);
  const deepest = (per) => Math.max(...layers.map((_, row) => down(row - (row % per), row + 1)));
  let best;
  for (let blocks = 1; blocks <= Math.min(4, layers.length); blocks++) {
    const per = Math.ceil(layers.length / blocks), share = (width - (blocks - 1) * BETWEEN) / blocks;
    const gutter = blocks === 1 && width > 320 ? GUTTER : NARROW;
    const pitch = Math.min((share - gutter - gaps) / most, (height - LABEL) / deepest(per), LARGEST);
    if (!best || pitch > best.pitch * (picture ? 1.05 : 1.25)) best = { blocks, per, gutter, pitch };
  }
  const pitch = Math.max(smallest, Math.floor(best.pitch)), block = best.gutter + most * pitch + gaps + BETWEEN;
  const side = pitch - (pitch < 14 ? 1 : pitch < 28 ? 2 : 4), spots = [], labels = [];
  layers.forEach((layer, row) => {
    const left = Math.floor(row / best.per) * block + best.gutter, high = side * (heads[row] ? 1 : FLAT);
    const y = LABEL + Math.round(down(row - (row % best.per), row) * pitch);
    const across = (head) => left + head * pitch + groupGap(groups, head);
    if (row % best.per === 0) {
      const count = Math.max(...heads.slice(row, row + best.per));
      for (let head = 0; head < count; head += Math.ceil(18 / pitch)) {
        labels.push({ kind: "column", text: head, x: across(head) + (side - 24) / 2, y: -1, width: 24 });
      }
    }
    if (row % Math.ceil(14 / pitch) === 0) {
      labels.push({ kind: "row", layer, y: y + (high - 16) / 2, x: left - best.gutter, width: best.gutter - 6 });
    }
    if (others?.[row]) {
      labels.push({ kind: "other", text: others[row], x: left, y: y + (high - 16) / 2, width: most * pitch + gaps });
    }
    for (let head = 0; head < heads[row]; head++) {
      spots.push({ index: spots.length, layer, head, x: across(head), y, row });
    }
  });
  const filled = Math.min(best.blocks, Math.ceil(layers.length / best.per));
  return { spots, labels, pitch, side, long: best.gutter === GUTTER,
    width: filled * block - BETWEEN, height: LABEL + Math.round(deepest(best.per) * pitch) };
}

/**
 * Return all heads as [layer, head], in the body's order.
 * @param {import("../js/messages.js").Message} body  the grid's body
 * @returns {[number, number][]}
 */
export const headsOf = ({ layers, heads }) =>
  layers.flatMap((layer, row) => Array.from({ length: heads[row] }, (_, head) => [layer, head]));

/**
 * Arrange heads by rank, in rows of thumbnails with the names below.
 * @param {import("../js/messages.js").Message} body  the grid's body
 * @param {number[]} order  head indices
 * @param {number} width  available pixels
 * @returns {Plan}
 */
export function byRank(body, order, width) {
  const every = headsOf(body), columns = Math.ceil(Math.sqrt(order.length * 1.6));
  const pitch = Math.floor(clamp(width / columns, 44, LARGEST));
  const across = Math.max(1, Math.floor(width / pitch)), side = pitch - 6, step = side + NAME + 6;
  const spots = order.map((index, at) => {
    const [layer, head] = every[index], row = Math.floor(at / across);
    return { index, layer, head, x: (at % across) * pitch, y: row * step, row };
  });
  const labels = spots.map(({ layer, head, x, y }) => (
    { kind: "name", text: `${layer}·${head}`, x, y: y + side, width: side }));
  return { spots, labels, pitch, side, width: Math.min(order.length, across) * pitch,
    height: Math.ceil(order.length / across) * step };
}
