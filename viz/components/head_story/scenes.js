// Where everything of a head's story stands in each scene, as numbers only: what moves between two scenes is between
// their numbers.
import { fixed } from "../js/shared.js";

/** @type {number} */
export const ROW = 22, LETTER = 12, EDGE = 24;
const NAMES = 118, NUMBERS = 62, WIDE = 0.617;   // how wide a letter of the code font is, of its size

const line = (x1, y1, x2, y2, seen = 1) => ({ x1, y1, x2, y2, seen });
const label = (x, y, anchor, text, seen = 1) => ({ x, y, anchor, text, seen });

// A plane in which one unit is as long to the right as upwards, and which holds all these points.
function planeOf(points, width, height, sides = 70) {
  const xs = [0, ...points.map((each) => each[0])], ys = [0, ...points.map((each) => each[1])];
  const [left, right] = [Math.min(...xs), Math.max(...xs)], [low, high] = [Math.min(...ys), Math.max(...ys)];
  const unit = Math.min((width - 2 * sides) / (right - left || 1), (height - 3 * EDGE) / (high - low || 1));
  const x = (width - unit * (right - left)) / 2 - unit * left;
  const y = height - (height - unit * (high - low)) / 2 + unit * low;
  return { unit, at: ([across, up]) => [x + unit * across, y - unit * up] };
}

// Names beyond their tips, those of the largest weights first; one that would lie on another is not seen.
function named(tips, body, letter) {
  const taken = [], spots = tips.map(() => undefined);
  for (const at of body.order) {
    const [x, y, text] = tips[at], wide = text.length * WIDE * letter + 6;
    const box = [x - wide / 2, y - 8 - letter, x + wide / 2, y - 4];
    const free = taken.every(([a, b, c, d]) => box[2] < a || c < box[0] || box[3] < b || d < box[1]);
    if (free) taken.push(box);
    spots[at] = label(x, y - 8, "middle", text, free ? 1 : 0);
  }
  return spots.map((each, at) => each ?? label(tips[at][0], tips[at][1], "middle", "", 0));
}

const still = (width, height) => line(width / 2, height / 2, width / 2, height / 2, 0);

function vectors(body, width, height, letter) {
  const tips = body.along.map((each, at) => [each ?? 0, body.across[at] ?? 0]);
  const plane = planeOf([...tips, [body.query, 0]], width, height), [ox, oy] = plane.at([0, 0]);
  const [qx] = plane.at([body.query, 0]), ends = tips.map(plane.at);
  const keys = ends.map(([x, y], at) => line(ox, oy, x, y, body.along[at] === null ? 0 : 1));
  const labels = named(ends.map(([x, y], at) => [x, y, body.names[at]]), body, letter);
  const shadows = ends.map(([x], at) => ({ line: line(ox, oy, x, oy, body.along[at] === null ? 0 : 1),
    label: { ...labels[at], y: oy - 8, seen: 0 } }));
  return { keys, labels, shadows, query: line(ox, oy, qx, oy), floor: line(EDGE, oy, width - EDGE, oy) };
}

// Bars from a line of zero, a row for each key. numbers: null where there is none.
function bars(body, numbers, range, { width, row, letter }, write) {
  const [low, high] = range, names = (NAMES * letter) / LETTER, written = (NUMBERS * letter) / LETTER;
  const unit = (width - names - written - 8) / (high - low || 1), zero = names + 4 - low * unit;
  const top = (at) => EDGE + row * (at + 0.5), bottom = EDGE + row * numbers.length;
  const bar = (number, y) => line(zero, y, zero + (number ?? 0) * unit, y, number === null ? 0 : 1);
  const keys = numbers.map((number, at) => bar(number, top(at)));
  const seen = (at) => isRow(numbers[at], body.places[at]);
  const labels = body.names.map((text, at) => label(names - 4, top(at) + 4, "end", text, seen(at)));
  const counts = numbers.map((each, at) => write(each, at));
  return { keys, labels, counts, rows: keys.map((_, at) => top(at) + 4), floor: line(zero, EDGE, zero, bottom) };
}

// The others together have no score: their row comes with the weights.
const isRow = (number, place) => (number === null && place < 0 ? 0 : 1);

function mix(body, width, height, letter) {
  const walk = [...body.order, ...body.places.flatMap((place, at) => (place < 0 ? [at] : []))], from = [], to = [];
  let here = [0, 0];
  for (const at of walk) {
    from[at] = here;
    here = to[at] = here.map((value, axis) => value + body.steps[at][axis]);
  }
  const known = body.values.filter((_, at) => body.weights[at] > 0);
  const plane = planeOf([...to, ...known, [body.mix, 0]], width, height), [ox, oy] = plane.at([0, 0]);
  const keys = to.map((end, at) => line(...plane.at(from[at]), ...plane.at(end)));
  const ghosts = body.values.map((end, at) => line(ox, oy, ...plane.at(end), body.weights[at] > 0 ? 1 : 0));
  const called = (at) => (body.weights[at] > 0 ? body.names[at] : "");
  const labels = named(ghosts.map(({ x2, y2 }, at) => [x2, y2, called(at)]), body, letter);
  const [mx, my] = plane.at([body.mix, 0]);
  return { keys, labels, ghosts, mix: line(ox, oy, mx, my), said: label(mx, my + 20, "middle", body.text.mix) };
}

