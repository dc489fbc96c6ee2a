// A picture with its patches. Hovering and keyboard movement stay in the browser; only a choice is sent, as {token}.
import { explored } from "../js/explore.js";
import { framed, tooltip } from "../js/shared.js";
import { viewOf } from "./view.js";

/** @type {import("../js/component.js").Mount} */
export const mount = framed("patches", ({ root, on, send }) => {
  const view = viewOf(root), tip = tooltip(root);
  let body, state;

  function choose(token) {
    if (body.frozen) return;   // other tokens' rows are unavailable
    state.focus = token === state.focus ? null : token;
    view.drawMarks();
    send({ token: state.focus });
  }

  const next = (token = state.focus, step) => view.beside(token, step);

  function press({ key }) {
    if (key !== "Escape" || state.focus === null) return false;
    choose(state.focus);
  }

  const reachAgain = explored(on, tip, { ...view, next, choose, press });
  explored(on, tip, { ...view, part: view.chips, at: view.chipped, choose });

  function redraw() {
    view.draw(state);
    reachAgain();
  }
  return { build: (read) => view.build(body = read), take: (read) => { state = read; }, redraw };
});
