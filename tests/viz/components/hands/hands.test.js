import { equal } from "../check.js";
import { hands } from "./hands.js";

export async function handsAreCountedStoredShownAndCleared() {
  const draw = await hands(), text = { clear: "clear" };
  const rows = [0, 1, undefined].map((place) => ({
    parentElement: document.body.appendChild(document.createElement("div")),
    data: { question: "q", place, answers: 2, told: false, text },
  }));
  const all = (changes = {}) => rows.forEach(({ parentElement, data }) =>
    draw({ parentElement, data: [{ ...data, ...changes }] }));
  const seen = () => rows.slice(0, 2).map(({ parentElement }) => parentElement.querySelector(".count").textContent);
  const key = (hand, by) => document.dispatchEvent(new CustomEvent("clearhead-hand", { detail: { hand, by } }));
  all();
  for (const [hand, by] of [[0, -1], [0, 1], [0, 1], [0, 1], [1, 1], [1, 1], [1, -1], [7, 1]]) key(hand, by);
  equal([seen(), sessionStorage.getItem("clearhead hands q")], [["3", "1"], "[3,1]"]);
  all({ told: true });
  equal(seen(), ["3 · 75%", "1 · 25%"]);
  equal(rows.slice(0, 2).map(({ parentElement }) =>
    Number(parentElement.querySelector(".bar").style.getPropertyValue("--share")).toFixed(3)), ["1.000", "0.333"]);
  key(0, 1);
  equal(seen(), ["3 · 75%", "1 · 25%"], "too late");
  all();
  rows[2].parentElement.querySelector(".clear").click();
  equal(seen(), ["0", "0"]);
  sessionStorage.setItem("clearhead hands q", '["x", -4]');
  all();
  equal(seen(), ["0", "0"], "hostile");
}
