// A picture with its patches. Hovering and keyboard movement stay in the browser; only a choice is sent, as {token}.
import { frame, tooltip } from "../js/shared.js";
import { viewOf } from "./view.js";

const KEYS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

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

  function show(token, event) {
    view.point(token);
    if (token === undefined) tip.hide();
    else tip.show(event.clientX, event.clientY, ...view.about(token));
  }

  function move(step) {
    const { focus } = state, chosen = focus !== null && view.isPatch(focus) ? focus : undefined;
    cursor = view.beside(cursor ?? chosen, step);
    view.point(cursor);
    tip.say(...view.about(cursor));
  }

  function leave() {
    cursor = undefined;
    view.point();
    tip.hide();
  }

  const chipAt = (event) => {
    const chip = event.target.closest("button");
    return chip ? Number(chip.dataset.token) : undefined;
  };

  for (const [part, at] of [[board, view.under], [chips, chipAt]]) {
    on(part, "pointermove", (event) => show(at(event), event));
    on(part, "pointerleave", leave);
    on(part, "click", (event) => {
      const token = at(event);
      if (token !== undefined) choose(token);
    });
  }
  on(board, "blur", leave);
  on(board, "keydown", (event) => {
    if (KEYS[event.key]) move(KEYS[event.key]);
    else if ((event.key === "Enter" || event.key === " ") && cursor !== undefined) choose(cursor);
    else if (event.key === "Escape" && state.focus !== null) choose(state.focus);
    else return;
    event.preventDefault();
  });

  return receive(bytes, { build: (read) => view.build(body = read), take: (read) => { state = read; } });
}
