"""Split texts into subword tokens, and show how a token's vector depends on its context."""
import functools
import itertools
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, cast

import numpy as np

from clearhead.model.core.models import ModelQuestion, Models
from clearhead.model.core.query import Progress, Query, UserError, frozen, with_arrays
from clearhead.model.core.statistics import cosines
from clearhead.model.core.tokens import Tokens
from clearhead.model.core.traces import Trace
from clearhead.model.pretrained.inputs import plain_ids
from clearhead.model.pretrained.tokens import visible

if TYPE_CHECKING:
    from tokenizers import Tokenizer


MODELS = ("minilm", "smollm2")
LARGEST = 512      # maximum number of merges for a user's text
Pair = tuple[str, str]


@frozen
class TokenizedText:
    """The stages of tokenizing a text. All sequences over pieces have the same length."""

    normalised: str             # text after normalisation
    words: tuple[str, ...]      # words, which limit the pieces
    pieces: tuple[str, ...]     # pieces in the vocabulary's spelling
    labels: tuple[str, ...]     # pieces in readable form
    ids: tuple[int, ...]        # ids of the pieces
    unknown: tuple[bool, ...]   # whether a piece is [UNK]
    special: tuple[bool, ...]   # whether the model added the piece
    vocabulary: int             # size of the vocabulary

    @property
    def count(self) -> int:
        """Number of pieces in the text itself."""
        return len(self.pieces) - sum(self.special)


@frozen
class Merges:
    """BPE trained on one text. Pieces use GPT-2's byte alphabet.

    pairs: merged pairs, in order. words: distinct words with their counts. lengths: number of pieces in the whole text
    after 0, 1, 2, … merges.
    """

    pairs: tuple[Pair, ...]
    words: tuple[tuple[str, int], ...]
    lengths: tuple[int, ...]


def on_disk(model: str) -> bool:
    """Return whether this model is on this disk."""
    from clearhead.model.pretrained import catalogue

    entry = catalogue.entry_named(model)
    return entry is not None and catalogue.on_disk(entry)


@functools.lru_cache(4)
def tokenizer_of(model: str) -> "Tokenizer":
    """Return the tokenizer of a catalogue model on disk, with truncation and padding disabled."""
    from tokenizers import Tokenizer

    from clearhead.model.pretrained import catalogue

    loaded = Tokenizer.from_file(str(catalogue.folder_of(cast(catalogue.Entry, catalogue.entry_named(model)))
                                     / "tokenizer.json"))
    loaded.no_truncation()
    loaded.no_padding()
    return loaded


@functools.lru_cache(16)
def train_bpe(text: str) -> "Tokenizer":
    """Train byte-level BPE on this text only, with the tokenizers library. Merges at most LARGEST pairs, which must
    occur at least twice."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator([text], trainers.BpeTrainer(vocab_size=len(alphabet) + LARGEST, min_frequency=2,
                                                         initial_alphabet=alphabet,
                                                         show_progress=False))
    return made


def cut(text: str, model: str) -> TokenizedText:
    """Split the text with a model's own tokenizer. Raises NotOnDisk (a UserError) if the model is missing."""
    return cut_by(text, tokenizer_of(model))


def cut_by_own(text: str, book: str) -> TokenizedText:
    """Split the text with byte-level BPE trained on `book` only."""
    return cut_by(text, train_bpe(book))


def cut_by(text: str, tokenizer: "Tokenizer") -> TokenizedText:
    """Split the text with any tokenizer."""
    from clearhead.model.pretrained.tokens import Piece, readable

    normalised = tokenizer.normalizer.normalize_str(text) if tokenizer.normalizer else text
    words = tuple(word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normalised))
    encoding = tokenizer.encode(text)
    unknown = tokenizer.token_to_id(getattr(tokenizer.model, "unk_token", None) or "")
    special = [bool(each) for each in encoding.special_tokens_mask]
    pieces = [Piece(id, raw, span, -1 if added else 0, added, not added and id == unknown)
              for id, raw, span, added in zip(encoding.ids, encoding.tokens, encoding.offsets, special, strict=True)]
    labels = readable(pieces, (text,)).texts if pieces else ()
    return TokenizedText(normalised, words, tuple(encoding.tokens), labels, tuple(encoding.ids),
                         tuple(piece.unknown for piece in pieces), tuple(special),
                         tokenizer.get_vocab_size())


@functools.lru_cache(64)
def merges(text: str) -> Merges:
    """Train BPE on the text only and apply its merges to the text step by step."""
    made = train_bpe(text)
    pairs = tuple((first, second) for first, second in json.loads(made.to_str())["model"]["merges"])
    words = Counter(word for word, _ in made.pre_tokenizer.pre_tokenize_str(text))
    split = {word: tuple(word) for word in words}
    lengths = [sum(times * len(split[word]) for word, times in words.items())]
    for pair in pairs:
        split = {word: merge_pair(pieces, pair) for word, pieces in split.items()}
        lengths.append(sum(times * len(split[word]) for word, times in words.items()))
    return Merges(pairs, tuple(words.items()), tuple(lengths))


