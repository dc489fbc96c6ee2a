"""Queries and their parts: kinds of attention, edits and the `Query` itself, built from primitives so that it can be a
cache key and part of a URL. Also what most modules need: decorators of immutable classes, type aliases, progress, the
errors that users can act on, and the words of a text, whose spans count code points of the typed text, which is not
normalised."""
import functools
import importlib.util
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, TypeVar, dataclass_transform

import numpy as np
import numpy.typing as npt
import regex

if TYPE_CHECKING:
    from clearhead.model.core.models import Models
    from clearhead.model.core.record import AttentionRecord

Item = TypeVar("Item")
Made = TypeVar("Made")
IN_MEMORY = "memory:"   # start of the id of a model that a program gave in memory
MOST_STREAMS = 16  # per kind of attention in a record
# upper bound of an edit's window: longer than any text, and small enough that no mask index overflows
MOST_KEYS = 10**9


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(made: type[Made]) -> type[Made]:
    """Make the class an immutable dataclass. Objects with equal fields are equal, so they can be keys."""
    return dataclass(frozen=True)(made)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def with_arrays(made: type[Made]) -> type[Made]:
    """Make the class an immutable dataclass that holds arrays, which become read-only. Each object is only equal to
    itself, because comparing arrays gives an array."""
    check = getattr(made, "__post_init__", lambda _made: None)

    def freeze(self: object) -> None:
        for name, held in vars(self).items():
            if isinstance(held, np.ndarray) and held.flags.writeable:
                object.__setattr__(self, name, frozen_array(held))
        check(self)

    setattr(made, "__post_init__", freeze)   # noqa: B010
    setattr(made, "__pydantic_config__", {"arbitrary_types_allowed": True})   # noqa: B010, for the fields with arrays
    return dataclass(frozen=True, eq=False)(made)


def frozen_array(values: np.ndarray) -> np.ndarray:
    """Return a read-only view."""
    view = values.view()
    view.setflags(write=False)
    return view


class Kind(StrEnum):
    """The kind of attention: which stack attends to which. Each layer's `allowed` says which keys are actually
    visible."""

    SELF = "self"      # an encoder to itself
    CAUSAL = "causal"  # a decoder to its own past
    CROSS = "cross"    # a decoder to its encoder

    @classmethod
    def _missing_(cls, value: object) -> "Kind | None":
        """Return a numbered stream of the same kind, such as "self 2" of a second encoder, up to MOST_STREAMS."""
        base, _, number = str(value).partition(" ")
        if base not in cls.__members__.values() or number not in map(str, range(2, MOST_STREAMS + 1)):
            return None
        made = str.__new__(cls, value)
        made._name_, made._value_ = f"{base.upper()}_{number}", str(value)
        return made

    @classmethod
    def every(cls) -> "list[Kind]":
        """Return all kinds, each followed by its numbered streams."""
        return [cls(name) for base in cls for name in (base, *(f"{base} {n}" for n in range(2, MOST_STREAMS + 1)))]

    @property
    def base(self) -> "Kind":
        """The kind without its stream number."""
        return Kind(self.partition(" ")[0])

    def label(self, words: Mapping[str, str]) -> str:
        """Return the kind's name from `words`, with its stream number if it has one."""
        return words[self.base] if self is self.base else f"{words[self.base]} (stream {self.partition(' ')[2]})"


class UserError(Exception):
    """An error that the user can act on: one sentence that says what happened and what to do."""


# what `pip install "clearhead[app,paper,formats,adapters]"` adds: {extra: modules}, and packages with other names
EXTRAS = {"app": ("streamlit", "plotly", "segno", "psutil", "click", "websockets", "markdown_it"),
          "paper": ("matplotlib", "PIL"), "formats": ("gguf", "accelerate", "onnx", "sentencepiece", "pyarrow"),
          "adapters": ("peft",)}
PACKAGES = {"markdown_it": "markdown-it-py", "PIL": "pillow"}


def need(*modules: str) -> None:
    """Raise UserError, naming the extra, for the first of these modules that is not installed."""
    for extra, added in EXTRAS.items():
        for name in modules:
            if name in added and importlib.util.find_spec(name) is None:
                raise UserError(f"This needs the package {PACKAGES.get(name, name)}, which is not installed; run: pip "
                                f"install \"clearhead[{extra}]\".")


