// All heads as thumbnails. Hovering and keyboard movement stay in the browser; a choice sends the head's index,
// {silence: index} or {figure: index}.
import { ARROWS, onKeys, presses } from "../js/keys.js";
import { frame, tooltip } from "../js/shared.js";
import { viewOf } from "./view.js";

/** @type {import("../js/component.js").Mount} */
export function mount(element, bytes, send) {
  const { root, on, receive } = frame(element, "grid", redraw);
  const view = viewOf(root), { stage, scroll } = view, tip = tooltip(root);
  let body, state, at;

  function redraw(colours) {
    view.draw(body, state, colours);
    view.reach(at &&= view.spotOf(at.index));
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
    const { key, altKey, shiftKey } = event;
    if (ARROWS[key]) move(ARROWS[key]);
    else if (presses(event)) at && choose(at, altKey, shiftKey);
    else if (key === "s" && body.silence) at && choose(at, true);
    else if (key === "Escape") scroll.blur();
    else return false;
  }

  on(scroll, "scroll", tip.follow(on, stage, view.under, view.point, view.about), { passive: true });
  on(stage, "click", (event) => {
    const spot = view.under(event);
    if (spot) choose(spot, event.altKey, event.shiftKey);
  });
  onKeys(on, scroll, press);
  on(scroll, "blur", () => {
    view.reach(at = undefined);
    tip.hide();
  });

  return receive(bytes, { build: (read) => { body = read; }, take: (read) => { state = read; } });
}
