// An animation of a text passing through a decoder, step by step. Buttons, arrow keys and clicks on the parts change
// the step and stop the animation. Choices are sent as {lesson}, {write} or {opened}.
import { onKeys, onSteps, stepped } from "../js/input.js";
import { button, div, fill, framed, node, span } from "../js/shared.js";
import { drawNeurons, drawPaths, panels } from "./parts.js";

/** @type {import("../js/component.js").Mount} */
export const mount = framed("story", ({ root, on, draw, send }) => {
  const bar = div(root, "controls");
  const play = button(bar, "play", "", () => go(!plays && step === last() ? 0 : step, !plays));
  const stops = div(bar, "stops");
  const foot = div(root, "foot"), line = div(root, "line"), stage = div(root, "machine");
  const say = node("p", foot, "notice");
  const door = button(foot, "door", "", () => send({ lesson: body.steps[step][3] }));
  let body, step = 0, plays = false, later;
  root.role = "group";

  function build(read) {
    const same = body && JSON.stringify(body.line) === JSON.stringify(read.line);
    body = read;
    root.ariaLabel = body.alt;
    for (const each of [stops, line]) each.replaceChildren();
    body.steps.forEach(([, title], at) => {
      const stop = button(stops, "stop", "", () => go(at));
      node("i", stop);
      span(stop, "", title);
    });
    for (const [text, piece] of body.line) span(line, piece ? "piece" : "gap", text);
    span(line, "next", body.words[0]);
    const { activeElement: had } = /** @type {ShadowRoot} */ (root.getRootNode()), lost = stage.contains(had);
    stage.replaceChildren(...panels(body, send));
    /** @type {HTMLElement} */
    const again = lost && same && stage.querySelector(`select.${had.className}`);
    if (lost) (again || play).focus({ preventScroll: true });   // a button is hidden while another text plays
    if (same) show();
    else if (getComputedStyle(root).getPropertyValue("--story-columns")) go(0);   // presented, where keys step through it
    else if (matchMedia("(prefers-reduced-motion: reduce)").matches) go(last());   // the whole picture
    else go(0, true);
  }

  function redraw({ heads }) {
    // presenting sets the columns and makes them fit; WebKit's container queries are wrong on a page scaled down for print
    const columns = getComputedStyle(root).getPropertyValue("--story-columns");
    root.classList.toggle("narrow", !columns && root.clientWidth < 1124);   // minimum width for the columns of .machine
    drawNeurons(stage, body, heads);
    drawPaths(stage, body);
  }

  const last = () => body.steps.length - 1;

  function show() {
    const [name, , text, , title] = body.steps[step];
    body.steps.forEach(([each], at) => root.classList.toggle(`has-${each}`, at <= step));
    root.dataset.step = name;
    root.classList.toggle("plays", plays);
    [...stops.children].forEach((stop, at) => { stop.ariaCurrent = at === step ? "step" : null; });
    for (const panel of /** @type {NodeListOf<HTMLElement>} */ (stage.querySelectorAll(".panel"))) {
      panel.classList.toggle("active", stepsOf(panel).includes(step));
    }
    play.textContent = plays ? body.text.pause : step === last() ? body.text.again : body.text.play;
    say.textContent = text;
    say.ariaLive = plays ? "off" : "polite";
    door.textContent = fill(body.text.door, { title });
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

  const stepsOf = (/** @type {HTMLElement} */ { dataset: { part } }) =>
    [...body.steps.keys()].filter((at) => body.parts[at] === part);

  // a click on a part shows its step after the current one (cyclically), or its first step if another part is current
  on(stage, "click", ({ target }) => {
    /** @type {HTMLElement} */
    const panel = target.closest(".panel");
    if (!panel || target.closest("button, select, .heads")) return;
    const places = stepsOf(panel);
    go(places[(places.indexOf(step) + 1) % places.length]);
  });
  on(stage, "change", () => {
    const opened = [...stage.querySelectorAll("select")].map(({ value }) => Number(value));
    go(step);
    send({ opened });
  });
  onKeys(on, root, (event) => {
    const to = stepped(event, step, body.steps.length), { target } = event;
    if (to === undefined || target.matches("select") || event.ctrlKey || event.altKey || event.metaKey) return false;
    go(to);
    if (target.matches(".stop")) stops.querySelectorAll("button")[step].focus();
    event.stopPropagation();
  });

  // the keys of a presentation step through the figure while it is visible
  onSteps(on, root, (by) => body.steps[step + by] && [go(step + by)]);

  return { build, redraw, leave: () => clearTimeout(later) };
});