def first_line(error: BaseException, longest: int) -> str:
    """Return the first line of an error's message, or its type's name if it has none, cut to `longest` characters."""
    try:
        said = str(error)
    except Exception:   # a third-party error whose __str__ fails
        said = ""
    return next((line for line in said.splitlines() if line.strip()), type(error).__name__)[:longest]


def quoted(text: str) -> str:
    """Quote typed text for a sentence, cut to 80 characters."""
    return repr(text if len(text) <= 80 else text[:80] + "…")


ISOLATES = "\u2068\u2069"   # first strong isolate, pop directional isolate


def isolated(text: str) -> str:
    """Isolate a text with right-to-left letters (U+2068 … U+2069), so that it cannot reorder the sentence around it."""
    if text.isascii() or not any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for character in text):
        return text
    return text if text[0] == ISOLATES[0] and text[-1] == ISOLATES[1] else text.join(ISOLATES)


class NotOnDisk(UserError):
    """The model is not on this disk but can be fetched. `wanted` names the model to fetch; for an adapter, its base.
    `reason` is the sentence without the command, for pages, which offer a button."""

    def __init__(self, reason: str, wanted: str) -> None:
        super().__init__(f"{reason}; run: python -m clearhead fetch {wanted}")
        self.reason, self.wanted = f"{reason}.", wanted


class UnknownModel(UserError):
    """No model has this name."""


class NoNextWord(UserError):
    """The model was asked for a next word but does not predict any."""


@dataclass(frozen=True, order=True)
class Silence:
    """Set this head's slice of the attention output to 0 or to its mean over positions; biases added later still
    apply."""

    kind: Kind
    layer: int
    head: int
    mode: str = "zero"

    def __post_init__(self) -> None:
        if self.mode not in ("zero", "mean"):
            raise UserError(f"Silence: expected mode zero or mean, got {self.mode!r}; choose one of the two.")


@dataclass(frozen=True, order=True)
class Temper:
    """Divide this head's finite logits by `temperature` before mask and softmax, inside the model."""

    kind: Kind
    layer: int
    head: int
    temperature: float

    def __post_init__(self) -> None:
        if not 1e-6 <= self.temperature <= 1e6:
            raise UserError(f"Temper: expected a temperature from 0.000001 to 1000000, got {self.temperature}; choose "
                            f"one in that range.")


@dataclass(frozen=True, order=True)
class Hide:
    """Hide this token as a key everywhere on its side ("source" or "target"); it still attends as a query."""

    side: str
    token: int

    def __post_init__(self) -> None:
        if self.side not in ("source", "target") or self.token < 0:
            raise UserError(f"Hide: expected source or target and a token from 0, got {self.side!r} and {self.token}; "
                            f"choose a token of the text.")


@dataclass(frozen=True, order=True)
class Window:
    """Restrict a decoder's tokens to the last `width` keys, their own included, and the text's `first` keys.

    This is window attention. Keeping some first keys preserves attention sinks (Xiao et al. 2024, section 3.2), except
    that tokens keep their positions in the text. Bidirectional attention is unchanged.
    """

    width: int       # keys, from 1
    first: int = 0   # keys

    def __post_init__(self) -> None:
        if not (1 <= self.width <= MOST_KEYS and 0 <= self.first <= MOST_KEYS):
            raise UserError(f"Window: expected a width from 1 and first keys from 0, up to {MOST_KEYS:,}, got "
                            f"{self.width} and {self.first}; choose numbers in that range.")


@frozen
class Patch:
    """Replace this head's slice of the attention output by the one from the pass of `from_query`, at every position;
    biases added later still apply.

    This is activation patching, or interchange intervention (Vig et al. 2020; Geiger et al. 2021). Both passes need the
    same number of tokens on the query side: the source for an encoder's heads, the target for a decoder's,
    cross-attention included.
    """

    kind: Kind
    layer: int
    head: int
    from_query: "Query"

    def __post_init__(self) -> None:
        if self.from_query.edits:
            raise UserError("Patch: the other sentence cannot have edits of its own; remove them.")


Edit = Silence | Temper | Hide | Window | Patch
QUOTED = 240   # most characters of a text in a caption


