"""What the atlas measures of a head in a text: the measures of `model.core.measures`, the fits of
`model.studies.patterns`, three detectors and a head's confidence. Each with the fixed histogram that its deciles come
from, and the cell that an example of it opens at."""
from dataclasses import dataclass
from functools import cache

import numpy as np

from model.core.measures import MEASURES
from model.core.query import Kind
from model.studies.corpus import FIT
from model.studies.patterns import PATTERNS


@dataclass(frozen=True)
class Bins:
    """A fixed histogram: `count` bins between `low` and `high`, even in x, or in log2(1 + x). What lies outside counts
    in the outermost bin."""

    low: float
    high: float
    count: int = 200
    scale: str = "linear"   # or "log2"

    @property
    def edges(self) -> np.ndarray:
        """The ends of the bins, float64 (count + 1)."""
        if self.scale == "linear":
            return np.linspace(self.low, self.high, self.count + 1)
        return np.exp2(np.linspace(np.log2(1 + self.low), np.log2(1 + self.high), self.count + 1)) - 1

    def of(self, values: np.ndarray) -> np.ndarray:
        """The bin of each value, int64, of the values' shape. A value on an edge belongs to the bin above it."""
        return np.clip(np.searchsorted(self.edges, values, "right") - 1, 0, self.count - 1)


SHARE = Bins(0, 1)
BITS = Bins(0, 20)                    # entropy: of a row of a million tokens
TOKENS = Bins(0, 2**20, scale="log2")


@dataclass(frozen=True)
class Number:
    """One number that a head has in a text."""

    name: str           # in the files' column `measure`
    group: str          # measure, fit or detector
    title: str          # for people
    equation: str       # LaTeX, for one query i with weights w_ij, or for the text
    unit: str           # of the number
    paper: str          # who defined it
    bins: Bins          # of its histogram
    cell: str           # which cell of a head's matrix an example opens at, one of CELLS
    crosses: bool       # whether it has a meaning when queries and keys are different texts


DETECTED = {"detect_previous": "previous", "detect_duplicate": "equal", "detect_induction": "after"}   # by pattern
CONFIDENCE, WIDEST, FARTHEST, SPECIAL, LARGEST = "confidence", "widest", "farthest", "special", "largest"
# a pattern's strongest cell; else the strongest on a special token, of all, by weight times distance; the widest row's
CELLS = (*(pattern.name for pattern in PATTERNS if pattern.name != "even"), SPECIAL, LARGEST, FARTHEST, WIDEST)
UNIFORM = "uniform_"                  # before a number's name: of rows with equal weight on each allowed key
SINK = "sink_"                        # before a position: the share that the token there receives
POSITIONS = (*range(16), -2, -1)      # of tokens, from the beginning and from the end


def _of_measures() -> list[Number]:
    bins = {"entropy": BITS, "distance": TOKENS}
    cells = {"entropy": WIDEST, "distance": FARTHEST}
    return [Number(each.name, "measure", each.title, each.equation, each.unit, each.paper,
                   bins.get(each.name, SHARE), cells.get(each.name, each.name), each.crosses) for each in MEASURES]


def _of_patterns() -> list[Number]:
    equation = r"1 - \frac{1}{n}\sum_i \mathrm{JSD}(w_i, p_i)"
    return [Number(FIT + each.name, "fit", f"fits: {each.title}", equation, "0 to 1", each.paper, SHARE,
                   WIDEST if each.name == "even" else each.name, each.valid_for_cross) for each in PATTERNS]


def _of_detectors() -> list[Number]:
    titles = {"detect_previous": "previous-token detector", "detect_duplicate": "duplicate-token detector",
              "detect_induction": "induction detector"}
    equation = r"\frac{\sum_{i,j} w_{ij} P_{ij}}{\sum_{i,j} w_{ij}}"
    return [Number(name, "detector", title, equation, "share of the text's weight",
                   "Nanda & Bloom, TransformerLens: head detector (mul)", SHARE, DETECTED[name], False)
            for name, title in titles.items()]


