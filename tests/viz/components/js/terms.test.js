import { equal } from "../check.js";
import { occurrences } from "./terms.js";

const NAMES = ["softmax", "entropy", "cross-entropy", "rope", "attention head"];
const TERMS = new Map(NAMES.map((name) => [name, { name }]));
const found = (...texts) => occurrences(texts.map((text) => new Text(text)), TERMS)
  .map(([{ name }, text, start, end]) => [name, text.data.slice(start, end)]);

export function firstOccurrenceOfATermIsFoundInAnyCaseAndNumber() {
  equal(found("A Softmax here, a softmax there.", "Attention heads and RoPE."),
    [["softmax", "Softmax"], ["attention head", "Attention heads"], ["rope", "RoPE"]]);
}

export function longerTermWinsAndPrefixesOfWordsDoNotMatch() {
  equal(found("The cross-entropy, then entropy.", "softmaxed, ropes-like, übersoftmax, soft_softmax"),
    [["cross-entropy", "cross-entropy"], ["entropy", "entropy"]]);
}
