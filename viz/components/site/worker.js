// The worker that holds the model: it reads the file that viz/export/site/rounding.py writes, and answers questions.
import { unpack } from "../js/messages.js";
import { encode } from "./encoder.js";
import { tokenize } from "./tokenizer.js";

// Return a 16-bit number (IEEE 754) that is not negative.
const half = (bits) => (bits >> 10 ? 2 ** ((bits >> 10) - 25) * (1024 + (bits & 1023)) : 2 ** -24 * bits);

// Write the numbers of a rounded matrix from `start` on: 8 bits each, times the 16-bit scale of every 32.
function restore({ values: codes }, { values: scales }, into, start = 0) {
  for (let at = 0; at < into.length; at += 32) {
    const scale = half(scales[(start + at) / 32]);
    for (let more = at; more < at + 32; more++) into[more] = (codes[start + more] - 128) * scale;
  }
  return into;
}

// Return the encoder in a file. Embeddings stay rounded, and only the rows that a text needs are restored.
function encoderIn(file) {
  const plain = (name) => file[name].values, row = new Float32Array(file.width);
  const matrix = (name) => restore(file[name], file[`${name}.scale`], new Float32Array(file[name].values.length));
  const linear = (name) => ({ weight: matrix(`${name}.weight`), bias: plain(`${name}.bias`) });
  const norm = (name) => ({ gain: plain(`${name}.weight`), bias: plain(`${name}.bias`) });

  function embed(id, position, into) {
    for (const [name, at] of [["word", id], ["position", position], ["token_type", 0]]) {
      const table = `embeddings.${name}_embeddings.weight`;
      restore(file[table], file[`${table}.scale`], row, at * file.width);
      row.forEach((each, c) => { into[c] += each; });
    }
  }

  const blocks = Array.from({ length: file.layers }, (_, layer) => {
    const part = (name) => `encoder.layer.${layer}.${name}`, own = (name) => linear(part(`attention.self.${name}`));
    return { query: own("query"), key: own("key"), value: own("value"), output: linear(part("attention.output.dense")),
      norm: norm(part("attention.output.LayerNorm")), inner: linear(part("intermediate.dense")),
      outer: linear(part("output.dense")), last: norm(part("output.LayerNorm")) };
  });
  const { width, heads, epsilon } = file;
  return { width, heads, epsilon, embed, norm: norm("embeddings.LayerNorm"), blocks };
}

/**
 * What the check of a model compared with PyTorch, and the largest difference.
 * @typedef {{count: number, compared: number, worst: number}} Checked  count: sentences; compared: weights
 */
/**
 * Answer messages: {bytes} opens a model and checks it, and a question asks it.
 * @param {Worker} scope  the worker's own side
 */
export function start(scope) {
  let file, encoder, ids;

  function ask(question) {
    const found = tokenize(question.text, ids), of = (name) => found.map((token) => token[name]);
    if (found.length > file.longest) return { count: found.length, longest: file.longest };
    const tokens = { texts: of("text"), flags: of("flags"), tokens: [...found.keys()], segments: found.map(() => 0) };
    const weights = encode(encoder, of("id"), question);
    const values = Uint16Array.from(weights, (weight) => Math.round(65535 * Math.sqrt(weight)));
    return { ...question, ids: of("id"), tokens, codes: { values }, weights };
  }

  function open(bytes) {
    file = unpack(bytes);
    encoder = encoderIn(file);
    ids = new Map(file.vocabulary.map((piece, at) => [piece, at]));
    const found = { count: file.checks.length, compared: 0, worst: 0 };
    file.checks.forEach((text, at) => {
      const { weights } = ask({ text }), { values } = file[`check.${at}`];
      weights.forEach((weight, cell) => { found.worst = Math.max(found.worst, Math.abs(weight - values[cell])); });
      found.compared += weights.length;
    });
    return found;
  }

  scope.onmessage = ({ data }) => {
    const answer = data.bytes ? open(data.bytes) : ask(data);
    scope.postMessage(answer, answer.codes ? [answer.weights.buffer, answer.codes.values.buffer] : []);
  };
}