_CONFIDENCE = Number(CONFIDENCE, "detector", "puts much on one token", r"\max_j w_{ij}", "share of the row",
                     "Voita et al. 2019", SHARE, LARGEST, True)
NUMBERS = (*_of_measures(), *_of_patterns(), *_of_detectors(), _CONFIDENCE)


@cache
def numbers_of(kind: Kind) -> tuple[Number, ...]:
    """The numbers that have a meaning for this kind of attention."""
    return tuple(number for number in NUMBERS if number.crosses or kind.base is not Kind.CROSS)


def has_uniform(number: Number) -> bool:
    """Whether it is measured of even rows, too: a fit to a pattern and a confidence are not."""
    return number.group == "measure" or number.name in DETECTED


@cache
def rows_of(kind: Kind) -> tuple[str, ...]:
    """The names of everything that is averaged over texts: the numbers, those of even rows, the sinks by position."""
    known = numbers_of(kind)
    sinks = [f"{SINK}{position}" for position in POSITIONS]
    return (*(number.name for number in known), *(UNIFORM + number.name for number in known if has_uniform(number)),
            *sinks, *(UNIFORM + sink for sink in sinks))


HEAD = {"layer": "the model's number of the layer, from 0", "head": "the head's number in its layer, from 0"}
MEASURE = {"measure": "the name of a row of the table measures"}
HALVES = {"n_even": "n in even-numbered sentences of the files, counted from 0", "right_even": "right among these",
          "n_odd": "n in odd-numbered sentences", "right_odd": "right among these"}
COLUMNS = {
    "measures": {"measure": "its name in all tables", "group": "measure, fit (of a simple pattern) or detector",
                 "title": "what a head with a large number does", "equation": "LaTeX",
                 "unit": "of every number of this measure", "paper": "who defined it",
                 "low": "where its histogram begins", "high": "where its histogram ends",
                 "bins": "of its histogram", "scale": "of these bins: linear or log2"},
    "heads": HEAD | MEASURE | {
        "n": "texts that have this number", "mean": "over these texts", "sd": "standard deviation over these texts",
        "min": "the smallest", "max": "the largest",
        **{f"d{tenth}": f"decile {tenth}: the smallest value that {tenth} tenths of the texts do not exceed"
           for tenth in range(1, 10)},
        "error": "how far a decile may be off: half of its histogram's bin",
        "uniform": "the mean of rows that look at every allowed token alike; NaN where that has no meaning"},
    "histograms": HEAD | MEASURE | {"low": "where the bin begins", "high": "where it ends",
                                    "count": "texts in it; empty bins have no row"},
    "sinks": HEAD | {
        "position": "of the token that is looked at, from 0; -1 is the last, -2 the one before it",
        "n": "texts that have this position", "share": "of all rows' weight, the mean over these texts",
        "uniform": "the same of rows that look at every allowed token alike"},
    "examples": HEAD | MEASURE | {
        "sample": "strongest, or decile: of the texts with the smallest hashes, those in a tenth of the values",
        "decile": "1 to 10, 0 of the strongest",
        "rank": "from 0, by the value or, in a decile, by the hash of the text",
        "value": "of the measure in this text", "number": "of the text, as in the table texts",
        "query": "the token that looks, from 0; -1 where no cell stands for the number", "key": "the token looked at",
        "weight": "of this cell"},
    "texts": {"number": "of the text in the corpus, from 0", "hash": "of the text, 16 hexadecimal digits",
              "source": "the file", "line": "in which the text begins, from 1", "text": "as the model read it",
              "tokens": "those that look, a list", "keys": "those that are looked at, where they are others"},
    "syntax": {
        "relation": "of Universal Dependencies, without subtype",
        "looks": "the word that looks: the dependent at its head, or the head at its dependent", **HEAD,
        "n": "tests", "right": "of these, those in which the head looks most at the right word",
        "possible": "of these, those that the model's mask allows", **HALVES},
    "offsets": {"relation": "of Universal Dependencies, without subtype",
                "offset": "words from the dependent to the one that is guessed to be its head", "n": "tests",
                "right": "of these, those in which the guess is right"} | HALVES,
}
