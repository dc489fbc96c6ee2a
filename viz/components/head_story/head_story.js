// A head's story: the scenes of scenes.js, and the way from each to the next. Another scene is sent as {scene}, a key
// that is clicked as {key}.
import { telling } from "../js/drag.js";
import { receiver } from "../js/messages.js";
import { div, frame, node, palette } from "../js/shared.js";
import { set, shape } from "../js/svg.js";
import { EDGE, LETTER, onTheWay, ROW, scenes } from "./scenes.js";

const WAY = 1300, REST = 3200, HEIGHT = 320, BETWEEN = 1, COLOURED = 6, TIP = 8;
const PARTS = ["query", "mix", "stream", "sum"];

/** @type {import("../js/component.js").Mount} */
export function mount(element, bytes, send) {
  const { root, on, draw, end } = frame(element, "head-story", redraw);
  const bar = div("steps", root), svg = shape("svg", { role: "img" }, root), lost = div("lost", root);
  const floor = shape("line", { class: "floor" }, svg), calm = matchMedia("(prefers-reduced-motion: reduce)");
  let body, scene, key = -1, from, began = 0, running, playing, keys = [], parts, buttons;

  function build() {
    clearTimeout(playing);
    playing = from = undefined;
    bar.replaceChildren();
    const push = (text, title, act) => {
      const made = node("button", "", text, bar);
      made.type = "button";
      made.title = title;
      if (title) made.setAttribute("aria-label", title);
      made.onclick = act;
      return made;
    };
    const back = push("←", body.text.back, () => step(-1));
    const names = body.text.scenes.map((name, at) => push(`${at + 1} ${name}`, "", () => go(at, true)));
    const on = push("→", body.text.on, () => step(1)), play = push("▶", body.text.play, toggle);
    play.className = "play";
    buttons = { back, names, on, play };
    for (const each of svg.querySelectorAll("g")) each.remove();
    keys = body.names.map((_, at) => {
      const ghost = arrow("ghost"), made = arrow("key"), count = shape("text", { class: "count" }, made.group);
      made.group.onclick = () => body.places[at] >= 0 && send({ key: body.places[at] });
      return { ...made, ghost, count, rank: body.order.indexOf(at) };
    });
    parts = Object.fromEntries(PARTS.map((name) => [name, arrow(name)]));
    lost.textContent = body.without;
  }

  function arrow(name) {
    const group = shape("g", { class: name }, svg), line = shape("line", {}, group), tip = shape("path", {}, group);
    return { group, line, tip, label: shape("text", {}, group) };
  }

  function go(to, tells) {
    const next = Math.max(0, Math.min(body.last, to));
    if (next !== scene) {
      from = calm.matches ? undefined : scene;
      began = performance.now();
      scene = next;
      if (tells) told.tell();
    }
    draw();
  }

  function step(by) {
    pause();
    go(scene + by, true);
  }

  function pause() {
    clearTimeout(playing);
    playing = undefined;
    draw();
  }

  // From here to the end, or from the beginning if this is the end.
  function toggle() {
    if (playing) return pause();
    const next = () => {
      go(scene + 1, true);
      playing = scene < body.last ? setTimeout(next, REST + WAY) : undefined;
    };
    if (scene === body.last) go(0, true);
    playing = setTimeout(next, scene === 0 ? REST : 0);
    draw();
    return undefined;
  }

  function redraw() {
    if (!body || scene === undefined) return;
    const hall = parseFloat(getComputedStyle(root).getPropertyValue("--picture-letter"));   // viz/lecture.css
    const sizes = hall ? { row: hall + BETWEEN, letter: hall } : { row: ROW, letter: LETTER };
    const width = root.clientWidth, height = Math.max(HEIGHT, 2 * EDGE + sizes.row * body.names.length);
    const { heads, accent, ink } = palette(root, body.colours), made = scenes(body, width, height, sizes);
    made.forEach((each, index) => { each.index = index; });
    const share = from === undefined ? 1 : Math.min(1, (performance.now() - began) / WAY);
    const eased = share * share * (3 - 2 * share), target = made[scene];
    const seen = share < 1 ? onTheWay(made[from], target, eased) : target;
    set(svg, { viewBox: `0 0 ${width} ${height}`, height, "aria-label": body.alts[scene] });
    show(seen, { heads, accent, ink }, share === 1, width);
    lost.hidden = !(scene === 5 && !body.stream);
    control();
    cancelAnimationFrame(running);
    if (share < 1) running = requestAnimationFrame(redraw);
    else from = undefined;
  }

  function show(seen, { heads, accent, ink }, arrived, width) {
    set(floor, { ...ends(seen.floor), opacity: seen.floor.seen });
    const rows = scene > 0 && scene < 4;
    keys.forEach((each, at) => {
      const colour = each.rank >= 0 && each.rank < COLOURED ? heads[each.rank] : ink, chosen = body.places[at] === key;
      const heavy = scene === 3 || scene === 2 || scene === 1 ? 10 : each.rank < COLOURED && each.rank >= 0 ? 3 : 1.5;
      each.group.classList.toggle("chosen", chosen);
      each.group.classList.toggle("small", colour === ink);
      put(each, seen.keys[at], seen.labels[at], colour, heavy, rows && arrived);
      put(each.ghost, seen.ghosts[at], undefined, colour, 1);
      const count = arrived && seen.counts ? seen.counts[at] : "";
      each.count.textContent = count;
      if (count) set(each.count, { x: width - 4, y: seen.rows[at], "text-anchor": "end" });
    });
    const colours = { query: accent, mix: accent, stream: ink, sum: ink };
    const words = { query: { ...end2(seen.query), text: `q ${body.token}`, seen: seen.query.seen }, mix: seen.said,
      stream: seen.streamSaid, sum: seen.sumSaid };
    for (const name of PARTS) put(parts[name], seen[name], words[name], colours[name], name === "sum" ? 1.5 : 4);
  }

  const ends = ({ x1, y1, x2, y2 }) => ({ x1, y1, x2, y2 });
  const end2 = ({ x1, x2, y2 }) => ({ x: (x1 + x2) / 2, y: y2 + 18, anchor: "middle" });

  function put(made, at, words, colour, heavy, blunt = false) {
    const across = at.x2 - at.x1, down = at.y2 - at.y1, long = Math.hypot(across, down);
    const [dx, dy] = [across / (long || 1), down / (long || 1)], tip = blunt ? 0 : Math.min(long, TIP + heavy / 2);
    const [bx, by] = [at.x2 - dx * tip, at.y2 - dy * tip], half = tip / 2;
    set(made.line, { x1: at.x1, y1: at.y1, x2: bx, y2: by, stroke: colour, "stroke-width": heavy, opacity: at.seen });
    const d = `M${at.x2},${at.y2}L${bx - half * dy},${by + half * dx}L${bx + half * dy},${by - half * dx}Z`;
    set(made.tip, { d, fill: colour, opacity: at.seen });
    made.label.textContent = words?.text ?? "";
    if (!words) return;
    set(made.label, { x: words.x, y: words.y, "text-anchor": words.anchor, opacity: words.seen });
  }

  function control() {
    buttons.back.disabled = scene === 0;
    buttons.on.disabled = scene === body.last;
    buttons.names.forEach((each, at) => {
      each.setAttribute("aria-pressed", at === scene);
      each.disabled = at > body.last;
      each.title = at > body.last ? body.text.covered : "";
    });
    buttons.play.hidden = calm.matches;
    buttons.play.textContent = playing ? "❚❚" : "▶";
    buttons.play.title = playing ? body.text.pause : body.text.play;
    buttons.play.setAttribute("aria-label", buttons.play.title);
  }

  on(bar, "keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    step(by);
    event.preventDefault();
  });
  on(calm, "change", () => (pause(), draw()));

  const told = telling(() => {
    send({ scene });
    return scene;
  }, { pause: 0, patience: 3000 });

  return receiver(bytes, (read) => {
    if (read.part === "body") {
      body = read;
      build();
      if (scene > body.last) scene = body.last;
    } else {
      key = read.key;
      if (told.takes(read.scene)) go(read.scene, false);
    }
    draw();
  }, () => (clearTimeout(playing), told.end(), cancelAnimationFrame(running), end()));
}
