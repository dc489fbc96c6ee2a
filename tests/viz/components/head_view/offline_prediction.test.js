import { equal, near } from "../check.js";
import { covered, scored } from "./offline_prediction.js";

export function coveredHeadHidesItsNumbersAndKeepsThem() {
  const body = { weights: { values: Uint16Array.of(9, 65535), shape: [1, 1, 2] }, height: 3 }, hidden = covered(body);
  equal([[...hidden.weights.values], hidden.weights.shape, hidden.height], [[0, 0], [1, 1, 2], 3]);
  equal([...body.weights.values], [9, 65535]);
}

export function marksAreScoredBesideTheBestAndChance() {
  const weights = { values: [65535, 0, 0, 0, 65535, 0], shape: [1, 2, 3] };
  const score = (marks, forbidden) => scored({ scores: forbidden && { values: forbidden }, weights }, marks);
  near(score([[0, 1]]), [0, 1, 1 / 3]);   // the row's one weight stands in its first column
  near(score([[0, 0], [0, 1]]), [1, 1, 2 / 3]);
  near(score([[0, 0], [1, 0]]), [0.5, 1, 1 / 3]);   // means over two rows
  near(score([[0, 1]], [0, 0, 65535, 0, 0, 0]), [0, 1, 1 / 2]);   // nobody marks by chance where nobody may look
}
