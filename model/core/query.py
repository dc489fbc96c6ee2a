"""What can be asked: the wiring, the edits and the `Query`. Primitives only, so a query is a cache key and what a link
means. Also the names for what many signatures say, and the errors that a person can do something about."""
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

Record = TypeVar("Record", covariant=True)
Item = TypeVar("Item")
MOST_STREAMS = 16  # of one wiring in a record
MOST_KEYS = 10**9   # of an edit's window: longer than any text, and no number in a mask overflows


class Reads(Protocol[Record]):
    """`model.core.models.OpenModel` as far as a query needs it. Generic, because a record holds its query, so that this
    file cannot import the record's."""

    def record(self, query: "Query", report: Callable[[float, str], None]) -> Record:
        """Return the record of the query's pass."""


class Opens(Protocol[Record]):
    """`model.core.models.Models` as far as a query needs it."""

    def open(self, asked: "Query", report: Callable[[float, str], None]) -> Reads[Record]:
        """Return the model that the query is put to."""


class Kind(StrEnum):
    """The wiring. Who may really look where is each layer's `allowed`."""

    SELF = "self"      # an encoder over itself
    CAUSAL = "causal"  # a decoder over what it has so far
    CROSS = "cross"    # a decoder over its encoder

    @classmethod
    def _missing_(cls, value: object) -> "Kind | None":
        """Return a further stream of the same wiring, as of a second encoder: "self 2" is one, up to MOST_STREAMS."""
        base, _, number = str(value).partition(" ")
        if base not in cls.__members__.values() or number not in map(str, range(2, MOST_STREAMS + 1)):
            return None
        made = str.__new__(cls, value)
        made._name_, made._value_ = f"{base.upper()}_{number}", str(value)
        return made

    @classmethod
    def every(cls) -> "list[Kind]":
        """Return all wirings, each with its further streams."""
        return [cls(name) for base in cls for name in (base, *(f"{base} {n}" for n in range(2, MOST_STREAMS + 1)))]

    @property
    def base(self) -> "Kind":
        """The wiring itself."""
        return Kind(self.partition(" ")[0])

    def label(self, words: Mapping[str, str]) -> str:
        """Return its name in these words for each wiring, numbered where it is a further stream."""
        return words[self.base] if self is self.base else f"{words[self.base]} (stream {self.partition(' ')[2]})"


class UserError(Exception):
    """An error that the person at the screen can mend: one sentence that says what happened and the way out."""


def first_line(error: BaseException, longest: int) -> str:
    """Return the first line of an error's message, its type's name where it has none, cut to so many characters."""
    try:
        said = str(error)
    except Exception:   # of an error that somebody else wrote, and that cannot say what it is
        said = ""
    return next((line for line in said.splitlines() if line.strip()), type(error).__name__)[:longest]


def quoted(text: str, longest: int = 80) -> str:
    """Typed text in quotation marks, of a long one the beginning, for a sentence."""
    return repr(text if len(text) <= longest else text[:longest] + "…")


class NotOnDisk(UserError):
    """The model is not on this disk, but could be fetched; `wanted` is what to fetch: of an adapter its base."""

    def __init__(self, sentence: str, wanted: str) -> None:
        super().__init__(sentence)
        self.wanted = wanted


class UnknownModel(UserError):
    """No model has this name."""


class NoNextWord(UserError):
    """The model was asked for a next word and predicts none."""


@dataclass(frozen=True, order=True)
class Silence:
    """This head's slice of the attention output becomes 0, or its mean over positions; biases after it stay."""

    kind: Kind
    layer: int
    head: int
    mode: str = "zero"

    def __post_init__(self) -> None:
        if self.mode not in ("zero", "mean"):
            raise UserError(f"Silence: expected mode zero or mean, got {self.mode!r}; choose one of the two.")


@dataclass(frozen=True, order=True)
class Temper:
    """Every finite logit of this head is divided by `temperature` before mask and softmax, inside the model."""

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
    """This token is no key anywhere on its side ("source" or "target"); its own row stays."""

    side: str
    token: int

    def __post_init__(self) -> None:
        if self.side not in ("source", "target") or self.token < 0:
            raise UserError(f"Hide: expected source or target and a token from 0, got {self.side!r} and {self.token}; "
                            f"choose a token of the text.")


@dataclass(frozen=True, order=True)
class Window:
    """A token of a decoder sees only the last `width` keys, its own among them, and the `first` ones of the text.

    That is window attention; with some first keys it is the one that keeps attention sinks (Xiao et al. 2024, section
    3.2), except that each token keeps the position that it has in the text. What looks both ways stays as it is. """

    width: int       # keys, from 1
    first: int = 0   # keys

    def __post_init__(self) -> None:
        if not (1 <= self.width <= MOST_KEYS and 0 <= self.first <= MOST_KEYS):
            raise UserError(f"Window: expected a width from 1 and first keys from 0, up to {MOST_KEYS:,}, got "
                            f"{self.width} and {self.first}; choose numbers in that range.")


