// All heads as thumbnails. Hovering and keyboard movement stay in the browser; a choice sends the head's index,
// {silence: index} or {figure: index}.
import { frame, tooltip } from "../js/shared.js";
import { viewOf } from "./view.js";

const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** @type {import("../js/component.js").Mount} */
export function mount(element, bytes, send) {
  const { root, on, receive } = frame(element, "grid", redraw);
  const view = viewOf(root), { stage, scroll } = view, tip = tooltip(root);
  let body, state, over, at;

  function redraw(colours) {
    if (view.draw(body, state, colours)) at = over = undefined;
  }

  function hover(event) {
    const spot = view.under(event);
    if (spot !== over) view.point(spot);
    over = spot;
    if (spot) tip.show(event.clientX, event.clientY, ...view.about(spot));
    else tip.hide();
  }

  function leave() {
    over = undefined;
    view.point();
    tip.hide();
  }

  // Handle a click or Enter, which opens or silences a head. `other` always silences; `together` adds to a figure.
  function choose(spot, other, together) {
    if (together && state.figure) return send({ figure: spot.index });
    if (body.silence && (other || state.silences)) return send({ silence: spot.index });
    state.open = spot.index;
    view.drawMarks();
    return send(spot.index);
  }

  function move([dx, dy]) {
    const spots = view.spots(), here = at ?? view.spotOf(state.open) ?? spots[0];
    const row = spots.filter((spot) => spot.row === here.row + dy);
    const column = (spot) => (state.order ? spot.x : spot.head), away = (spot) => Math.abs(column(spot) - column(here));
    at = (dx ? spots[spots.indexOf(here) + dx] : row.sort((one, other) => away(one) - away(other))[0]) ?? here;
    view.reach(at);
    tip.say(...view.about(at));
  }

  function press(event) {
    if (KEYS[event.key]) move(KEYS[event.key]);
    else if (event.key === "Enter" || event.key === " ") at && choose(at, event.altKey, event.shiftKey);
    else if (event.key === "s" && body.silence) at && choose(at, true);
    else if (event.key === "Escape") scroll.blur();
    else return;
    event.preventDefault();
  }

  on(stage, "pointermove", hover);
  on(stage, "pointerleave", leave);
  on(scroll, "scroll", leave, { passive: true });
  on(stage, "click", (event) => {
    const spot = view.under(event);
    if (spot) choose(spot, event.altKey, event.shiftKey);
  });
  on(scroll, "keydown", press);
  on(scroll, "blur", () => {
    view.reach(at = undefined);
    tip.hide();
  });

  return receive(bytes, { build: (read) => { body = read; }, take: (read) => { state = read; } });
}