def merge_pair(pieces: tuple[str, ...], pair: Pair) -> tuple[str, ...]:
    """Merge every occurrence of the pair in a word's pieces, from the left."""
    merged: list[str] = []
    place = 0
    while place < len(pieces):
        two = pieces[place:place + 2] == pair
        merged.append(pair[0] + pair[1] if two else pieces[place])
        place += 2 if two else 1
    return tuple(merged)


def apply(word: str, pairs: tuple[Pair, ...]) -> tuple[str, ...]:
    """Split a word by applying these merges in order (Sennrich et al. 2016, algorithm 1)."""
    pieces = tuple(word)
    for pair in pairs:
        pieces = merge_pair(pieces, pair)
    return pieces


def pair_counts(words: tuple[tuple[str, int], ...], pairs: tuple[Pair, ...]) -> Counter:
    """Count each pair of adjacent pieces in the text after these merges."""
    counts: Counter = Counter()
    for word, times in words:
        pieces = apply(word, pairs)
        for pair in itertools.pairwise(pieces):
            counts[pair] += times
    return counts


def show_piece(piece: str) -> str:
    """Return a byte-level piece as text with a visible space. Incomplete characters are shown as hexadecimal bytes."""
    from clearhead.model.pretrained.tokens import bytes_by_sign, visible

    # surrogateescape decodes an invalid byte b as U+DC00 + b
    text = bytes(bytes_by_sign()[sign] for sign in piece).decode("utf-8", "surrogateescape")
    parts = re.split("([\udc80-\udcff]+)", text)
    numbers = [" ".join(f"{ord(sign) - 0xDC00:02X}" for sign in part) if place % 2 else visible(part)
               for place, part in enumerate(parts)]
    return " ".join(number for number in numbers if number)


NEAREST = 12
DRAWN = 10_000     # number of random pairs of pieces for the baseline
TABLES = 50        # number of random tables for the null value


@frozen
class TableQuery(ModelQuestion):
    """Which words are nearest in a model's embedding table? Also returns the rows of `ids`."""

    word: str
    ids: tuple[int, ...]

    def answer(self, models: Models, report: Progress) -> "Table":
        """Find the neighbours. Raises UserError if the word is unknown or has more than one piece."""
        opened = models.open(self, report)
        report(0.3, "looking through the vocabulary")
        tokenizer, title = opened.tokenizer, opened.card.title

        def name_of(id: int) -> str:
            return visible(tokenizer.convert_tokens_to_string([tokenizer.convert_ids_to_tokens(id)]))

        # byte-level pieces include the preceding space
        ids = plain_ids(tokenizer, f" {self.word}")
        if len(ids) != 1:
            raise UserError(f"“{self.word}” is {len(ids)} pieces for {title} "
                            f"({' · '.join(map(name_of, ids))}), and the table has a row per "
                            "piece; choose a word that is one piece.")
        if ids[0] == tokenizer.unk_token_id and self.word != tokenizer.unk_token:
            raise UserError(f"{title} does not know the word “{self.word}”; choose another.")
        rows = opened.network.get_input_embeddings().weight.detach().numpy()[:len(tokenizer)]
        order, cosines, pairs = neighbours(rows, ids[0])
        nearest = tuple((name_of(piece), float(cosines[piece - (piece > ids[0])])) for piece in order)
        return Table(rows[list(self.ids)], nearest, cosines, pairs, luck(*rows.shape))


@with_arrays
class Table:
    """A word's nearest neighbours in an embedding table."""

    rows: np.ndarray                         # rows of the requested ids, (id, d_model)
    nearest: tuple[tuple[str, float], ...]   # (piece, cosine), most similar first
    cosines: np.ndarray                      # cosines of the piece with all others, (vocabulary − 1)
    pairs: np.ndarray                        # cosines of at most DRAWN random pairs of pieces
    luck: float                              # expected largest cosine in a table of random directions


@frozen
class ContextsQuery:
    """How similar are a word's vectors in different contexts?"""

    first: Query    # a text with the word
    second: Query   # a text in which it has another meaning
    third: Query    # a text in which it has the same meaning as in the first
    others: Query   # a text with unrelated words
    word: str       # spelling in the texts

    def answer(self, models: Models, report: Progress) -> "Contexts":
        """Compare the word's vectors. Raises UserError if one of the first three texts lacks it."""
        opened = models.open(self.first, report)
        asked = (self.first, self.second, self.third, self.others)
        tokens = [opened.tokens(query).source for query in asked]
        return compare(self.word, tuple(query.text for query in asked), tokens,
                       [layers(models.trace(query, report)) for query in asked])


@with_arrays
class Contexts:
    """Cosines by layer: 0 is the embedding table, 1 the first block's input, 2 its output, and so on."""

    apart: np.ndarray         # cosine between the word in the first and in the second text, (layer)
    alike: np.ndarray         # cosine between the word in the first and in the third text, (layer)
    unrelated: np.ndarray     # mean cosine over pairs of different words, (layer)
    low: np.ndarray           # 10th percentile of these pairs, (layer)
    high: np.ndarray          # 90th percentile of these pairs, (layer)
    pairs: int                # number of pairs of different words
    pieces: tuple[str, ...]   # the word's pieces in the model
    unknown: bool             # whether one of the pieces is [UNK]
    leads: bool               # whether the word is the first one in some text


