"""What taking a token away does to an answer: an `ExplainedAnswer` is an open model with one question put to it.

This is what both kinds of models share; model/scratch/attribution.py and model/pretrained/attribution.py each have
their own `forward`, `forward_hidden`, `embedding_table` and `output_projection`. torch is imported where it computes.
"""
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from model.core.finite import check_finite
from model.core.query import Query, UserError
from model.core.record import Tokens
from model.core.threads import for_this_thread
from model.core.types import KindHeadId, Progress
from model.studies.predictions import pronoun_of

if TYPE_CHECKING:
    from torch import Tensor, nn

# decimals of an effect in nats and of a cosine: what is smaller is the rounding of float32
DIGITS = {"word": 5, "vector": 6}
CELLS = 1024   # tokens of all variants in one pass: what logits of a large vocabulary may take
FEWEST = 3     # tokens, one of which answers
TOO_FEW = ("There are too few tokens before the word that is asked for to compare any; choose a later word, or a "
           "longer text.")


@dataclass(frozen=True)
class Answer:
    """The one number that is explained."""

    kind: str      # how the model answers: next, mask, label, target or vector
    word: str      # as the model's vocabulary writes it; empty for a vector
    rival: str     # the same of the word that is subtracted; empty where there is none
    value: float   # nats, or a cosine
    rank: int      # of the word among all words, from 1; 0 for a vector
    neutral: str   # the token that replaces another one

    def __post_init__(self) -> None:
        check_finite("in its answer", self.value)