def described(edit: Edit) -> str:
    """Return an edit in words, with at most QUOTED characters of a text that it names."""
    if isinstance(edit, Hide):
        return f"{edit.side} token {edit.token} hidden"
    if isinstance(edit, Window):
        return f"each token sees the last {edit.width} keys" + f" and the first {edit.first}" * bool(edit.first)
    change = (f"taken from “{edit.from_query.text[:QUOTED]}”" if isinstance(edit, Patch)
              else f"at temperature {edit.temperature:g}" if isinstance(edit, Temper)
              else "silenced" if edit.mode == "zero" else "set to its mean over all positions")
    return f"{edit.kind} layer {edit.layer} head {edit.head} {change}"


def check_same_model(*queries: "Query") -> None:
    """Raise UserError unless all queries are for one version of one model."""
    if len({(each.model, each.revision) for each in queries}) > 1:
        raise UserError("A head's output can only be copied from the same model; choose the same model for both "
                        "texts.")


def no_last_keys(title: str) -> UserError:
    """Return the error for a `Window` on a model without a decoder."""
    return UserError(f"{title} has no attention that only looks back, so its tokens have no last keys; choose a "
                     f"decoder, such as SmolLM2.")


def text_only(title: str) -> UserError:
    """Return the error for a picture given to a text model."""
    return UserError(f"{title} is shown with text only; choose a model of pictures, such as dinov2-small, or leave the "
                     f"picture out.")


def pictures_only(title: str) -> UserError:
    """Return the error for a text given to a picture model."""
    return UserError(f"{title} reads pictures, not text; choose or open a picture, or choose a text model.")


@frozen
class Query:
    """A question to a model. It is a cache key and can be encoded in a URL, so it only contains primitives."""

    model: str                             # the model's id
    revision: str                          # the resolved fingerprint of weights, config and tokenizer
    text: str                              # the text to read; "" if there is only a picture
    text_b: str | None = None              # the second text of a pair
    target: str | None = None              # the decoder's text, for encoder–decoder models
    # generated token ids; continuing from them gives the same text as the model's `generate`
    continuation: tuple[int, ...] = ()
    edits: frozenset[Edit] = frozenset()   # changes inside the model
    image: str | None = None               # sha256 of the picture's file; pictures are stored in `model.core.pictures`
    chat: bool = False                     # whether to wrap the text as a user's turn in the model's chat template
    ids: tuple[int, ...] = ()              # token ids to read as they are; `text` then only says what they spell

    def __post_init__(self) -> None:
        if self.image is not None and not re.fullmatch("[0-9a-f]{64}", self.image):
            raise UserError(f"A picture is named by its sha256, 64 hexadecimal digits, not by "
                            f"{quoted(self.image)}; choose or open a picture.")
        check_same_model(self, *(edit.from_query for edit in self.edits if isinstance(edit, Patch)))
        outputs = [(edit.kind, edit.layer, edit.head) for edit in self.edits if isinstance(edit, Silence | Patch)]
        if len({*outputs}) < len(outputs) or sum(isinstance(edit, Window) for edit in self.edits) > 1:
            raise UserError("Only one edit of a head's output, and only one window, can apply; remove the others.")

    def output_edit(self, head: "KindHeadId") -> Silence | Patch | None:
        """Return the edit that replaces this head's output, if there is one."""
        return next((edit for edit in self.edits if isinstance(edit, Silence | Patch)
                     and (edit.kind, edit.layer, edit.head) == head), None)

    def answer(self, models: "Models", report: "Progress") -> "AttentionRecord":
        """Return the record of the pass. Raises UserError if the model cannot answer."""
        return models.open(self, report).record(self, report)


# called with the fraction done, 0 to 1, and a description of the current step; may raise to stop
Progress = Callable[[float, str], None]
HeadId = tuple[int, int]                  # layer, head; the kind of attention is known from the context
KindHeadId = tuple[Kind, int, int]        # kind, layer, head
Span = tuple[int, int]                    # start and end in characters of a text, end excluded


class Box(NamedTuple):
    """A rectangle in a picture: its sides as fractions of the picture's width and height, from the upper left
    corner."""

    left: float
    top: float
    right: float
    bottom: float


