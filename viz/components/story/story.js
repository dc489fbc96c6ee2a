// An animation of a text passing through a decoder, step by step. Buttons, arrow keys and clicks on the parts change
// the step and stop the animation. Choices are sent as {lesson}, {write} or {opened}.
import { receiver } from "../js/messages.js";
import { div, frame, node, palette } from "../js/shared.js";
import { drawNeurons, drawPaths, panels } from "./parts.js";

const STILL = "(prefers-reduced-motion: reduce)";
const MOVES = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };

/** @type {import("../js/component.js").Mount} */
export function mount(element, bytes, send) {
  const { root, on, draw, end } = frame(element, "story", redraw);
  const bar = div("controls", root), play = node("button", "play", "", bar), stops = div("stops", bar);
  const foot = div("foot", root), line = div("line", root), stage = div("machine", root);
  const say = node("p", "notice", "", foot), door = node("button", "door", "", foot);
  let body, step = 0, plays = false, later, begun;

  function build() {
    root.setAttribute("role", "group");
    root.setAttribute("aria-label", body.alt);
    root.classList.toggle("frozen", body.frozen);
    stops.replaceChildren(...body.steps.map(([, title], at) => {
      const stop = node("button", "stop");
      stop.append(node("i"), node("span", "", title));
      stop.dataset.at = at;
      return stop;
    }));
    let other = false;
    const parts = body.line.map(([text, piece]) => {
      if (piece) other = !other;
      return node("span", piece ? (other ? "piece other" : "piece") : "gap", text);
    });
    line.replaceChildren(...parts, node("span", "next", body.words[0]));
    stage.replaceChildren(...panels(body));
  }

  function redraw() {
    if (!body) return;
    const { heads } = palette(root, body.colours);
    const hall = getComputedStyle(root).getPropertyValue("--story-columns");   // lecture mode sets it and makes the columns fit
    root.classList.toggle("narrow", !hall && root.clientWidth < 1124);   // minimum width for the columns of .machine
    drawNeurons(stage, body, heads);
    drawPaths(stage, body);
  }

  function show() {
    const [name, , text, lesson, title] = body.steps[step];
    body.steps.forEach(([each], at) => root.classList.toggle(`has-${each}`, at <= step));
    root.dataset.step = name;
    root.classList.toggle("plays", plays);
    for (const stop of stops.children) {
      const at = Number(stop.dataset.at);
      stop.classList.toggle("past", at < step);
      at === step ? stop.setAttribute("aria-current", "step") : stop.removeAttribute("aria-current");
    }
    for (const panel of stage.querySelectorAll("[data-steps]")) {
      panel.classList.toggle("active", panel.dataset.steps.split(" ").includes(name));
    }
    play.textContent = plays ? body.text.pause : step === last() ? body.text.again : body.text.play;
    say.textContent = text;
    say.setAttribute("aria-live", plays ? "off" : "polite");
    door.textContent = body.text.door.replace("{title}", title);
    door.dataset.lesson = lesson;
    draw();
  }

  const last = () => body.steps.length - 1;

  function wait() {
    clearTimeout(later);
    if (!plays) return;
    later = setTimeout(() => {
      if (!root.isConnected) return;
      if (step < last()) step += 1;
      plays = plays && step < last();
      show();
      wait();
    }, body.seconds * 1000);
  }

  function go(to, running = false) {
    step = Math.max(0, Math.min(last(), to));
    plays = running;
    show();
    wait();
  }

  on(play, "click", () => go(!plays && step === last() ? 0 : step, !plays));
  on(stops, "click", ({ target }) => target.closest(".stop") && go(Number(target.closest(".stop").dataset.at)));
  on(door, "click", () => send({ lesson: door.dataset.lesson }));
  on(stage, "click", ({ target }) => {
    const [lesson, word, cell, panel] = ["lesson", "write", "head", "steps"].map((each) =>
      target.closest(`[data-${each}]`)?.dataset[each]);
    if (lesson) return send({ lesson });
    if (word) return send({ write: Number(word) });
    if (cell) return send({ opened: cell.split(" ").map(Number) });
    if (panel && !target.closest("select")) go(near(panel.split(" ")));
  });
  on(stage, "change", () => {
    const [block, head] = ["block", "head"].map((name) => Number(stage.querySelector(`select.${name}`).value));
    go(step);
    send({ opened: [block, head] });
  });
  on(root, "keydown", (event) => {
    const move = MOVES[event.key];
    if (!move || event.target.matches("select") || event.ctrlKey || event.altKey || event.metaKey) return;
    go(step + move);
    if (event.target.matches(".stop")) stops.children[step].focus();
    event.preventDefault();
    event.stopPropagation();
  });

  // Return the part's step after the current one (cyclically), or its first step if another part is current.
  function near(names) {
    const places = names.map((name) => body.steps.findIndex(([each]) => each === name));
    return places.includes(step) ? places[(places.indexOf(step) + 1) % places.length] : places[0];
  }

  function take(read) {
    if (read.part === "body") {
      const other = body && JSON.stringify(body.line) !== JSON.stringify(read.line);
      body = read;
      build();
      if (other) begin();
    } else {
      const first = !begun;
      begun = read;
      if (first && body) begin();
    }
    show();
  }

  function begin() {
    if (!begun) return;
    step = begun.step;
    plays = begun.plays && !matchMedia(STILL).matches;
    wait();
  }

  return receiver(bytes, take, () => {
    clearTimeout(later);
    end();
  });
}
