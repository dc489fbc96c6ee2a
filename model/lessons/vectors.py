"""Cut words into pieces, and show how a token's vector changes with its context."""
import functools
import itertools
import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from model.core.models import Models
from model.core.query import Progress, Query, UserError
from model.core.record import Tokens
from model.core.statistics import cosines
from model.core.trace import Trace
from model.pretrained.inputs import plain_ids
from model.pretrained.tokens import visible

if TYPE_CHECKING:
    from tokenizers import Tokenizer


MODELS = ("minilm", "smollm2")
LARGEST = 512      # merges that a text of one's own may bring
Pair = tuple[str, str]


@dataclass(frozen=True)
class Cut:
    """A text on its way to ids. Sequences of pieces are as long as each other."""

    normalised: str             # the text after normalisation
    words: tuple[str, ...]      # that pieces never cross
    pieces: tuple[str, ...]     # as the vocabulary has them
    labels: tuple[str, ...]     # the pieces, readable
    ids: tuple[int, ...]        # their numbers
    unknown: tuple[bool, ...]   # which are [UNK]
    special: tuple[bool, ...]   # which the model adds itself
    vocabulary: int             # how many pieces there are

    @property
    def count(self) -> int:
        """Pieces of the text itself."""
        return len(self.pieces) - sum(self.special)


@dataclass(frozen=True)
class Merges:
    """A training of BPE on one text. pairs: in the order in which they were merged. words: the distinct words, each
    with how often it stands there. lengths: pieces of the whole text after 0, 1, 2, … merges. Pieces are in the byte
    alphabet of GPT-2."""

    pairs: tuple[Pair, ...]
    words: tuple[tuple[str, int], ...]
    lengths: tuple[int, ...]


def on_disk(model: str) -> bool:
    """Return whether this model is on this disk."""
    from model.pretrained import catalogue

    entry = catalogue.entry_named(model)
    return entry is not None and catalogue.on_disk(entry)


@functools.lru_cache(4)
def tokenizer_of(model: str) -> "Tokenizer":
    """Return the tokenizer of a model of the catalogue that is on disk, without truncation and padding."""
    from tokenizers import Tokenizer

    from model.pretrained import catalogue

    loaded = Tokenizer.from_file(str(catalogue.folder_of(cast(catalogue.Entry, catalogue.entry_named(model)))
                                     / "tokenizer.json"))
    loaded.no_truncation()
    loaded.no_padding()
    return loaded


@functools.lru_cache(16)
def train_bpe(text: str) -> "Tokenizer":
    """Return a byte-level BPE made from this text alone, by the tokenizers library: merges of pairs that stand there at
    least twice, LARGEST at most."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator([text], trainers.BpeTrainer(vocab_size=len(alphabet) + LARGEST, min_frequency=2,
                                                         initial_alphabet=alphabet,
                                                         show_progress=False))
    return made


def cut(text: str, model: str) -> Cut:
    """Return the text by a model's own tokenizer. Raises NotOnDisk (a UserError) where the model is not there."""
    return cut_by(text, tokenizer_of(model))


def cut_by_own(text: str, book: str) -> Cut:
    """Return the text by a byte-level BPE that was trained on `book` alone."""
    return cut_by(text, train_bpe(book))


def cut_by(text: str, tokenizer: "Tokenizer") -> Cut:
    """Return the pieces of the text, by any tokenizer."""
    from model.pretrained.tokens import Piece, readable

    normalised = tokenizer.normalizer.normalize_str(text) if tokenizer.normalizer else text
    words = tuple(word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normalised))
    encoding = tokenizer.encode(text)
    unknown = tokenizer.token_to_id(getattr(tokenizer.model, "unk_token", None) or "")
    special = [bool(each) for each in encoding.special_tokens_mask]
    pieces = [Piece(id, raw, span, -1 if added else 0, added, not added and id == unknown)
              for id, raw, span, added in zip(encoding.ids, encoding.tokens, encoding.offsets, special, strict=True)]
    labels = readable(pieces, (text,)).texts if pieces else ()
    return Cut(normalised, words, tuple(encoding.tokens), labels, tuple(encoding.ids),
               tuple(piece.unknown for piece in pieces), tuple(special),
               tokenizer.get_vocab_size())


@functools.lru_cache(64)
def merges(text: str) -> Merges:
    """Train BPE on the text alone and follows its merges through the text."""
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
    """Return a word's pieces with every occurrence of the pair put together, from the left."""
    merged: list[str] = []
    place = 0
    while place < len(pieces):
        two = pieces[place:place + 2] == pair
        merged.append(pair[0] + pair[1] if two else pieces[place])
        place += 2 if two else 1
    return tuple(merged)


