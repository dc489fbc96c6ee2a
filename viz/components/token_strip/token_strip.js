// The sentence's tokens as buttons. Selections are sent as {token, pair}.
import { receiver } from "../js/messages.js";
import { div, fill, frame, node, palette } from "../js/shared.js";

/** @type {import("../js/component.js").Mount} */
export function mount(element, bytes, send) {
  const { root, on, draw, end } = frame(element, "strip", () => palette(root, body.colours));
  const strip = div("tokens", root), hint = div("hint", root);
  let body, state = { focus: null, pair: null, pairs: true }, buttons = [], reach = 0;
  strip.setAttribute("role", "toolbar");
  hint.setAttribute("aria-live", "polite");

  function build() {
    const { texts, flags, segments } = body.tokens, names = body.text.segments, pairs = segments.includes(1);
    let word, segment = -1;
    buttons = [];
    strip.replaceChildren();
    strip.setAttribute("aria-label", body.text.label);
    texts.forEach((text, at) => {
      if (pairs && segments[at] >= 0 && segments[at] !== segment) {
        segment = segments[at];
        if (segment) div("segment", strip);
        node("span", "letter", names[segment], strip);
      }
      if (!(flags[at] & 4)) word = node("span", "word", undefined, strip);
      buttons.push(button(text, flags[at], at, word));
    });
    reach = Math.min(state.focus ?? 0, buttons.length - 1);
  }

  function button(text, flags, at, parent) {
    const made = node("button", "", text, parent), { special, unknown } = body.text;
    const notes = [flags & 1 && special, flags & 2 && unknown].filter(Boolean);
    made.type = "button";
    made.dir = "auto";
    made.classList.toggle("special", !!(flags & 1));
    made.classList.toggle("unknown", !!(flags & 2));
    made.title = [fill(body.text.token, { token: text, position: at }), ...notes].join(", ");
    made.setAttribute("aria-label", made.title);
    made.tabIndex = -1;
    return made;
  }

  function mark() {
    const { focus, pair } = state, words = body.text, name = (at) => `${body.tokens.texts[at]} (${at})`;
    buttons.forEach((each, at) => {
      each.classList.toggle("from", at === focus);
      each.classList.toggle("to", pair !== null && at === pair[1] && at !== focus);
      each.setAttribute("aria-pressed", String(at === focus || (pair !== null && at === pair[1])));
    });
    rove(reach);
    const [from, to] = (pair ?? [focus]).map((at) => buttons[at] && name(at));
    if (from && to) hint.textContent = fill(words.pair, { from, to });
    else if (buttons[focus] && state.chosen !== false) hint.textContent = state.pairs ? fill(words.focus, { from: name(focus) }) : name(focus);
    else hint.textContent = words.none;
  }

  // A single tab stop, which the arrow keys move.
  function rove(to) {
    if (buttons[reach]) buttons[reach].tabIndex = -1;
    reach = Math.max(0, Math.min(to, buttons.length - 1));
    buttons[reach].tabIndex = 0;
  }

  function set(token, pair) {
    state = { ...state, focus: token, pair, chosen: true };
    mark();
    send({ token, pair });
  }

  function choose(at, second) {
    const { focus, pair } = state;
    if (!state.pairs) set(at === focus ? null : at, null);
    else if (state.chosen === false && !second) set(at, null);
    else if (second && focus !== null) set(focus, pair && pair[1] === at ? null : [focus, at]);
    else if (at === focus) set(null, null);
    else if (pair && at === pair[1]) set(focus, null);
    else if (focus !== null && !pair) set(focus, [focus, at]);
    else set(at, null);
  }

  on(strip, "click", (event) => {
    const at = buttons.indexOf(event.target.closest("button"));
    if (at < 0) return;
    rove(at);
    choose(at, event.shiftKey);
  });
  on(strip, "keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -Infinity, End: Infinity }[event.key];
    if (step) {
      rove(reach + step);
      buttons[reach].focus();
    } else if (event.key === "Escape") state.pair ? set(state.focus, null) : set(null, null);
    else return;
    event.preventDefault();
  });

  return receiver(bytes, (read) => {
    if (read.part === "body") {
      body = read;
      build();
    } else state = read;
    mark();
    draw();
  }, end);
}
