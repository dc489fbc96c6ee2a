"""Follow the residual stream through a block: measure what each attention layer and each other module adds to it.

Most models add an attention layer's output as it is; others scale it by a number (Granite) or per channel (LayerScale,
Touvron et al. 2021), normalise it first (Gemma 2), scale the stream as well (DeepNorm), or add attention and
feed-forward layer at once (GPT-J). No family is known by name: a vector that is read later must equal the stream plus a
multiple of the layer's output, within rounding.
"""
import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from model.core.models import CLOSE, AttentionTrace, Norm, Step, same_numbers
from model.core.query import with_arrays

ROUNDING = 1e-6   # error of float32 sums, relative to each number
SAMPLE = 8        # tokens on which a fit is tried before all tokens
MOST_STEPS = 6    # of one block
ONE, ANY = ("",), ("", "t", "d")   # kinds of factors: one number, one per token, one per channel


class Vectors(NamedTuple):
    """Vectors in the pass, (t, d_model), and when they were computed or read, as a position among all calls."""

    order: int
    numbers: np.ndarray


@with_arrays
class Passage:
    """Everything that is computed and read in a block, to find its steps."""

    before: np.ndarray                      # (t, d_model), the stream entering the block
    after: np.ndarray                       # (t, d_model)
    attentions: tuple[AttentionTrace, ...]
    orders: tuple[int, ...]                 # of the attentions' outputs
    norms: tuple[Norm, ...]
    read: tuple[Vectors, ...]               # inputs of modules, in the order of the pass; the last one is `after`
    made: tuple[Vectors, ...]               # outputs of modules other than attention, the last one first

    def steps(self) -> tuple[Step, ...] | None:
        """Return the steps from `before` to `after`, or None if it is unclear what an attention layer adds. If only the
        part after the last attention layer is unclear, all other modules together wrote it."""
        for ways, kept, remainder in ((ONE, False, False), (ANY, False, False), (ONE, True, False), (ANY, False, True)):
            found = _Search(self, ways, kept, remainder).follow(self.before, 0, MOST_STEPS)
            if found is not None:
                return found
        return None


class _Search(NamedTuple):
    block: Passage
    ways: tuple[str, ...]   # kinds of factors to try
    kept: bool              # whether the stream may be scaled, too
    remainder: bool         # whether the last step may be what no module's output explains

    def follow(self, stream: np.ndarray, done: int, most: int, normed: bool = False) -> tuple[Step, ...] | None:
        """Return at most `most` steps from this stream to the block's end, or None. done: number of attention layers
        before. normed: whether the last step was a norm."""
        block, last = self.block, done == len(self.block.attentions)
        if last and same_numbers(stream, block.after):
            return ()
        if not most:
            return None
        norms = [] if normed else [each for each in block.norms if same_numbers(each.input, stream)]
        if not (last and self.remainder):
            for step, total in self.sums(stream, done):
                found = self.follow(total, done + (step.attention is not None), most - 1)
                if found is not None:
                    return step, *found
        elif (final := next((each for each in block.norms if same_numbers(each.output, block.after)), None)) is None:
            return (Step(wrote=block.after - stream),)
        elif not norms:
            return (Step(wrote=final.input - stream, norm=final),)
        for norm in norms:
            found = self.follow(norm.output, done, most - 1, normed=True)
            if found is not None:
                return Step(norm=norm), *found
        return None

    def sums(self, stream: np.ndarray, done: int) -> Iterator[tuple[Step, np.ndarray]]:
        """Yield each later vector that is the stream plus the next attention layer's output, another module's, or both,
        with the step to it."""
        block, attended = self.block, []
        if done < len(block.attentions):
            output = block.attentions[done].output
            # norms first: one without a gain could also be taken for a factor per token, which a change would not alter
            attended = [*((norm, norm.output) for norm in block.norms if same_numbers(norm.input, output)),
                        (None, output)]
        known = [output for _, output in attended]
        known += [norm.output for norm in block.norms if same_numbers(norm.input, stream)]
        others = [each for each in block.made if not any(same_numbers(each.numbers, other) for other in known)]
        pairs = [*itertools.product(attended, (None, *others)), *itertools.product([(None, None)], others)]
        for target, ((inner, output), other) in itertools.product(block.read, pairs):
            if (output is not None and block.orders[done] >= target.order) or (other and other.order >= target.order):
                continue
            factors = self.fit(target.numbers, stream, [each for each in (output, other and other.numbers)
                                                        if each is not None])
            # the sum itself is no part of it, and a part is no sum
            if factors is None or any(same_numbers(each, target.numbers) for each in (
                    *known, *([other.numbers] if other else []), *([stream] if output is None else []))):
                continue
            yield Step(factors[0] if self.kept else None, None if output is None else done,
                       None if output is None else factors[1], inner,
                       None if other is None else (factors[-1] * other.numbers).astype(np.float32)), target.numbers

    def fit(self, target: np.ndarray, stream: np.ndarray, terms: list[np.ndarray]) -> list[np.ndarray] | None:
        """Return factors for the stream and for each term (t, d_model) with which their sum is the target, or None. The
        factor of a term that is smaller than rounding errors cannot be measured and is 1."""
        tokens = np.unique(np.linspace(0, len(target) - 1, SAMPLE).astype(int))
        for way in self.ways:
            if (way == "t" and len(terms) > 1) or (way == "d" and len(tokens) < len(terms) + 2):
                continue   # anything fits
            for some in (tokens, slice(None)):
                parts = np.stack([each[some] for each in (stream, *terms)]).astype(np.float64)
                if self.kept:
                    factors = _least_squares(target[some].astype(np.float64), parts, way)
                else:
                    factors = _least_squares(target[some] - parts[0], parts[1:], way)
                    factors = np.concatenate([np.ones_like(factors[:1]), factors])
                gain, added = target[some] - factors[0] * parts[0], factors * parts
                slack = CLOSE / 4 * np.abs(gain).max() + ROUNDING * np.abs(target[some])
                if (np.abs(gain - added[1:].sum(0)) > slack).any():
                    break
            else:
                seen, left = ([bool((np.abs(each) > slack).any()) for each in some] for some in (parts[1:], added))
                if left[0] and all(np.less_equal(seen, left[1:])):
                    return [factors[0], *(factor if own else np.ones((1, 1))
                                          for own, factor in zip(seen, factors[1:], strict=True))]
        return None


def _least_squares(gain: np.ndarray, parts: np.ndarray, way: str) -> np.ndarray:
    """Return the factors (part, t or 1, d_model or 1) of the parts (part, t, d_model) whose sum is closest to the
    gain."""
    products = np.einsum(f"atd,btd->{way}ab", parts, parts)
    found = np.linalg.pinv(products, hermitian=True) @ np.einsum(f"atd,td->{way}a", parts, gain)[..., None]
    return found.reshape(-1, len(parts)).T.reshape(len(parts), *{"": (1, 1), "t": (-1, 1), "d": (1, -1)}[way])