class ExplainedAnswer:
    """An open model with one question put to it. Raises UserError for fewer than FEWEST tokens."""

    answer: Answer

    def __init__(self, query: Query, tokens: Tokens, tensors: "dict[str, Tensor]", place: int | None,
                 neutral: int) -> None:
        if len(tokens) < FEWEST:
            raise UserError(TOO_FEW)
        self.query, self.tokens = query, tokens   # tokens: those that can be taken away
        self.tensors = tensors                    # the arguments of a forward pass, each (1, token)
        self.place = place                        # the token whose output answers; None for a vector of all tokens, and
        #                                           where a token of the other side answers
        self.neutral = neutral                    # the id that replaces a token
        # how much each row of attention counts for the answer, (query)
        self.rows = np.full(len(tokens), 1 / len(tokens)) if place is None else np.eye(len(tokens))[place]
        self.ids: tuple[int, ...] = ()            # of the word, and of the rival where there is one
        self.other: Any = None                    # the sentence vector (1, d) that the answer is a cosine with

    def forward(self, tensors: "dict[str, Tensor]", place: int | None) -> "Tensor":
        """Logits (variant, vocabulary) at the place, or sentence vectors (variant, d)."""
        raise NotImplementedError

    def forward_hidden(self, token: int) -> "Tensor":
        """The same for the text with one token hidden as key. Raises UserError where a row would be empty."""
        raise NotImplementedError

    @property
    def embedding_table(self) -> "nn.Module":
        """The module of input embeddings."""
        raise NotImplementedError

    def output_projection(self, head: KindHeadId, output: np.ndarray) -> "nn.Module":
        """The module of W_O in this head's layer; output: its weights as the trace has them."""
        raise NotImplementedError

    def value(self, outputs: "Tensor") -> "Tensor":
        """The answer of each output (variant, width), (variant): ln P(word) − ln P(rival), or the cosine with the other
        vector."""
        if self.other is not None:
            from torch.nn.functional import cosine_similarity

            return cosine_similarity(outputs.double(), self.other.double())
        chances = outputs.double().log_softmax(-1)
        return chances[:, self.ids[0]] - (chances[:, self.ids[1]] if len(self.ids) > 1 else 0)

    def removal_effects(self, report: Callable[[float], None]) -> dict[str, np.ndarray]:
        """{definition: the answer as it is − the answer without each token}, float64 (token); NaN where a token cannot
        be taken away, such as the one that answers."""
        import torch

        count, effects = len(self.tokens), {}
        free = [token for token in range(count) if token != self.place]
        with torch.inference_mode():
            here = float(self.value(self.forward(self.tensors, self.place))[0])
            effects["deleted"] = self._effects(here, free, self._deleted, lambda share: report(share / 4))
            effects["replaced"] = self._effects(here, free, self._replaced, lambda share: report(0.25 + share / 4))
            effects["hidden"] = np.full(count, np.nan)
            for done, token in enumerate(free):
                report(0.5 + done / (2 * count))
                effects["hidden"][token] = here - self._without_key(token)
        digits = DIGITS["word" if self.other is None else "vector"]
        return {name: np.round(effect, digits) for name, effect in effects.items()}

    def _without_key(self, token: int) -> float:
        try:
            return float(self.value(self.forward_hidden(token))[0])
        except UserError:   # a row with nothing left to look at: the first token of a decoder
            return float("nan")

    def _effects(self, here: float, free: list[int], variants: Callable, report: Callable[[float], None]) -> np.ndarray:
        """The effect of each variant, (token). A pass takes CELLS tokens of variants of one length and one place."""
        effects, size = np.full(len(self.tokens), np.nan), max(1, CELLS // len(self.tokens))
        before = [token for token in free if self.place is not None and token < self.place]
        for group in (before, [token for token in free if token not in before]):
            for start in range(0, len(group), size):
                some = group[start:start + size]
                report(float(np.isfinite(effects).mean()))
                tensors, place = variants(some)
                effects[some] = here - self.value(self.forward(tensors, place)).numpy()
        return effects

    def _deleted(self, tokens: list[int]) -> "tuple[dict[str, Tensor], int | None]":
        """A variant without each of these tokens, and the place in it. All stand on one side of the place, which moves
        by one if they stand before it."""
        import torch

        remaining = [[other for other in range(len(self.tokens)) if other != token] for token in tokens]
        place = self.place if self.place is None or tokens[0] > self.place else self.place - 1
        return {name: torch.cat([each[:, keep] for keep in remaining]) for name, each in self.tensors.items()}, place

    def _replaced(self, tokens: list[int]) -> "tuple[dict[str, Tensor], int | None]":
        tensors = {name: tensor.repeat(len(tokens), 1) for name, tensor in self.tensors.items()}
        for row, token in enumerate(tokens):
            tensors["input_ids"][row, token] = self.neutral
        return tensors, self.place

    def gradient(self) -> np.ndarray:
        """Gradient × input, signed, float64 (token): the answer's gradient at each token's row of the table, times that
        row (Denil et al. 2014)."""
        import torch

        leaves = []

        def watch(module: "nn.Module", arguments: tuple, output: "Tensor") -> "Tensor":
            leaves.append(output.detach().requires_grad_())
            return leaves[-1]

        with torch.enable_grad(), _hooked(self.embedding_table.register_forward_hook(for_this_thread(watch))):
            value = self.value(self.forward(self.tensors, self.place))[0]
        slope, = torch.autograd.grad(value, leaves[0])
        return (slope * leaves[0]).sum(-1)[0].detach().double().numpy()

    def with_head_values(self, head: KindHeadId, output: np.ndarray, mixes: np.ndarray,
                         report: Progress) -> tuple[np.ndarray, np.ndarray]:
        """(distances of the output from what it is, changes of the answer), float64 (variant), when the head's mixed
        values are `mixes` (variant, token, d_v). output: W_O of the layer by head (head, d_v, d_model)."""
        import torch

        size, width = max(1, CELLS // len(self.tokens)), mixes.shape[-1]
        parts, module = slice(head[2] * width, (head[2] + 1) * width), self.output_projection(head, output)
        with torch.inference_mode():
            outputs = [self.forward(self.tensors, self.place)]
            for start in range(0, len(mixes), size):
                report(start / len(mixes), f"other weights: {start} of {len(mixes)}")
                some = torch.tensor(mixes[start:start + size], dtype=torch.float32)
                exchange = for_this_thread(_exchange(parts, some))
                with _hooked(module.register_forward_pre_hook(exchange)):
                    outputs.append(self.forward({name: tensor.repeat(len(some), 1)
                                                 for name, tensor in self.tensors.items()}, self.place))
            plain, others = outputs[0], torch.cat(outputs[1:])
            return self._distances(plain, others), (self.value(others) - self.value(plain)).numpy()

    def _distances(self, plain: "Tensor", others: "Tensor") -> np.ndarray:
        """1 − cosine of sentence vectors, or total variation of probabilities, (variant)."""
        if self.other is not None:
            from torch.nn.functional import cosine_similarity

            return (1 - cosine_similarity(others.double(), plain.double())).numpy()
        return ((others.double().softmax(-1) - plain.double().softmax(-1)).abs().sum(-1) / 2).numpy()


def _exchange(parts: slice, mixes: "Tensor") -> "Callable[[nn.Module, tuple[Tensor]], Tensor]":
    """A hook that puts the mixed values of one head (variant, token, d_v) in front of W_O."""
    def before_output(module: "nn.Module", inputs: "tuple[Tensor]") -> "Tensor":
        changed = inputs[0].clone().view(len(mixes), mixes.shape[1], -1)
        changed[..., parts] = mixes
        return changed.view(inputs[0].shape)
    return before_output


@contextmanager
def _hooked(*hooks: Any) -> Iterator[None]:
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def answer_of(explained: ExplainedAnswer, kind: str, words: Callable[[int], str]) -> Answer:
    """The answer, once its ids are known. words(id): a token of the vocabulary as text."""
    import torch

    with torch.inference_mode():
        outputs = explained.forward(explained.tensors, explained.place)
        value = float(explained.value(outputs)[0])
    if kind == "vector":
        return Answer(kind, "", "", value, 0, words(explained.neutral))
    names = [*map(words, explained.ids), ""]
    rank = int((outputs[0] > outputs[0, explained.ids[0]]).sum()) + 1
    return Answer(kind, names[0], names[1], value, rank, words(explained.neutral))


def first_tokens(tokens: Tokens, count: int) -> Tokens:
    """The first `count` tokens: what a decoder has read. Raises UserError for fewer than FEWEST."""
    if count < FEWEST:
        raise UserError(TOO_FEW)
    return Tokens(**{name: getattr(tokens, name)[:count] for name in tokens.__dataclass_fields__})


def last_word(tokens: Tokens, text: str) -> int:
    """The character where the last word of the (first) text begins; the text's length where no full stop or the like
    ends it, so that the next word is asked."""
    if not text.rstrip().endswith((".", "!", "?", "…", "。", "！", "？")):
        return len(text)
    words = [start for (start, end), special, segment in zip(tokens.spans, tokens.special, tokens.segments, strict=True)
             if not special and segment == 0 and text[start:end].strip()[:1].isalnum()]
    return words[-1] if words else len(text)


def target_word(tokens: Tokens) -> int:
    """The token of a target that is asked for unless one is named: the last il or elle, or else the last word."""
    pronoun = pronoun_of(tokens)
    if pronoun is not None:
        return pronoun
    return max(token for token, special in enumerate(tokens.special) if not special or token < 2)
