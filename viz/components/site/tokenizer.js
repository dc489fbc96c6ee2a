// WordPiece as BERT's uncased tokenizer does it: clean the text, lower its case, strip accents, split it at white
// space, punctuation and Chinese characters, and take the longest known pieces of each word from the left. It differs
// only for some 650 accents and punctuation marks of rare scripts, which are newer than the tokenizer's table of
// characters.

/** @typedef {{id: number, end: number, flags: number, text: string}} Token
 *   end: in the typed text; flags: sum of 1 (special), 2 (unknown) and 4 (joined to the one before)
 */

const LONGEST = 100;   // characters; a longer word is [UNK]
const MARKERS = /\[(?:PAD|UNK|CLS|SEP|MASK)\]/g;   // read as tokens where somebody types them
const SPECIAL = ["[CLS]", "[SEP]", "[PAD]"];
const SPACE = /\p{White_Space}/u, DROPPED = /(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\ufffd]/u, ACCENT = /\p{Mn}/u;
const PUNCTUATION = /[\p{P}$+<=>^`|~]/u;
const CHINESE = new RegExp("[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\u{20000}-\u{2a6df}\u{2a700}-\u{2b81f}" +
  "\u{2b920}-\u{2ceaf}\u{2f800}-\u{2fa1f}]", "u");
const WORD_BEFORE = /[\p{L}\p{M}\p{N}]['’]?$/u, WORD_AFTER = /^['’]?[\p{L}\p{M}\p{N}]/u;

// Return the normalised characters of a typed one: lower case, without accents.
const normalised = (typed) =>
  [...typed.normalize("NFD")].filter((sign) => !ACCENT.test(sign)).flatMap((sign) => [...sign.toLowerCase()]);

// Split a stretch of text without markers into words: lists of {sign, start, end}.
function wordsOf(text, from) {
  const words = [];
  let word, at = from;
  for (const typed of text) {
    const start = at, end = at += typed.length, chinese = CHINESE.test(typed);
    if (DROPPED.test(typed)) continue;
    if (SPACE.test(typed)) word = undefined;
    else {
      for (const sign of normalised(typed)) {
        const alone = chinese || PUNCTUATION.test(sign);
        if (!word || alone) words.push(word = []);
        word.push({ sign, start, end });
        if (alone) word = undefined;
      }
    }
  }
  return words;
}

// Return the ids of a word's longest known pieces with their characters, or undefined if a part is not known.
function piecesOf(word, ids) {
  const found = [];
  for (let start = 0, end; start < word.length; start = end) {
    let id;
    for (end = word.length; end > start; end--) {
      const piece = word.slice(start, end).map(({ sign }) => sign).join("");
      if ((id = ids.get(start ? `##${piece}` : piece)) !== undefined) break;
    }
    if (id === undefined) return undefined;
    found.push({ id, part: word.slice(start, end) });
  }
  return found;
}

/**
 * Return the tokens of a text between [CLS] and [SEP].
 * @param {string} text
 * @param {Map<string, number>} ids  number of each piece
 * @returns {Token[]}
 */
export function tokenize(text, ids) {
  const marker = (raw, end) => ({ id: ids.get(raw), end, flags: Number(SPECIAL.includes(raw)), text: raw });
  const tokens = [marker("[CLS]", 0)];

  function read(from, to) {
    for (const word of wordsOf(text.slice(from, to), from)) {
      const known = word.length > LONGEST ? undefined : piecesOf(word, ids);
      for (const { id, part } of known ?? [{ id: ids.get("[UNK]"), part: word }]) {
        const { start } = part[0], { end } = part.at(-1), typed = text.slice(start, end);
        const joined = start === tokens.at(-1).end && !CHINESE.test(typed) && !CHINESE.test(text[start - 1] ?? "")
          && WORD_BEFORE.test(text.slice(0, start)) && WORD_AFTER.test(text.slice(start));
        const flags = (known ? 0 : 2) + (joined ? 4 : 0);
        tokens.push({ id, end, flags, text: known ? typed : `[UNK] ${typed}` });
      }
    }
  }

  let at = 0;
  for (const { 0: raw, index } of text.matchAll(MARKERS)) {
    read(at, index);
    at = index + raw.length;
    tokens.push(marker(raw, at));
  }
  read(at, text.length);
  return [...tokens, marker("[SEP]", text.length)];
}
