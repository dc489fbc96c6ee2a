// Every head as a thumbnail on one canvas. Hovering and moving happen here; only a choice is sent: the number of the head, or {silence: number}.
import { number, unpack } from "../js/messages.js";
import { canvasOf, figure, short, fill, frame, node, paint, palette, pixels, place, tooltip, within } from "../js/shared.js";
import { STRUCK, signedBar, strike } from "../js/negative_marks.js";
import { byLayer, byRank } from "./layout.js";

const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export function mount(element, bytes, send) {
  const { root, on, draw, end } = frame(element, "grid", redraw);
  const scroll = node("div", "scroll", undefined, root), stage = node("div", "stage", undefined, scroll);
  const canvas = node("canvas", "", undefined, stage), labels = node("div", "", undefined, stage);
  const [hovered, opened, cursor] = ["mark", "mark open", "mark cursor"].map((name) => node("div", name, undefined, stage));
  const badges = node("div", "", undefined, stage);
  const legend = node("div", "legend", undefined, root), live = node("div", "unseen", undefined, root), tip = tooltip(root);
  let body, state = { open: null, order: null, marks: [] }, plan, over, at, drawn, cells;

  canvas.setAttribute("role", "img");
  live.setAttribute("aria-live", "polite");
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "application");

  function redraw() {
    const colours = palette(root, body.colours), smallest = matchMedia("(pointer: coarse)").matches ? 24 : 12;
    const wanted = JSON.stringify([root.clientWidth, devicePixelRatio, colours.theme, state.order, state.signed, state.of, [...(state.values?.values ?? [])]]);
    if (wanted === drawn && cells === body.cells) return drawMarks();
    [drawn, cells] = [wanted, body.cells];
    plan = state.order ? byRank(body, state.order, root.clientWidth) : byLayer(body, root.clientWidth, smallest);
    at = over = undefined;
    cursor.hidden = hovered.hidden = true;
    place(stage, 0, 0, plan.width, plan.height);
    scroll.style.maxHeight = `${body.height}px`;
    drawCells(colours);
    drawLabels();
    drawMarks();
    drawLegend(colours);
    const said = { layers: body.layers.length, heads: plan.spots.length };
    canvas.setAttribute("aria-label", fill(body.text.picture, said));
    scroll.setAttribute("aria-label", fill(body.silence ? body.text.keys_silence : body.text.keys, said));
    root.dataset.heads = plan.spots.length;
    root.dataset.pitch = plan.pitch;
    root.dataset.left = plan.spots[0].x;
  }

  function drawCells(colours) {
    const pen = canvasOf(canvas, plan.width, plan.height), ratio = canvas.width / plan.width, side = Math.round(plan.side * ratio);
    const [, rows, columns] = body.cells.shape, ramp = pixels(colours.ramp, 256), image = pen.createImageData(side, side);
    const out = new Uint32Array(image.data.buffer), tint = state.values && tints(colours);
    pen.lineWidth = 1;
    for (const { index, x, y } of plan.spots) {
      if (tint) out.fill(tint(state.values.values[index]));
      else paint(body.cells.values, index * rows * columns, [rows, columns], ramp, out, [side, side]);
      const left = Math.round(x * ratio), top = Math.round(y * ratio);
      pen.putImageData(image, left, top);
      const share = state.signed && tint ? state.values.values[index] / limit() : 0;
      pen.globalAlpha = 0.6;
      if (share <= -STRUCK && side >= 8) strike(pen, left, top, side, side, share < -0.5 ? colours.paper : colours.ink);
      pen.globalAlpha = 0.22;
      pen.strokeStyle = colours.ink;
      pen.strokeRect(left + 0.5, top + 0.5, side - 1, side - 1);
    }
  }

  // One colour for one number: from 0 to the largest, or symmetric about 0.
  function tints(colours) {
    const bound = limit(), scale = pixels(state.signed ? body.colours.signed[colours.theme] : colours.ramp, 511);
    return (value) => (Number.isNaN(value) ? 0 : scale[Math.round(510 * (state.signed ? (value / bound + 1) / 2 : Math.max(0, value / bound)))]);
  }

  const limit = () => state.bound || state.values.values.reduce((most, value) => Math.max(most, Math.abs(value) || 0), 0) || 1;

  function drawLabels() {
    labels.replaceChildren();
    const skip = Math.ceil(14 / plan.pitch), words = body.text;
    for (const each of plan.labels) {
      if (each.kind === "block") for (let head = 0; head < each.count; head += Math.ceil(18 / plan.pitch)) column(each, head);
      else if (each.kind === "name") place(node("div", "label name", each.text, labels), each.x, each.y, each.width);
      else if (plan.labels.filter((other) => other.kind === "row").indexOf(each) % skip === 0) {
        const text = plan.long ? fill(words.row, { layer: each.layer }) : String(each.layer);
        place(node("div", "label row", text, labels), each.x, each.y + (plan.side - 16) / 2, each.width);
      }
    }
    function column({ x }, head) {
      const group = plan.groups > 1 ? Math.floor(head / plan.groups) * 4 : 0;
      place(node("div", "label column", String(head), labels), x + head * plan.pitch + group + (plan.side - 24) / 2, -1, 24);
      if (head === 0 && plan.long) place(node("div", "label row", words.head, labels), 0, -1, x - 6);
    }
  }

  const spotOf = (index) => plan.spots.find((spot) => spot.index === index);
  const around = (mark, spot, by) => (spot ? place(mark, spot.x - by, spot.y - by, plan.side + 2 * by, plan.side + 2 * by) : (mark.hidden = true));

  function drawMarks() {
    around(opened, spotOf(state.open), 2);
    badges.replaceChildren();
    for (const [index, rank] of state.marks) {
      const spot = spotOf(index), small = plan.side < 18;
      if (!spot) continue;
      const badge = node("div", small ? "badge dot" : "badge", small ? "" : String(rank), badges);
      place(badge, spot.x + plan.side - (small ? 5 : 9), spot.y - (small ? 3 : 6));
    }
    const open = spotOf(state.open);
    stage.style.cursor = state.silences ? "crosshair" : "";
    root.dataset.open = open ? `${open.layer}.${open.head}` : "";
  }

  function drawLegend(colours) {
    const words = body.text, bar = node("span", "bar"), [low, high] = state.values ? [state.signed ? -limit() : 0, limit()] : [0, 1];
    bar.style.background = state.values && state.signed ? signedBar(body.colours.signed[colours.theme], colours.paper) : colours.gradient;
    const texts = [node("span", "", short(low)), bar, node("span", "", short(high))];
    if (state.of) texts.push(node("span", "", state.of));
    if (!state.values) texts.push(node("span", "", words.scale), node("span", "", words.thumbnail));
    if (!state.values && Math.max(...body.pool) > 1) texts.push(node("span", "", fill(words.pooled, { rows: body.pool[0], columns: body.pool[1] })));
    legend.replaceChildren(...texts);
  }

  const nameOf = ({ layer, head }) => fill(body.text.name, { layer, head });

  function facts({ index }) {
    const rank = state.marks.find(([marked]) => marked === index), rows = rank ? [[state.rank, String(rank[1])]] : [];
    if (state.values) rows.push([state.of || body.text.value, figure(state.values.values[index])]);
    (state.hover ?? []).forEach(([name, low, high], column) => {
      const value = number(state.hover_codes.values[column * state.hover_codes.shape[1] + index], low, high);
      if (!Number.isNaN(value)) rows.push([name, figure(value)]);
    });
    return rows;
  }

  function under(event) {
    const [x, y] = within(stage, event);
    return plan?.spots.find((spot) => x >= spot.x && y >= spot.y && x < spot.x + plan.side + 2 && y < spot.y + plan.side + 2);
  }

  function hover(event) {
    const spot = under(event);
    if (spot !== over) around(hovered, spot, 1);
    over = spot;
    if (spot) tip.show(event.clientX, event.clientY, nameOf(spot), facts(spot));
    else tip.hide();
  }

  function leave() {
    over = undefined;
    hovered.hidden = true;
    tip.hide();
  }

  // A click, or Enter, opens a head or silences it; `other` silences it.
  const choose = (spot, other) => (body.silence && (other || state.silences) ? send({ silence: spot.index }) : open(spot));

  function open(spot) {
    state.open = spot.index;
    drawMarks();
    send(spot.index);
  }

  function move([dx, dy]) {
    const here = at ?? spotOf(state.open) ?? plan.spots[0], row = plan.spots.filter((spot) => spot.row === here.row + dy);
    const next = dx ? plan.spots[plan.spots.indexOf(here) + dx] : row.reduce((near, spot) => (near && !nearer(spot, near) ? near : spot), undefined);
    function nearer(one, other) { return Math.abs(column(one) - column(here)) < Math.abs(column(other) - column(here)); }
    function column(spot) { return state.order ? spot.x : spot.head; }
    at = next ?? here;
    around(cursor, at, 3);
    cursor.scrollIntoView({ block: "nearest", inline: "nearest" });
    live.textContent = [nameOf(at), ...facts(at).map((fact) => fact.join(" "))].join(", ");
  }

  function press(event) {
    if (KEYS[event.key]) move(KEYS[event.key]);
    else if (event.key === "Enter" || event.key === " ") at && choose(at, event.altKey);
    else if (event.key === "s" && body.silence) at && choose(at, true);
    else if (event.key === "Escape") scroll.blur();
    else return;
    event.preventDefault();
  }

  on(stage, "pointermove", hover);
  on(stage, "pointerleave", leave);
  on(scroll, "scroll", leave, { passive: true });
  on(stage, "click", (event) => {
    const spot = under(event);
    if (spot) choose(spot, event.altKey);
  });
  on(scroll, "keydown", press);
  on(scroll, "blur", () => {
    at = undefined;
    cursor.hidden = true;
    tip.hide();
  });

  function update(message) {
    const read = unpack(message);
    if (read.part === "body") body = read;
    else state = read;
    draw();
  }
  update(bytes);
  return { update, destroy: end };
}