def head_label(layer: int, head: int) -> str:
    """Return a head's label: layer and head number, both from 0."""
    return f"{layer}·{head}"


def paper_head_label(layer: int, head: int) -> str:
    """Return the head's label with layer and head counted from 1, as in Clark et al. 2019."""
    return f"{layer + 1}-{head + 1}"


def quiet(fraction: float, text: str) -> None:
    """Ignore progress."""


def counted(items: Sequence[Item], report: Progress, what: str) -> Iterator[tuple[int, Item]]:
    """Yield each item with its number, and report progress such as "sentence 3 of 60"."""
    for number, item in enumerate(items):
        report(number / len(items), f"{what} {number + 1} of {len(items)}")
        yield number, item


def slices(count: int, size: int) -> Iterator[slice]:
    """Yield consecutive slices of at most `size` items that cover `count` items."""
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


def batches(items: list[Item], size: int, report: Progress, what: str) -> Iterator[list[Item]]:
    """Yield the items in lists of at most `size`, and report progress like `counted`."""
    for some in slices(len(items), size):
        report(some.start / len(items), f"{what} {some.start + 1} of {len(items)}")
        yield items[some]


@contextmanager
def errors_at(where: str) -> Iterator[None]:
    """Begin the message of a UserError with what it concerns, such as "line 3"."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{where}: {error}") from error


class NotFinite(UserError, ValueError):
    """The model computes NaN or infinity; `where` says in which numbers."""

    def __init__(self, where: str) -> None:
        self.where = where
        super().__init__(f"The model computes NaN or infinity {where}, as its weights are damaged or too large; choose "
                         f"another text or model, or fetch this one again.")


def check_finite(where: str, numbers: npt.ArrayLike) -> None:
    """Raise NotFinite unless all numbers are finite. `where` completes the sentence "NaN or infinity …", as in "in the
    keys of layer 3"."""
    if not np.logical_and.reduce(np.isfinite(numbers), axis=None):
        raise NotFinite(where)


def largest(errors: Iterable[float]) -> float:
    """Return the largest of these differences: 0 if there are none, infinity if one is NaN, which `max` would
    ignore."""
    numbers = np.array([0.0, *errors])
    return float(numbers.max()) if np.isfinite(numbers).all() else float("inf")


APOSTROPHES, JOINER, NON_JOINER = "'’", "\u200d", "\u200c"
KEYCAPS = "\ufe0f\u20e3"   # ends of clusters that make an emoji of a letter or digit
CLUSTERS = regex.compile(r"\s|\X")   # white space, or a grapheme cluster


@functools.lru_cache(1 << 14)
def sort_of(character: str) -> str:
    """Return the character's class: word, space or sign (a separate word)."""
    if character.isspace() or character == "\ufeff":
        return "space"
    if "\u2e80" <= character <= "\u9fff" or "\uf900" <= character <= "\ufaff" or character >= "\U00020000":
        return "sign"   # Chinese and Japanese are written without spaces, so each character is a word
    return "word" if unicodedata.category(character)[0] in "LN" or character == "_" else "sign"


def word_spans(text: str) -> list[Span]:
    """Return (start, end) of each word and each symbol. "don't" is one word. No span cuts a grapheme cluster (Unicode
    Standard Annex 29), such as é, a flag, a keycap or a family of emoji."""
    spans: list[Span] = []
    before = "space"
    for start, end in (found.span() for found in CLUSTERS.finditer(text)):
        sort = "sign" if text[end - 1] in KEYCAPS else sort_of(text[start])
        if text[start] in APOSTROPHES and before == "word" and sort_of(text[end:end + 1] or " ") == "word":
            sort = "word"
        if sort == before == "word":
            spans[-1] = (spans[-1][0], end)
        elif sort != "space":
            spans.append((start, end))
        before = sort
    return spans


def word_numbers(text: str) -> list[int]:
    """Return each character's word number, -1 for white space."""
    numbers = [-1] * len(text)
    for number, (start, end) in enumerate(word_spans(text)):
        numbers[start:end] = [number] * (end - start)
    return numbers


for _error in (UserError, NotOnDisk, UnknownModel, NotFinite):   # as a traceback and a pickle name them
    _error.__module__ = "clearhead"
UserError.__name__ = UserError.__qualname__ = "Error"
