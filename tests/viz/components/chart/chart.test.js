import { equal, pause } from "../check.js";
import { chart } from "./chart.js";

const library = () => chart(new URL("./plotly.min.js", import.meta.url).href);
const frame = () => new Promise(requestAnimationFrame);
const drawn = () => document.querySelectorAll(".clearhead-chart[data-drawn]").length;
const place = (parentElement, y) => ({
  parentElement, setTriggerValue: () => {},
  data: { data: [{ y }], layout: { height: 300, margin: { t: 10, b: 10 } }, config: {}, text: {} },
});

export async function chartRemovedWhileDrawnRaisesNothing() {
  const wrong = [], mount = await library();
  addEventListener("unhandledrejection", (event) => wrong.push(String(event.reason)));
  for (let steps = 0; steps < 24; steps += 2) {
    const parent = document.body.appendChild(document.createElement("div")), end = mount(place(parent, [1, 2]));
    for (let step = 0; step < steps; step++) await null;
    parent.remove();
    end();
  }
  await frame();
  equal([wrong, document.querySelectorAll(".clearhead-chart").length], [[], 0]);
}

export async function foldedChartIsDrawnWhenOpened() {
  const mount = await library();
  const details = [0, 1].map((each) => {
    const made = document.createElement("details"), inside = document.createElement("div");
    made.style.marginTop = each ? "3000px" : "0";   // the second one far below what is seen
    made.append(inside);
    document.body.append(made);
    mount(place(inside, [1, 2]));
    return made;
  });
  await pause(300);
  equal(drawn(), 0);
  for (const each of details) each.open = true;
  for (let waited = 0; drawn() < 2 && waited < 5000; waited += 50) await pause(50);
  equal(drawn(), 2);
}