@dataclass(frozen=True)
class Patch:
    """This head's slice of the attention output is what it is in the pass of `from_query`, at every position; biases
    after it stay.

    That is activation patching, or interchange intervention (Vig et al. 2020; Geiger et al. 2021). The two passes must
    have as many tokens on the side that looks: the source for an encoder's heads, the target for a decoder's,
    cross-attention included. """

    kind: Kind
    layer: int
    head: int
    from_query: "Query"

    def __post_init__(self) -> None:
        if self.from_query.edits:
            raise UserError("Patch: the other sentence is read as it is, without edits of its own; take them away.")


Edit = Silence | Temper | Hide | Window | Patch


def no_last_keys(title: str) -> UserError:
    """Return why a model without a decoder takes no `Window`."""
    return UserError(f"{title} has no attention that only looks back, so its tokens have no last keys; choose a "
                     f"decoder, such as SmolLM2.")


def text_only(title: str) -> UserError:
    """Return why a model of texts takes no picture."""
    return UserError(f"{title} reads text and no pictures; choose a model of pictures, such as dinov2-small, or leave "
                     f"the picture out.")


def pictures_only(title: str) -> UserError:
    """Return why a model of pictures takes no text."""
    return UserError(f"{title} reads pictures, not text; choose or open a picture, or choose a text model.")


@dataclass(frozen=True)
class Query:
    """What was asked. Primitives only: it is the cache key, and what a link means."""

    model: str                             # its id
    revision: str                          # the resolved fingerprint of weights, config and tokenizer
    text: str                              # what the model reads; "" where it reads a picture alone
    text_b: str | None = None              # the second text of a pair
    target: str | None = None              # the decoder's text, for models that have an encoder
    continuation: tuple[int, ...] = ()     # generated token ids: stepping through a text equals the model's generate
    edits: frozenset[Edit] = frozenset()   # changes inside the model
    image: str | None = None               # the picture, by the sha256 of its file; `model.core.pictures` holds it
    chat: bool = False                     # whether the text is a user's turn in the model's own chat template

    def __post_init__(self) -> None:
        if self.image is not None and not re.fullmatch("[0-9a-f]{64}", self.image):
            raise UserError(f"A picture is named by its sha256, 64 hexadecimal digits, and not by "
                            f"{quoted(self.image)}; choose or open a picture.")
        if any(isinstance(edit, Patch) and (edit.from_query.model, edit.from_query.revision)
               != (self.model, self.revision) for edit in self.edits):
            raise UserError("A head's output can only be taken from another text of the same model; choose the same "
                            "model for both.")
        outputs = [(edit.kind, edit.layer, edit.head) for edit in self.edits if isinstance(edit, Silence | Patch)]
        for kind, layer, head in outputs:
            if outputs.count((kind, layer, head)) > 1:
                raise UserError(f"Layer {layer} head {head} ({kind}) has two edits of its output, and only one can "
                                f"hold; take one away.")
        if sum(isinstance(edit, Window) for edit in self.edits) > 1:
            raise UserError("Two windows at once leave open which keys are seen; take one away.")

    def answer(self, models: Opens[Record], report: Callable[[float, str], None]) -> Record:
        """Return the `model.core.record.AttentionRecord` of the pass. Raises UserError if there is none."""
        return models.open(self, report).record(self, report)


# called with the share that is done, 0 to 1, and what is being done; it may raise to stop
Progress = Callable[[float, str], None]
HeadId = tuple[int, int]                  # layer, head: of one kind of attention that the context names
KindHeadId = tuple[Kind, int, int]        # kind, layer, head
Span = tuple[int, int]                    # characters of a text, from 0, the end not included


class Box(NamedTuple):
    """A part of a picture: its sides as shares of the picture's width and height, 0 to 1 from its upper left corner."""

    left: float
    top: float
    right: float
    bottom: float


def head_label(layer: int, head: int) -> str:
    """Return a head: its layer and its number in it, both from 0."""
    return f"{layer}·{head}"


def quiet(fraction: float, text: str) -> None:
    """Progress that nobody watches."""


def counted(items: Sequence[Item], report: Progress, what: str) -> Iterator[tuple[int, Item]]:
    """Give each item with its number, and report which one it is: "sentence 3 of 60"."""
    for number, item in enumerate(items):
        report(number / len(items), f"{what} {number + 1} of {len(items)}")
        yield number, item


class NotFinite(UserError, ValueError):
    """NaN or infinity where a model's numbers were expected; `where` says in which."""

    def __init__(self, where: str) -> None:
        self.where = where
        super().__init__(f"The model computes NaN or infinity {where}, as its weights are damaged or too large; choose "
                         f"another text or model, or fetch this one again.")


def check_finite(where: str, numbers: npt.ArrayLike) -> None:
    """Raise NotFinite unless all numbers are finite. `where` follows "NaN or infinity": in the keys of layer 3."""
    if not np.logical_and.reduce(np.isfinite(numbers), axis=None):
        raise NotFinite(where)


def largest(errors: Iterable[float]) -> float:
    """Return the largest of some differences, 0 of none, infinity where any is no number: `max` would pass over NaN."""
    numbers = np.array([0.0, *errors])
    return float(numbers.max()) if np.isfinite(numbers).all() else float("inf")
