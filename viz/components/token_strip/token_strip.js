// The sentence's tokens as buttons. Selections are sent as {token, pair}.
import { onKeys, stepped } from "../js/input.js";
import { div, fill, framed, isolated, span, token } from "../js/shared.js";

/** @type {import("../js/component.js").Mount} */
export const mount = framed("strip", ({ root, on, send }) => {
  const strip = div(root, "tokens"), hint = div(root, "hint");
  let body, state, buttons = [], reach;
  strip.role = "toolbar";
  hint.ariaLive = "polite";

  function build(read) {
    body = read;
    const { tokens: { texts, flags, segments }, text: words } = body, pairs = segments.includes(1);
    let word, line, segment = -1;
    strip.replaceChildren();
    strip.ariaLabel = words.label;
    buttons = texts.map((text, at) => {
      const next = pairs && segments[at] > segment;
      if (!at || (next && segments[at])) (line = div(strip, "line")).dir = "auto";
      if (next) span(line, "letter", words.segments[segment = segments[at]]).dir = "ltr";
      if (!(flags[at] & 4)) word = span(line, "word");
      const made = token(text, flags[at], word, "button");
      const about = fill(words.token, { token: isolated(text), position: at });
      const notes = [flags[at] & 1 && words.special, flags[at] & 2 && words.unknown];
      made.title = made.ariaLabel = [about, ...notes].filter(Boolean).join(", ");
      return made;
    });
    reach = Math.min(state?.focus ?? 0, buttons.length - 1);
  }

  function mark() {
    const { focus, pair, pairs, chosen } = state, { text, tokens } = body;
    buttons.forEach((each, at) => {
      const second = at === pair?.[1];
      each.classList.toggle("from", at === focus);
      each.classList.toggle("to", second && at !== focus);
      each.ariaPressed = at === focus || second;
      each.tabIndex = at === reach ? 0 : -1;   // a single tab stop, which the arrow keys move
    });
    const middle = strip.clientHeight / 2, { top } = strip.getBoundingClientRect();
    const away = (buttons[focus]?.getBoundingClientRect().top ?? top + middle) - top - middle;
    if (Math.abs(away) > middle) strip.scrollTop += away;   // a long text's token in focus is in sight
    const [from, to] = (pair ?? [focus]).map((at) => buttons[at] && `${isolated(tokens.texts[at])} (${at})`);
    if (to) hint.textContent = fill(text.pair, { from, to });
    else if (!from || chosen === false) hint.textContent = text.none;
    else hint.textContent = pairs ? fill(text.focus, { from }) : from;
  }

  function set(focus, pair) {
    state = { ...state, focus, pair, chosen: true };
    mark();
    send({ token: focus, pair });
  }

  function choose(at, second) {
    const { focus, pair, pairs, chosen } = state, paired = pair?.[1] === at;
    if (pairs && second && focus !== null) set(focus, paired ? null : [focus, at]);
    else if (chosen === false || focus === null) set(at, null);
    else if (at === focus) set(null, null);
    else if (pairs && (paired || !pair)) set(focus, paired ? null : [focus, at]);
    else set(at, null);
  }

  on(strip, "click", (event) => {
    const at = buttons.indexOf(event.target.closest("button"));
    if (at < 0) return;
    reach = at;
    choose(at, event.shiftKey);
  });
  onKeys(on, strip, (event) => {
    if (event.key === "Escape") return set(state.pair && state.focus, null);
    const to = stepped(event, reach, buttons.length);
    if (to === undefined) return false;
    reach = to;
    mark();
    buttons[reach].focus();
  });

  return { build, take: (read) => { state = read; }, redraw: mark };
});
