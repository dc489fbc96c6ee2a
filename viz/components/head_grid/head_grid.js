// All heads as thumbnails. Hovering and keyboard movement stay in the browser; a choice sends the head's index,
// {silence: index} or {figure: index}.
import { explored } from "../js/explore.js";
import { framed, tooltip } from "../js/shared.js";
import { viewOf } from "./view.js";

/** @type {import("../js/component.js").Mount} */
export const mount = framed("grid", ({ root, on, send }) => {
  const view = viewOf(root), { spots, spotOf, scroll } = view;
  let body, state;

  // Handle a click or Enter, which opens or silences a head. Alt always silences; Shift adds to a figure.
  function choose(index, { altKey, shiftKey }) {
    if (shiftKey && state.figure) return send({ figure: index });
    if (body.silence && (altKey || state.silences)) return send({ silence: index });
    state.open = index;
    view.drawMarks();
    return send(index);
  }

  function next(index, [dx, dy]) {
    const all = spots(), here = spotOf(index ?? state.open) ?? all[0];
    const row = all.filter((spot) => spot.row === here.row + dy);
    const column = (spot) => (state.order ? spot.x : spot.head), away = (spot) => Math.abs(column(spot) - column(here));
    return ((dx ? all[all.indexOf(here) + dx] : row.sort((one, other) => away(one) - away(other))[0]) ?? here).index;
  }

  function press({ key }, index) {
    if (key === "s" && body.silence && index !== undefined) choose(index, { altKey: true });
    else if (key === "Escape") scroll.blur();
    else return false;
  }

  const reachAgain = explored(on, tooltip(root), { ...view, board: scroll, next, choose, press });

  function redraw(colours) {
    view.draw(body, state, colours);
    reachAgain();
  }
  return { build: (read) => { body = read; }, take: (read) => { state = read; }, redraw };
});
