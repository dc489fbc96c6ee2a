import { equal } from "../check.js";
import { covered, marksOf } from "./prediction.js";

const VIEW = { body: { scores: { values: [0, 65535, 0, 0] } }, rows: { texts: ["a", "b"], tokens: [5, 6] },
  columns: { texts: ["c", "d"], tokens: [7, 8] } };

export function marksAreKeptUntilAnotherQuestionBegins() {
  const marks = marksOf(VIEW);
  marks.begin({ round: "one", marks: [[1, 0]] });
  equal([marks.toggle(0, 1), marks.toggle(0, 0)], [false, true]);
  equal([marks.inside(), marks.tokens()], [[[0, 0], [1, 0]], [[5, 7], [6, 7]]]);
  marks.begin({ round: "one", marks: [] });
  equal([marks.has(0, 0), marks.toggle(0, 0), marks.has(0, 0)], [true, true, false]);
  marks.begin({ round: "two" });
  equal(marks.inside(), []);
}

export function markOutsideTheShownCellsDoesNotCount() {
  const marks = marksOf(VIEW);
  marks.begin({ round: "one", marks: [[0, 0], [9, 0], [0, 2]] });
  equal(marks.inside(), [[0, 0]]);
  marks.clear();
  equal(marks.inside(), []);
}

export function coveredHeadHidesItsNumbersAndKeepsThem() {
  const body = { weights: { values: Uint16Array.of(9, 65535), shape: [1, 1, 2] }, height: 3 }, hidden = covered(body);
  equal([[...hidden.weights.values], hidden.weights.shape, hidden.height], [[0, 0], [1, 1, 2], 3]);
  equal([...body.weights.values], [9, 65535]);
}
