// A picture with its patches. Hovering and keyboard movement stay in the browser; only a choice is sent, as {token}.
import { ARROWS, onKeys, presses } from "../js/keys.js";
import { frame, tooltip } from "../js/shared.js";
import { viewOf } from "./view.js";

/** @type {import("../js/component.js").Mount} */
export function mount(element, bytes, send) {
  const { root, on, receive } = frame(element, "patches", () => {
    view.draw(state);
    view.point(cursor);
  });
  const view = viewOf(root), { board, chips } = view, tip = tooltip(root);
  let body, state, cursor;

  function choose(token) {
    if (body.frozen) return;   // other tokens' rows are unavailable
    state.focus = token === state.focus ? null : token;
    view.drawMarks();
    send({ token: state.focus });
  }

  function move(step) {
    const { focus } = state, chosen = focus !== null && view.isPatch(focus) ? focus : undefined;
    cursor = view.beside(cursor ?? chosen, step);
    view.point(cursor);
    tip.say(...view.about(cursor));
  }

  for (const [part, at] of [[board, view.under], [chips, view.chipped]]) {
    on(part, "blur", () => { cursor = undefined; });
    const point = (token = cursor) => view.point(token);   // without a pointer, the keyboard's patch stays framed
    on(part, "blur", tip.follow(on, part, at, point, view.about));
    on(part, "click", (event) => {
      const token = at(event);
      if (token !== undefined) choose(token);
    });
  }
  onKeys(on, board, (event) => {
    if (ARROWS[event.key]) move(ARROWS[event.key]);
    else if (presses(event) && cursor !== undefined) choose(cursor);
    else if (event.key === "Escape" && state.focus !== null) choose(state.focus);
    else return false;
  });

  return receive(bytes, { build: (read) => view.build(body = read), take: (read) => { state = read; } });
}
