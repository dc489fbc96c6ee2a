import { equal, pause, pointer } from "../check.js";
import { dragging, telling } from "./input.js";

const SHORT = { pause: 40, patience: 150 };

// A counter that is told; what was sent, and whether an answer is shown.
function counter(options = SHORT) {
  const sent = [], now = { value: 0, late: 0 };
  const told = telling(() => {
    sent.push(now.value);
    return now.value;
  }, { ...options, late: () => { now.late += 1; } });
  const change = (value, atOnce) => {
    now.value = value;
    told.tell(atOnce);
  };
  return { sent, now, told, change };
}

export async function firstAndLastMovesAreSentAndFewBetween() {
  const { sent, change } = counter();
  [1, 2, 3].forEach((value) => change(value));
  equal(sent, [1]);
  await pause(80);
  equal(sent, [1, 3]);
}

export async function releaseSendsAtOnce() {
  const { sent, change } = counter();
  change(1);
  change(2);
  change(2, true);
  equal(sent, [1, 2]);
  await pause(80);
  equal(sent, [1, 2], "nothing is told twice");
}

export async function staleAnswerDoesNotPullBack() {
  const { told, change } = counter();
  equal(told.takes(5), true, "nothing was sent");
  change(1);
  change(2);
  equal(told.takes(1), false, "the 2 is still to be told");
  await pause(80);
  equal([told.takes(1), told.takes(2), told.takes(7)], [false, true, true]);
}

export async function missingAnswerIsNotAwaitedForever() {
  const { now, told, change } = counter();
  change(1);
  equal(told.takes(0), false);
  await pause(250);
  equal([now.late, told.takes(0)], [1, true]);
}

export async function nothingIsSentAfterTheEnd() {
  const { sent, now, told, change } = counter();
  change(1);
  change(2);
  told.end();
  await pause(250);
  equal([sent, now.late], [[1], 0]);
}

export function pointerIsHeldFromPressToRelease() {
  const target = document.body.appendChild(document.createElement("div")), seen = [];
  target.setPointerCapture = () => {};   // no real pointer is pressed here
  const on = (element, type, act) => element.addEventListener(type, act);
  const held = dragging(on, target, { grab: ({ clientX }) => (clientX < 10 ? 0 : undefined),
    move: (what, { clientX }) => seen.push([what, clientX]), drop: (what) => seen.push(["drop", what]) });
  pointer(target, "move", { clientX: 1 });
  pointer(target, "down", { clientX: 50 });
  pointer(target, "down", { clientX: 5, button: 2 });
  equal([seen, held()], [[], undefined], "nothing was grabbed");
  equal(pointer(target, "down", { clientX: 5 }), false, "the page does not scroll");
  equal(held(), 0);
  pointer(target, "move", { clientX: 7 });
  pointer(target, "up");
  pointer(target, "up");
  pointer(target, "down", { clientX: 5 });
  pointer(target, "cancel");
  equal([seen, held()], [[[0, 7], ["drop", 0], ["drop", 0]], undefined]);
}