def apply(word: str, pairs: tuple[Pair, ...]) -> tuple[str, ...]:
    """Return a word's pieces after these merges, one after the other in their order (Sennrich et al. 2016, algorithm
    1)."""
    pieces = tuple(word)
    for pair in pairs:
        pieces = merge_pair(pieces, pair)
    return pieces


def pair_counts(words: tuple[tuple[str, int], ...], pairs: tuple[Pair, ...]) -> Counter:
    """Return how often each pair of neighbours stands in the text after these merges."""
    counts: Counter = Counter()
    for word, times in words:
        pieces = apply(word, pairs)
        for pair in itertools.pairwise(pieces):
            counts[pair] += times
    return counts


def show_piece(piece: str) -> str:
    """Return a byte-level piece as text with its space visible; bytes that are not a whole character as hexadecimal
    numbers."""
    from model.pretrained.tokens import bytes_by_sign, visible

    # a lone byte b becomes U+DC00 + b
    text = bytes(bytes_by_sign()[sign] for sign in piece).decode("utf-8", "surrogateescape")
    parts = re.split("([\udc80-\udcff]+)", text)
    numbers = [" ".join(f"{ord(sign) - 0xDC00:02X}" for sign in part) if place % 2 else visible(part)
               for place, part in enumerate(parts)]
    return " ".join(number for number in numbers if number)


NEAREST = 12
DRAWN = 10_000     # pairs of pieces that the baseline is drawn from
TABLES = 50        # random tables that the luck of a neighbour is the mean over


@dataclass(frozen=True)
class TableQuery:
    """A word's neighbours in a model's table of input embeddings, and the table's rows of `ids`."""

    model: str
    revision: str
    word: str
    ids: tuple[int, ...]

    def answer(self, models: Models, report: Progress) -> "Table":
        """Return the neighbours. Raises UserError for a word of several pieces, or an unknown one."""
        return look_up(models.open(self, report), self, report)


@dataclass(frozen=True, eq=False)
class Table:
    """A word's neighbours in a table of embeddings."""

    rows: np.ndarray                         # of the ids that were asked for, (id, d_model)
    piece: str                               # the vocabulary's own string that the word is
    nearest: tuple[tuple[str, float], ...]   # (piece, cosine), most similar first
    cosines: np.ndarray                      # of the piece with every other, (vocabulary − 1)
    pairs: np.ndarray                        # of two pieces drawn at random, at most DRAWN
    luck: float                              # the largest cosine that a table of random directions would give


@dataclass(frozen=True)
class ContextsQuery:
    """One word in three texts."""

    first: Query    # a text with the word
    second: Query   # one in which it means something else
    third: Query    # one in which it means the same as in the first
    others: Query   # a text of unrelated words
    word: str       # as it is spelled in the texts

    def answer(self, models: Models, report: Progress) -> "Contexts":
        """Return the word's vectors compared. Raises UserError if it is missing in one of the first three texts."""
        opened = models.open(self.first, report)
        asked = (self.first, self.second, self.third, self.others)
        tokens = [opened.tokens(query).source for query in asked]
        return compare(self.word, tuple(query.text for query in asked), tokens,
                       [layers(models.trace(query, report)) for query in asked])


@dataclass(frozen=True, eq=False)
class Contexts:
    """Cosines by layer: 0 is the table itself, 1 what the first block gets, 2 what it puts out, and so on."""

    apart: np.ndarray         # the word in the first text with the word in the second, (layer)
    alike: np.ndarray         # the word in the first text with the word in the third, (layer)
    unrelated: np.ndarray     # mean over pairs of different words, (layer)
    low: np.ndarray           # 10th percentile of the same, (layer)
    high: np.ndarray          # 90th percentile of the same, (layer)
    pairs: int                # how many pairs of different words
    pieces: tuple[str, ...]   # of the word, as the model reads it
    unknown: bool             # whether one of them is [UNK]
    leads: bool               # whether the word is the first of one of the texts