function out(body, width, height) {
  if (!body.stream) return undefined;
  const [before, added, degrees] = body.stream, turn = (degrees * Math.PI) / 180;
  const tip = [before + added * Math.cos(turn), added * Math.sin(turn)];
  const plane = planeOf([[before, 0], tip], width, height, 110);
  const [[ox, oy], [bx, by], [sx, sy]] = [[0, 0], [before, 0], tip].map(plane.at);
  return { stream: line(ox, oy, bx, by), sum: line(ox, oy, sx, sy), mix: line(bx, by, sx, sy),
    streamSaid: label((ox + bx) / 2, oy + 20, "middle", body.text.stream),
    said: label(Math.max(bx, sx) + 8, (by + sy) / 2, "start", body.text.added),
    sumSaid: label((ox + sx) / 2, (oy + sy) / 2 - 10, "middle", body.text.sum) };
}

/**
 * All six scenes in a picture of this size with letters of this one, a bar every `row` pixels. Each has: keys, labels,
 * counts (a number a row), ghosts (whole values), query, floor, mix, stream, sum and the words at them; via: where keys
 * and labels are half way from the scene before.
 * @param {object} body  of the story
 * @param {number} width  pixels
 * @param {number} height  pixels
 * @param {{row?: number, letter?: number}} sizes  pixels
 * @returns {object[]}
 */
export function scenes(body, width, height, { row = ROW, letter = LETTER } = {}) {
  const size = { width, row, letter };
  const none = still(width, height), silent = label(width / 2, height / 2, "middle", "", 0);
  const flat = vectors(body, width, height, letter);
  const scores = [...body.dots, ...body.logits].filter((one) => one !== null);
  const range = [Math.min(0, ...scores), Math.max(0, ...scores)];
  const nothing = (at) => (body.places[at] < 0 ? "" : "−∞");
  const two = (value, at) => (value === null ? nothing(at) : fixed(value, 2));
  const products = bars(body, body.dots, range, size, two), scaled = bars(body, body.logits, range, size, two);
  const weights = bars(body, body.weights, [0, 1], size, (value) => fixed(value, 3));
  const mixed = mix(body, width, height, letter), last = out(body, width, height);
  const rest = { ghosts: mixed.ghosts.map((ghost) => ({ ...ghost, seen: 0 })), mix: { ...mixed.mix, seen: 0 },
    said: { ...mixed.said, seen: 0 }, query: { ...flat.query, seen: 0 }, floor: none, stream: none, sum: none,
    streamSaid: silent, sumSaid: silent, counts: undefined };
  const via = { keys: flat.shadows.map((one) => one.line), labels: flat.shadows.map((one) => one.label) };
  const gone = mixed.keys.map(() => ({ ...(last?.mix ?? none), seen: 0 }));
  return [
    { ...rest, keys: flat.keys, labels: flat.labels, query: flat.query, floor: flat.floor },
    { ...rest, ...products, via },
    { ...rest, ...scaled },
    { ...rest, ...weights },
    { ...rest, ...mixed, via: { keys: mixed.ghosts, labels: mixed.labels } },
    { ...rest, keys: gone, labels: mixed.labels.map((one) => ({ ...one, seen: 0 })), ...(last ?? { mix: none }) },
  ];
}

const between = (one, other, share) => {
  const made = { ...other };
  for (const name of ["x1", "y1", "x2", "y2", "x", "y", "seen"]) {
    if (typeof one[name] === "number") made[name] = one[name] + (other[name] - one[name]) * share;
  }
  return made;
};

const all = (one, other, share) => one.map((each, at) => between(each, other[at], share));

/**
 * What is seen at this share of the way from one scene to the next; backwards the same way.
 * @param {object} from  a scene
 * @param {object} to  the next one
 * @param {number} share  of the way, 0 to 1
 * @returns {object} a scene
 */
export function onTheWay(from, to, share) {
  const via = to.via && from.index < to.index ? to.via : from.via && from.index > to.index ? from.via : undefined;
  const made = { ...to };
  for (const name of ["query", "floor", "mix", "said", "stream", "sum", "streamSaid", "sumSaid"]) {
    made[name] = between(from[name], to[name], share);
  }
  made.ghosts = all(from.ghosts, to.ghosts, share);
  for (const name of ["keys", "labels"]) {
    if (!via) made[name] = all(from[name], to[name], share);
    else if (share < 0.5) made[name] = all(from[name], via[name], 2 * share);
    else made[name] = all(via[name], to[name], 2 * share - 1);
  }
  return made;
}
