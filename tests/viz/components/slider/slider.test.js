import { equal, pause } from "../check.js";
import { slider } from "./slider.js";

// A slider over letters, with what it sent.
async function thumb() {
  const draw = await slider(), sent = [], parentElement = document.body, setStateValue = (_, value) => sent.push(value);
  const line = () => document.querySelector("input");
  const answer = (at, heard, words = [..."abcdefgh"]) => {
    draw({ data: [{ label: "x", help: "", words, at, heard }], parentElement, setStateValue });
    return +line().value;
  };
  const move = (to) => {
    line().value = to;
    line().dispatchEvent(new Event("input"));
  };
  answer(3, 0);
  return { sent, answer, move };
}

export async function pendingAnswerDoesNotPullTheThumbBack() {
  const { sent, answer, move } = await thumb();
  [4, 5, 6].forEach(move);
  equal(sent.length, 1, "at once, then not more than one in a while");
  equal(answer(4, sent[0].count), 6, "it waits to tell");
  await pause(200);
  equal(sent.map(({ at, word }) => [at, word]), [[4, "e"], [6, "g"]], "the last one is told");
  equal(sent[0].count < sent[1].count, true, "no two messages are equal");
  equal(answer(4, sent[0].count), 6, "the last one was not heard yet");
  equal(answer(6, sent[1].count), 6);
  equal(answer(2, sent[1].count), 2, "moved by another control");
  equal(answer(1, sent[1].count, ["a", "b"]), 1, "fewer options");
}