def look_up(opened: Any, question: TableQuery, report: Progress) -> Table:
    """Return the neighbours of a word that is one piece of a pretrained model's vocabulary. Raises UserError for a word
    of several pieces, or an unknown one."""
    report(0.3, "looking through the vocabulary")
    tokenizer, title = opened.tokenizer, opened.card.title

    def name_of(id: int) -> str:
        return visible(tokenizer.convert_tokens_to_string([tokenizer.convert_ids_to_tokens(id)]))

    # byte-level pieces hold the space before a word
    ids = plain_ids(tokenizer, f" {question.word}")
    if len(ids) != 1:
        raise UserError(f"“{question.word}” is not one piece for {title} but {len(ids)} "
                        f"({' · '.join(map(name_of, ids))}); choose a word that is one piece, as each row is.")
    if ids[0] == tokenizer.unk_token_id and question.word != tokenizer.unk_token:
        raise UserError(f"“{question.word}” is unknown to {title}; choose another word.")
    rows = opened.network.get_input_embeddings().weight.detach().numpy()[:len(tokenizer)]
    order, cosines, pairs = neighbours(rows, ids[0])
    return Table(rows[list(question.ids)], name_of(ids[0]),
                 tuple((name_of(piece), float(cosines[piece - (piece > ids[0])])) for piece in order), cosines,
                 pairs, luck(*rows.shape))


def neighbours(table: np.ndarray, place: int) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Return the NEAREST rows to one row of a table (vocabulary, d_model), its cosines with all others, and those of
    pairs of rows drawn at random, all in the table's own precision."""
    unit = table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-30)
    similar = unit @ unit[place]
    order = [int(each) for each in np.argsort(-similar, kind="stable")[:NEAREST + 1] if each != place][:NEAREST]
    first, second = np.random.default_rng(0).integers(len(table), size=(2, DRAWN))
    first, second = first[first != second], second[first != second]
    return order, np.delete(similar, place), np.einsum("rd,rd->r", unit[first], unit[second])


@functools.lru_cache(8)
def luck(vocabulary: int, d_model: int) -> float:
    """Return the largest cosine of one vector with a table of random directions, mean over TABLES tables.

    A random direction is a normal vector: its cosine with a fixed one is z/√(z² + χ²), z its first number and χ² the
    squared length of the rest.
    """
    rng = np.random.default_rng(0)
    z, rest = rng.standard_normal((TABLES, vocabulary)), rng.chisquare(d_model - 1, (TABLES, vocabulary))
    return float((z / np.sqrt(z**2 + rest)).max(-1).mean())


def members(tokens: Tokens) -> dict[int, list[int]]:
    """Return the tokens of each word, special ones left out."""
    by_word: dict[int, list[int]] = {}
    for place, word in enumerate(tokens.words):
        if word >= 0 and not tokens.special[place]:
            by_word.setdefault(word, []).append(place)
    return by_word


def spelling(tokens: Tokens, text: str, places: list[int]) -> str:
    """Return what was typed for these tokens, in lower case."""
    spans = [tokens.spans[place] for place in places]
    return text[min(start for start, _ in spans):max(end for _, end in spans)].casefold()


def find(tokens: Tokens, text: str, wanted: str) -> list[int]:
    """Return the tokens of the first place where the text has this word, or else these characters. Raises UserError if
    it has them nowhere."""
    for places in members(tokens).values():
        if spelling(tokens, text, places) == wanted.casefold():
            return places
    start = text.casefold().find(wanted.casefold())
    inside = [place for place, (low, high) in enumerate(tokens.spans)
              if not tokens.special[place] and low < start + len(wanted) and high > start]
    if start < 0 or not inside or not wanted:
        raise UserError(f"“{text}” does not contain “{wanted}”; write a sentence that does.")
    return inside


def layers(trace: Trace) -> list[np.ndarray]:
    """Return the table's own vectors, what the first block gets, and what each block puts out: (t, d_model) each."""
    start = trace.embedded[0]
    own = [part for name, part in start.parts if name == "token"]
    return [own[0] if own else start.output, start.output, *(block.after for block in trace.blocks)]


def compare(word: str, texts: tuple[str, ...], tokens: list[Tokens], states: list[list[np.ndarray]]) -> Contexts:
    """Return the word in three texts, and every word of these with every differently spelled one of the fourth; a
    word's vector is the mean over its pieces. The first word of each text is left out there: in a decoder it sees
    itself alone, and its vector is unlike all others. states: for each text one (t, d_model) a layer. Raises UserError
    if the word is missing in one of the texts."""
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
    """Return the words after the first that are spelled with a letter or a digit and have no unknown piece: how, and
    their tokens."""
    later = list(members(tokens).values())[1:]
    words = [(spelling(tokens, text, places), places) for places in later
             if not any(tokens.unknown[place] for place in places)]
    return [(word, places) for word, places in words if any(map(str.isalnum, word))]