def neighbours(table: np.ndarray, place: int) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Return the NEAREST rows to one row of a table (vocabulary, d_model), its cosines with all other rows, and the
    cosines of random pairs of rows, in the precision of the table."""
    unit = table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-30)
    similar = unit @ unit[place]
    order = [int(each) for each in np.argsort(-similar, kind="stable")[:NEAREST + 1] if each != place][:NEAREST]
    first, second = np.random.default_rng(0).integers(len(table), size=(2, DRAWN))
    first, second = first[first != second], second[first != second]
    return order, np.delete(similar, place), np.einsum("rd,rd->r", unit[first], unit[second])


@functools.lru_cache(8)
def luck(vocabulary: int, d_model: int) -> float:
    """Return the expected largest cosine of one vector with a table of random directions, averaged over TABLES tables.

    A normal vector has a random direction. Its cosine with a fixed vector is z/√(z² + χ²), where z is its first
    component and χ² the squared length of the others.
    """
    rng = np.random.default_rng(0)
    z, rest = rng.standard_normal((TABLES, vocabulary)), rng.chisquare(d_model - 1, (TABLES, vocabulary))
    return float((z / np.sqrt(z**2 + rest)).max(-1).mean())


def members(tokens: Tokens) -> dict[int, list[int]]:
    """Return {word: its tokens} without special tokens."""
    by_word: dict[int, list[int]] = {}
    for place, word in enumerate(tokens.words):
        if word >= 0 and not tokens.special[place]:
            by_word.setdefault(word, []).append(place)
    return by_word


def spelling(tokens: Tokens, text: str, places: list[int]) -> str:
    """Return the text that these tokens cover, in lower case."""
    spans = [tokens.spans[place] for place in places]
    return text[min(start for start, _ in spans):max(end for _, end in spans)].casefold()


def find(tokens: Tokens, text: str, wanted: str) -> list[int]:
    """Return the tokens of the first occurrence of a word in the text, or else of a string. Raises UserError if there
    is none."""
    for places in members(tokens).values():
        if spelling(tokens, text, places) == wanted.casefold():
            return places
    start = text.casefold().find(wanted.casefold())
    inside = [place for place, (low, high) in enumerate(tokens.spans)
              if not tokens.special[place] and low < start + len(wanted) and high > start]
    if start < 0 or not inside or not wanted:
        raise UserError(f"The word “{wanted}” does not occur in “{text}”; write a sentence with it.")
    return inside


def layers(trace: Trace) -> list[np.ndarray]:
    """Return the token embeddings, the first block's input and each block's output, (t, d_model) each."""
    start = trace.embedded[0]
    own = [part for name, part in start.parts if name == "token"]
    return [own[0] if own else start.output, start.output, *(block.after for block in trace.blocks)]


def compare(word: str, texts: tuple[str, ...], tokens: list[Tokens], states: list[list[np.ndarray]]) -> Contexts:
    """Compare a word's vectors in three texts. The baseline compares all words of these texts with differently spelled
    words of the fourth text.

    A word's vector is the mean over its pieces. The baseline excludes the first word of each text: in a decoder, it
    only attends to itself, and its vector differs from all others. states: one (t, d_model) per layer for each text.
    Raises UserError if one of the three texts lacks the word.
    """
    places = [find(tokens[side], texts[side], word) for side in (0, 1, 2)]
    apart, alike = ([cosines(one[places[0]].mean(0, keepdims=True), other[places[side]].mean(0, keepdims=True))[0, 0]
                     for one, other in zip(states[0], states[side], strict=True)] for side in (1, 2))
    words = [_words(*each) for each in zip(tokens, texts, strict=True)]
    different = np.array([[one != other for other, _ in words[3]] for side in (0, 1, 2) for one, _ in words[side]])
    baseline = []
    for layer in range(len(apart)):
        here = np.stack([states[side][layer][each].mean(0) for side in (0, 1, 2) for _, each in words[side]])
        baseline.append(cosines(here, np.stack([states[3][layer][each].mean(0) for _, each in words[3]]))[different])
    low, high = np.array([np.percentile(each, (10, 90)) for each in baseline]).T
    pieces = tuple(tokens[0].texts[place] for place in places[0])
    unknown = any(tokens[side].unknown[place] for side in (0, 1, 2) for place in places[side])
    leads = any(min(places[side]) == min(members(tokens[side])[0]) for side in (0, 1, 2))
    return Contexts(np.array(apart), np.array(alike), np.array([each.mean() for each in baseline]), low, high,
                    int(different.sum()), pieces, unknown,
                    leads)


def _words(tokens: Tokens, text: str) -> list[tuple[str, list[int]]]:
    """Return (spelling, tokens) of all words after the first that contain a letter or digit and no unknown piece."""
    later = list(members(tokens).values())[1:]
    words = [(spelling(tokens, text, places), places) for places in later
             if not any(tokens.unknown[place] for place in places)]
    return [(word, places) for word, places in words if any(map(str.isalnum, word))]
