// A Transformer's encoder in the order of Vaswani et al. 2017, with BERT's details (Devlin et al. 2019): learned
// positions, GELU, and a norm after each residual sum. A vector is a row; token i of x starts at i · width.

/** @typedef {{weight: Float32Array, bias: Float32Array}} Linear  weight: (output, input), row by row
 * @typedef {{gain: Float32Array, bias: Float32Array}} Norm
 * @typedef {{query: Linear, key: Linear, value: Linear, output: Linear, norm: Norm, inner: Linear, outer: Linear,
 *   last: Norm}} Block
 * @typedef {{width: number, heads: number, epsilon: number, norm: Norm, blocks: Block[],
 *   embed: (id: number, position: number, into: Float32Array) => void}} Encoder
 * @typedef {{hide?: number[], silence?: string[], temper?: Record<string, number>}} Edits
 *   hide: tokens that nobody may look at; silence: heads, "layer.head", whose output is 0; temper: the temperature of
 *   heads
 */

/**
 * Compute equation (1) for one head: softmax(Q Kᵀ / √d_k) V. Q, K and V are the columns from `at` to `at + d` of q, k
 * and v.
 * @param {Float32Array[]} qkv
 * @param {{n: number, width: number, at: number, d: number}} shape
 * @param {number[]} hidden  keys that nobody may look at
 * @param {number} temperature  divides the scores
 * @param {Float32Array} weights  receives softmax(Q Kᵀ / √d_k), (n, n)
 * @param {Float32Array} mixed  receives the product with V, in the same columns
 */
function attention([q, k, v], { n, width, at, d }, hidden, temperature, weights, mixed) {
  for (let i = 0; i < n; i++) {
    const row = weights.subarray(i * n, (i + 1) * n), from = i * width + at;
    for (let j = 0; j < n; j++) {
      let product = 0;
      for (let c = 0; c < d; c++) product += q[from + c] * k[j * width + at + c];
      row[j] = product / Math.sqrt(d) / temperature;
    }
    for (const j of hidden) row[j] = -Infinity;
    softmax(row);
    for (let j = 0; j < n; j++) {
      for (let c = 0; c < d; c++) mixed[from + c] += row[j] * v[j * width + at + c];
    }
  }
}

// A row's largest score is subtracted first, so that no exponential overflows. A row without a key has no weights.
function softmax(row) {
  const top = row.reduce((most, score) => Math.max(most, score), -Infinity);
  let sum = 0;
  for (let j = 0; j < row.length; j++) sum += row[j] = top === -Infinity ? 0 : Math.exp(row[j] - top);
  for (let j = 0; j < row.length; j++) row[j] /= sum || 1;
}

// x Wᵀ + b for the n rows of x, four at a time. The products are of 64-bit numbers, which JavaScript does not have to
// convert; that halves the time.
function linear(x, { weight, bias }, n) {
  const out = bias.length, size = weight.length / out, rows = Math.ceil(n / 4) * 4;
  const y = new Float32Array(rows * out), wide = new Float64Array(rows * size), w = new Float64Array(size);
  wide.set(x.subarray(0, n * size));
  for (let o = 0; o < out; o++) {
    w.set(weight.subarray(o * size, (o + 1) * size));
    for (let i = 0; i < rows; i += 4) {
      const a = i * size, b = a + size, c = b + size, d = c + size;
      let ya = bias[o], yb = ya, yc = ya, yd = ya;
      for (let s = 0; s < size; s++) {
        ya += wide[a + s] * w[s];
        yb += wide[b + s] * w[s];
        yc += wide[c + s] * w[s];
        yd += wide[d + s] * w[s];
      }
      [y[i * out + o], y[(i + 1) * out + o], y[(i + 2) * out + o], y[(i + 3) * out + o]] = [ya, yb, yc, yd];
    }
  }
  return y.subarray(0, n * out);
}

// LayerNorm (Ba et al. 2016) of x + y.
function addAndNorm(x, y, { gain, bias }, epsilon) {
  const width = gain.length, z = new Float32Array(x.length);
  for (let from = 0; from < x.length; from += width) {
    let mean = 0, variance = 0;
    for (let c = 0; c < width; c++) mean += (z[from + c] = x[from + c] + y[from + c]) / width;
    for (let c = 0; c < width; c++) variance += (z[from + c] - mean) ** 2 / width;
    const scale = 1 / Math.sqrt(variance + epsilon);
    for (let c = 0; c < width; c++) z[from + c] = (z[from + c] - mean) * scale * gain[c] + bias[c];
  }
  return z;
}

// x · Φ(x), where erf is formula 7.1.26 of Abramowitz and Stegun, accurate to 1.5e-7.
function gelu(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x) * Math.SQRT1_2);
  const series = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
  const erf = Math.sign(x) * (1 - series * Math.exp(-x * x / 2));
  return (x * (1 + erf)) / 2;
}

/**
 * Read tokens and return every head's weights, (layer, head, query, key).
 * @param {Encoder} encoder
 * @param {number[]} ids
 * @param {Edits} [edits]
 * @returns {Float32Array}
 */
export function encode(encoder, ids, { hide = [], silence = [], temper = {} } = {}) {
  const { width, heads, epsilon, embed, norm, blocks } = encoder;
  const n = ids.length, d = width / heads, weights = new Float32Array(blocks.length * heads * n * n);
  let x = new Float32Array(n * width);
  ids.forEach((id, at) => embed(id, at, x.subarray(at * width, (at + 1) * width)));
  x = addAndNorm(x, new Float32Array(x.length), norm, epsilon);
  blocks.forEach((block, layer) => {
    const qkv = [block.query, block.key, block.value].map((each) => linear(x, each, n));
    const mixed = new Float32Array(x.length);
    for (let head = 0; head < heads; head++) {
      const name = `${layer}.${head}`, from = (layer * heads + head) * n * n, at = head * d;
      attention(qkv, { n, width, at, d }, hide, temper[name] ?? 1, weights.subarray(from, from + n * n), mixed);
      if (silence.includes(name)) for (let i = 0; i < n; i++) mixed.fill(0, i * width + at, i * width + at + d);
    }
    if (layer === blocks.length - 1) return;   // no weights depend on the rest
    x = addAndNorm(x, linear(mixed, block.output, n), block.norm, epsilon);
    x = addAndNorm(x, linear(linear(x, block.inner, n).map(gelu), block.outer, n), block.last, epsilon);
  });
  return weights;
}
