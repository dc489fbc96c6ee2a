// An animation of a text passing through a decoder, step by step. Buttons, arrow keys and clicks on the parts change
// the step and stop the animation. Choices are sent as {lesson}, {write} or {opened}.
import { stepped } from "../js/input.js";
import { button, div, framed, node, span } from "../js/shared.js";
import { drawNeurons, drawPaths, panels, partOf } from "./parts.js";

const STILL = "(prefers-reduced-motion: reduce)";

/** @type {import("../js/component.js").Mount} */
export const mount = framed("story", ({ root, on, draw, send }) => {
  const bar = div("controls", root), stops = div("stops", bar);
  const play = button("play", "", undefined, () => go(!plays && step === last() ? 0 : step, !plays));
  bar.prepend(play);
  const foot = div("foot", root), line = div("line", root), stage = div("machine", root);
  const say = node("p", "notice", "", foot);
  const door = button("door", "", foot, () => send({ lesson: body.steps[step][3] }));
  let body, begun, step = 0, plays = false, later;
  root.role = "group";

  function build(read) {
    const same = body && JSON.stringify(body.line) === JSON.stringify(read.line);
    body = read;
    root.ariaLabel = body.alt;
    root.classList.toggle("frozen", body.frozen);
    stops.replaceChildren(...body.steps.map(([, title], at) => {
      const stop = button("stop", "", undefined, () => go(at));
      stop.append(node("i"), span("", title));
      return stop;
    }));
    let other = false;
    const parts = body.line.map(([text, piece]) => {
      if (piece) other = !other;
      return span(piece ? (other ? "piece other" : "piece") : "gap", text);
    });
    line.replaceChildren(...parts, span("next", body.words[0]));
    stage.replaceChildren(...panels(body, send));
    if (begun && !same) begin();
    else if (begun) show();
  }

  function redraw({ heads }) {
    // lecture mode sets the columns and makes them fit
    const hall = getComputedStyle(root).getPropertyValue("--story-columns");
    root.classList.toggle("narrow", !hall && root.clientWidth < 1124);   // minimum width for the columns of .machine
    drawNeurons(stage, body, heads);
    drawPaths(stage, body);
  }

  const last = () => body.steps.length - 1;

  function show() {
    const [name, , text, , title] = body.steps[step];
    body.steps.forEach(([each], at) => root.classList.toggle(`has-${each}`, at <= step));
    root.dataset.step = name;
    root.classList.toggle("plays", plays);
    [...stops.children].forEach((stop, at) => {
      stop.classList.toggle("past", at < step);
      stop.ariaCurrent = at === step ? "step" : null;
    });
    for (const panel of stage.querySelectorAll(".panel")) {
      panel.classList.toggle("active", stepsOf(panel).includes(step));
    }
    play.textContent = plays ? body.text.pause : step === last() ? body.text.again : body.text.play;
    say.textContent = text;
    say.ariaLive = plays ? "off" : "polite";
    door.textContent = body.text.door.replace("{title}", title);
    draw();
  }

  // Show a step and, while the animation plays, the next one later.
  function go(to, running = false) {
    [step, plays] = [to, running];
    show();
    clearTimeout(later);
    const next = () => root.isConnected && go(Math.min(step + 1, last()), step + 1 < last());
    if (plays) later = setTimeout(next, body.seconds * 1000);
  }

  const stepsOf = ({ dataset: { part } }) =>
    [...body.steps.keys()].filter((at) => partOf(body.steps[at][0]) === part);

  // a click on a part shows its step after the current one (cyclically), or its first step if another part is current
  on(stage, "click", ({ target }) => {
    const panel = target.closest(".panel");
    if (!panel || target.closest("button, select, .heads")) return;
    const places = stepsOf(panel);
    go(places[(places.indexOf(step) + 1) % places.length]);
  });
  on(stage, "change", () => {
    const opened = ["block", "head"].map((name) => Number(stage.querySelector(`select.${name}`).value));
    go(step);
    send({ opened });
  });
  on(root, "keydown", (event) => {
    const to = stepped(event, step, body.steps.length), { target } = event;
    if (to === undefined || target.matches("select") || event.ctrlKey || event.altKey || event.metaKey) return;
    go(to);
    if (target.matches(".stop")) stops.children[step].focus();
    event.preventDefault();
    event.stopPropagation();
  });

  const begin = () => go(begun.step, begun.plays && !matchMedia(STILL).matches);

  function take(read) {
    const first = !begun;
    begun = read;
    if (first) begin();
    else show();
  }

  return { build, take, redraw, leave: () => clearTimeout(later) };
});
