// All heads as thumbnails. Hovering and keyboard movement stay in the browser; a choice sends the head's index,
// {silence: index} or {figure: index}.
import { barOf, canvasOf, canvasOfPicture, canvasOfSteps, drawOver, paint, pixels, strike, STRUCK,
  weightBar } from "../js/canvas.js";
import { explored } from "../js/input.js";
import { div, figure, fill, framed, heightFor, node, place, span, tooltip, within } from "../js/shared.js";
import { byLayer, byRank } from "./layout.js";

/** @type {import("../js/component.js").Mount} */
export const mount = framed("grid", ({ root, on, send }) => {
  const scroll = div(root, "scroll"), stage = div(scroll, "stage");
  const canvas = node("canvas", stage), labels = div(stage);
  const [hovered, opened, cursor] = ["mark", "mark open", "mark cursor"].map((name) => div(stage, name));
  const badges = div(stage), legend = div(root, "legend");
  let body, state, plan;

  canvas.role = "img";
  scroll.tabIndex = 0;
  scroll.role = "application";

  function redraw(colours) {
    const smallest = matchMedia("(pointer: coarse)").matches ? 24 : 12, height = heightFor(root, body.height);
    plan = state.order ? byRank(body, state.order, root.clientWidth)
      : byLayer({ ...body, height }, root.clientWidth, smallest);
    hovered.hidden = true;
    place(stage, 0, 0, plan.width, plan.height);
    scroll.style.maxHeight = `${height}px`;
    drawCells(colours);
    drawLabels();
    drawMarks();
    drawLegend(colours);
    const said = { layers: body.layers.length, heads: plan.spots.length };
    canvas.ariaLabel = fill(body.text.picture, said);
    const keys = fill(body.silence ? body.text.keys_silence : body.text.keys, said);
    scroll.ariaLabel = state.figure ? `${keys} ${body.text.keys_figure}` : keys;
    Object.assign(root.dataset, { heads: plan.spots.length, pitch: plan.pitch, left: plan.spots[0].x });
    reachAgain();
  }

  function drawCells(colours) {
    const pen = canvasOf(canvas, plan.width, plan.height), ratio = canvas.width / plan.width;
    const side = Math.round(plan.side * ratio), image = pen.createImageData(side, side);
    const [, rows, columns] = body.cells.shape, out = new Uint32Array(image.data.buffer);
    const ramp = pixels(colours.ramp, 256), tint = state.values && tints(colours), photo = !tint && overPicture(pen);
    pen.lineWidth = 1;
    for (const { index, x, y } of plan.spots) {
      const left = Math.round(x * ratio), top = Math.round(y * ratio);
      if (photo) {
        photo(index, left, top, side);
        continue;
      }
      if (tint) out.fill(tint(state.values.values[index]));
      else paint(body.cells.values, index * rows * columns, [rows, columns], ramp, out, [side, side]);
      pen.putImageData(image, left, top);
      const share = state.signed && tint ? state.values.values[index] / state.reach : 0;
      pen.globalAlpha = 0.6;
      if (share <= -STRUCK && side >= 8) strike(pen, left, top, side, side, share < -0.5 ? colours.paper : colours.ink);
      pen.globalAlpha = 0.22;
      pen.strokeStyle = colours.ink;
      pen.strokeRect(left + 0.5, top + 0.5, side - 1, side - 1);
    }
  }

  // Draw a head's row over the picture behind the thumbnails, if there is one.
  function overPicture(pen) {
    if (!body.picture) return undefined;
    const { picture, cells, covered, opacity, colours } = body, [, ...grid] = cells.shape;
    const small = canvasOfPicture(picture, opacity), count = grid[0] * grid[1];
    const longer = Math.max(small.width, small.height);
    return (index, left, top, side) => {
      const [wide, high] = [small.width, small.height].map((each) => (each * side) / longer);
      const steps = cells.values.subarray(index * count, (index + 1) * count);
      const corner = [left + (side - wide) / 2, top + (side - high) / 2];
      const patches = () => pen.drawImage(canvasOfSteps(steps, grid, colours.glow), ...corner, wide * covered[0],
        high * covered[1]);
      drawOver(pen, small, opacity, [wide, high], patches, corner);
    };
  }

  // Return one colour per number, on a scale from 0 or symmetric around 0.
  function tints(colours) {
    const { signed, reach } = state, scale = pixels(signed ? colours.signed : colours.ramp, 511);
    const along = (share) => (signed ? (share + 1) / 2 : Math.max(0, share));
    return (value) => (Number.isNaN(value) ? 0 : scale[Math.round(510 * along(value / reach))]);
  }

  function drawLabels() {
    const { labels: all, long, spots } = plan, { row, head } = body.text;
    labels.replaceChildren();
    for (const { kind, layer, text = long ? fill(row, { layer }) : layer, x, y, width } of all) {
      place(div(labels, `label ${kind}`, text), x, y, width);
    }
    if (long) place(div(labels, "label row", head), 0, -1, spots[0].x - 6);
  }

  const spotOf = (index) => plan.spots.find((spot) => spot.index === index);

  function around(mark, index, by) {
    const spot = spotOf(index);
    mark.hidden = !spot;
    if (spot) place(mark, spot.x - by, spot.y - by, plan.side + 2 * by, plan.side + 2 * by);
  }

  function drawMarks() {
    around(opened, state.open, 2);
    badges.replaceChildren();
    for (const index of body.masked_out) around(div(badges, "masked"), index, 0);
    for (const index of state.figure ?? []) around(div(badges, "mark together"), index, 2);
    for (const [index, rank] of state.marks) {
      const spot = spotOf(index), small = plan.side < 18;
      if (!spot) continue;
      const badge = div(badges, small ? "badge dot" : "badge", small ? "" : rank);
      // inside the thumbnail, because between two rows it would be ambiguous
      place(badge, spot.x + plan.side - (small ? 7 : 15), spot.y + 1);
    }
    const open = spotOf(state.open);
    root.dataset.open = open ? `${open.layer}.${open.head}` : "";
  }

  function drawLegend(colours) {
    const { values, signed } = state, [low, ...others] = (values ? state : body).legend;
    legend.replaceChildren();
    span(legend, "", low);
    span(legend, "bar").style.background = values || !body.picture ? weightBar(colours, signed)
      : barOf(body.opacity, colours.glow);
    for (const text of others) span(legend, "", text);
  }

  const nameOf = (index) => fill(body.text[body.masked_out.includes(index) ? "masked_out" : "name"], spotOf(index));

  function facts(index) {
    const rank = state.marks.find(([marked]) => marked === index), rows = rank ? [[state.rank, String(rank[1])]] : [];
    if (state.values) rows.push([state.of || body.text.value, figure(state.values.values[index])]);
    for (const [name, written] of state.hover ?? []) if (written[index]) rows.push([name, written[index]]);
    return rows.slice(0, 3);
  }

  function at(event) {
    const [x, y] = within(stage, event);
    const inside = (place, start) => place >= start && place < start + plan.side + 2;
    return plan?.spots.find((spot) => inside(x, spot.x) && inside(y, spot.y))?.index;
  }

  const point = (index) => around(hovered, index, 1);
  /** @returns {[string, string[][]]} */
  const about = (index) => [nameOf(index), facts(index)];
  function reach(index) {
    around(cursor, index, 3);
    if (!cursor.hidden) cursor.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  // Handle a click or Enter, which opens a head; with Shift, it adds the head to a figure.
  function choose(index, { shiftKey }) {
    if (shiftKey && state.figure) return send({ figure: index });
    state.open = index;
    drawMarks();
    return send(index);
  }

  function next(index, [dx, dy]) {
    const all = plan.spots, here = spotOf(index ?? state.open) ?? all[0];
    const row = all.filter((spot) => spot.row === here.row + dy);
    const column = (spot) => (state.order ? spot.x : spot.head), away = (spot) => Math.abs(column(spot) - column(here));
    return ((dx ? all[all.indexOf(here) + dx] : row.sort((one, other) => away(one) - away(other))[0]) ?? here).index;
  }

  function press({ key }, index) {
    if (key === "s" && body.silence) send({ silence: index ?? state.open });
    else if (key === "Escape") scroll.blur();
    else return false;
  }

  const reachAgain = explored(on, tooltip(root),
    { part: stage, board: scroll, aside: true, at, point, reach, about, next, choose, press });
  return { build: (read) => { body = read; }, take: (read) => { state = read; }, redraw };
});
