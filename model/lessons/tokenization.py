"""From text to pieces to ids, by the tokenizers of real models, and byte-pair encoding step by step on a text of one's
own.

WordPiece (Schuster and Nakajima 2012; Devlin et al. 2019) takes from the left the longest piece that the vocabulary
has. Byte-pair encoding (Sennrich et al. 2016) starts from single signs and merges the most frequent pair again and
again; byte-level BPE (Radford et al. 2019) starts from the 256 bytes of UTF-8, so that nothing is ever unknown. """
import functools
import itertools
import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

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
    """Whether this model is on this disk."""
    from model.pretrained import catalogue

    entry = catalogue.entry_named(model)
    return entry is not None and catalogue.on_disk(entry)


@functools.lru_cache(4)
def tokenizer_of(model: str) -> "Tokenizer":
    """The tokenizer of a model of the catalogue that is on disk, without truncation and padding."""
    from tokenizers import Tokenizer

    from model.pretrained import catalogue

    loaded = Tokenizer.from_file(str(catalogue.folder_of(cast(catalogue.Entry, catalogue.entry_named(model)))
                                     / "tokenizer.json"))
    loaded.no_truncation()
    loaded.no_padding()
    return loaded


@functools.lru_cache(16)
def train_bpe(text: str) -> "Tokenizer":
    """A byte-level BPE made from this text alone, by the tokenizers library: merges of pairs that stand there at least
    twice, LARGEST at most."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator([text], trainers.BpeTrainer(vocab_size=len(alphabet) + LARGEST, min_frequency=2,
                                                         initial_alphabet=alphabet,
                                                         show_progress=False))
    return made


def cut(text: str, model: str) -> Cut:
    """The text by a model's own tokenizer. Raises NotOnDisk (a UserError) where the model is not there."""
    return cut_by(text, tokenizer_of(model))


def cut_by_own(text: str, book: str) -> Cut:
    """The text by a byte-level BPE that was trained on `book` alone."""
    return cut_by(text, train_bpe(book))


def cut_by(text: str, tokenizer: "Tokenizer") -> Cut:
    """The pieces of the text, by any tokenizer."""
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
    """Trains BPE on the text alone and follows its merges through the text."""
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
    """A word's pieces with every occurrence of the pair put together, from the left."""
    merged: list[str] = []
    place = 0
    while place < len(pieces):
        two = pieces[place:place + 2] == pair
        merged.append(pair[0] + pair[1] if two else pieces[place])
        place += 2 if two else 1
    return tuple(merged)


def apply(word: str, pairs: tuple[Pair, ...]) -> tuple[str, ...]:
    """A word's pieces after these merges, one after the other in their order (Sennrich et al. 2016, algorithm 1)."""
    pieces = tuple(word)
    for pair in pairs:
        pieces = merge_pair(pieces, pair)
    return pieces


def pair_counts(words: tuple[tuple[str, int], ...], pairs: tuple[Pair, ...]) -> Counter:
    """How often each pair of neighbours stands in the text after these merges."""
    counts: Counter = Counter()
    for word, times in words:
        pieces = apply(word, pairs)
        for pair in itertools.pairwise(pieces):
            counts[pair] += times
    return counts


def show_piece(piece: str) -> str:
    """A byte-level piece as text with its space visible; bytes that are not a whole character as hexadecimal
    numbers."""
    from model.pretrained.tokens import bytes_by_sign, visible

    # a lone byte b becomes U+DC00 + b
    text = bytes(bytes_by_sign()[sign] for sign in piece).decode("utf-8", "surrogateescape")
    parts = re.split("([\udc80-\udcff]+)", text)
    numbers = [" ".join(f"{ord(sign) - 0xDC00:02X}" for sign in part) if place % 2 else visible(part)
               for place, part in enumerate(parts)]
    return " ".join(number for number in numbers if number)
