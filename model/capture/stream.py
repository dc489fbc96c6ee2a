"""Follow the residual stream through a block: measure what each attention layer and each other module adds to it.

Most models add an attention layer's output as it is; others scale it by a number (Granite) or per channel (LayerScale,
Touvron et al. 2021), normalise it first (Gemma 2), scale the stream as well (DeepNorm), or add attention and
feed-forward layer at once (GPT-J). No family is known by name: a vector that is read later must equal the stream plus a
multiple of the layer's output, within rounding.
"""
import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from clearhead.model.core.query import with_arrays
from clearhead.model.core.traces import AttentionOutput, Norm, Step, closeness, rounding, same_numbers

ROUNDING = 1e-6   # error of float32 sums, relative to each number
SAMPLE = 8        # tokens on which factors are measured
MOST_STEPS = 6    # of one block


class Vectors(NamedTuple):
    """Vectors in the pass, (t, d_model), and when they were computed or read, as a position among all calls."""

    order: int
    numbers: np.ndarray


@with_arrays
class Passage:
    """Everything that is computed and read in a block, to find its steps."""

    before: np.ndarray                      # (t, d_model), the stream entering the block
    after: np.ndarray                       # (t, d_model)
    attentions: tuple[AttentionOutput, ...]
    orders: tuple[int, ...]                 # of the attentions' outputs
    norms: tuple[Norm, ...]
    read: tuple[Vectors, ...]               # inputs of modules, in the order of the pass; the last one is `after`
    made: tuple[Vectors, ...]               # outputs of modules other than attention, the last one first
    each: bool = False                      # whether factors may differ between channels
    scaled: bool = False                    # whether the stream may have a factor, too
    remainder: bool = False                 # whether all that no module's output explains may be the last step

    def steps(self) -> tuple[Step, ...] | None:
        """Return the steps from `before` to `after`, or None if it is unclear what an attention layer adds. If only the
        part after the last attention layer is unclear, all other modules together wrote it."""
        if any(attention.output.shape != self.before.shape for attention in self.attentions):
            return None   # there are several streams (hyper-connections)
        for remainder, each, scaled in itertools.product((False, True), repeat=3):
            search = replace(self, each=each, scaled=scaled, remainder=remainder)
            if (found := search.follow(self.before, 0, MOST_STEPS)) is not None:
                return found
        return None

    def follow(self, stream: np.ndarray, done: int, most: int) -> tuple[Step, ...] | None:
        """Return at most `most` steps from this stream to the block's end, or None. done: number of attention layers
        before."""
        last = done == len(self.attentions)
        if last and same_numbers(stream, self.after):
            return ()
        if last and self.remainder and not any(same_numbers(norm.output, self.after) for norm in self.norms):
            return (Step(wrote=self.after - stream),)
        norms = [norm for norm in self.norms if same_numbers(norm.input, stream)] if most else []
        for step, total in itertools.chain(self.sums(stream, norms, done) if most else (),
                                           ((Step(norm=norm), norm.output) for norm in norms)):
            found = self.follow(total, done + (step.attention is not None), most - 1)
            if found is not None:
                return step, *found
        return None

    def sums(self, stream: np.ndarray, norms: list[Norm], done: int) -> Iterator[tuple[Step, np.ndarray]]:
        """Yield each later vector that is the stream plus the next attention layer's output, another module's, or both,
        with the step to it."""
        # modules that return the stream or its norm add nothing
        made = [each for each in self.made
                if not any(same_numbers(each.numbers, own) for own in (stream, *(norm.output for norm in norms)))]
        attended: list[tuple[Norm | None, Vectors | None]] = []
        if done < len(self.attentions):
            output = self.attentions[done].output
            attended = [(None, Vectors(self.orders[done], output)), *(
                (norm, Vectors(self.orders[done], norm.output)) for norm in self.norms
                if same_numbers(norm.input, output))]
        for target, (inner, attention), other in itertools.product(self.read, (*attended, (None, None)), (None, *made)):
            terms = [each for each in (attention, other) if each is not None]
            if terms and all(each.order < target.order for each in terms):
                factors = self.fit(target.numbers, stream, *(each.numbers for each in terms))
                no_parts = [stream] if attention is None else []   # a sum is not one of its own parts
                no_parts += [] if other is None else [other.numbers]
                if factors is not None and not any(same_numbers(each, target.numbers) for each in no_parts):
                    yield Step(None if np.abs(factors[0] - 1).max() < closeness() else factors[0],
                               None if attention is None else done, None if attention is None else factors[1], inner,
                               None if other is None else (factors[-1] * other.numbers).astype(np.float32)
                               ), target.numbers

    def fit(self, target: np.ndarray, *parts: np.ndarray) -> np.ndarray | None:
        """Return the factors (part, 1, d_model or 1) with which the stream and other parts (t, d_model) add up to the
        target, or None. The factor of a part that is smaller than rounding errors cannot be measured and is 1."""
        tokens = np.unique(np.linspace(0, len(target) - 1, SAMPLE).astype(int))
        free, channels = 1 - self.scaled, "d" if self.each else ""
        if self.each and len(tokens) < len(parts) + 2:
            return None
        known = np.stack([part[tokens] for part in parts]).astype(np.float64)
        gain = target[tokens] - known[:free].sum(0)
        squares = np.einsum(f"atd,btd->{channels}ab", known[free:], known[free:])   # least squares
        products = np.einsum(f"atd,td->{channels}a", known[free:], gain)
        found = np.linalg.pinv(squares, hermitian=True) @ products[..., None]
        factors = found.reshape(-1, len(parts) - free).T[:, None]
        factors = np.concatenate([np.ones((free, *factors.shape[1:])), factors])
        for some in (tokens, slice(None)):
            added = np.stack([factor * part[some] for factor, part in zip(factors, parts, strict=True)])
            gain = np.abs(target[some] - added[0])
            slack = closeness() / 4 * gain.max() + max(ROUNDING, rounding.get()) * np.abs(target[some])
            if (np.abs(target[some] - added.sum(0)) > slack).any():
                return None
        small, gone = ((np.abs(each) <= slack).all((1, 2)) for each in (np.stack(parts), added))
        return None if (small != gone).any() else np.where(small[:, None, None], 1, factors)
