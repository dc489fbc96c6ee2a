"""Measure how removing tokens changes a model's answer. torch is only imported in the functions that need it."""
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.core.models import ModelInput, OpenModel
from clearhead.model.core.query import Edit, Hide, KindHeadId, Progress, Query, UserError, batches, check_finite, frozen
from clearhead.model.core.tokens import Tokens
from clearhead.model.core.torch_runs import for_this_thread
from clearhead.model.studies.contributions import token_id
from clearhead.model.studies.predictions import pronoun_of

if TYPE_CHECKING:
    from torch import Tensor, nn

# decimals of effects in nats and in cosines; further digits are float32 rounding errors
DIGITS = {"word": 5, "vector": 6}
CELLS = 1024   # maximum number of tokens per pass, which bounds the memory for logits
FEWEST = 3     # minimum number of tokens, including the one that produces the answer


@frozen
class Answer:
    """The number that is explained."""

    kind: str      # how the model answers: "next", "mask", "label", "target" or "vector"
    word: str      # the word in the vocabulary's spelling; "" for a vector
    rival: str     # the word whose log-probability is subtracted, or ""
    value: float   # the number, in nats or a cosine
    rank: int      # the word's rank among all words, from 1; 0 for a vector
    neutral: str   # the token that replaces removed tokens

    def __post_init__(self) -> None:
        check_finite("in its answer", self.value)


Place = int | list[int] | None   # position of the answer, in all variants or in each; None for a mean vector


class ExplainedAnswer:
    """An open model with an answer to explain: a decoder's next word, a masked-word model's word at a mask, a
    resolver's noun at "it", a sentence vector, or an encoder–decoder's target word. Raises UserError for fewer than
    FEWEST tokens."""

    answer: Answer

    def __init__(self, opened: OpenModel, query: Query, asked: ModelInput, place: int | None,
                 target: "Tensor | None" = None) -> None:
        if len(asked.source) < FEWEST:
            raise UserError("There are too few tokens before the chosen word to compare; choose a later word, or a "
                            "longer text.")
        self.opened, self.query = opened, query
        self.tokens, self.tensors = asked.source, asked.tensors   # removable tokens; arguments of the network
        self.place = place    # position of the answer; None for a mean vector and for an encoder–decoder
        self.target = target  # an encoder–decoder's target ids (1, token) up to the word
        self.neutral = opened.vocabulary.neutral   # id of the replacement token
        self.together = max(1, CELLS // len(self.tokens))   # number of variants that share a pass
        # how much each attention row contributes to the answer, (query)
        count = len(self.tokens)
        if target is not None:
            self.rows = np.eye(target.shape[1])[-1]
        elif place is None and opened.vector_of == "mean":
            self.rows = np.full(count, 1 / count)
        else:
            self.rows = np.eye(count)[place or 0]
        self.ids: tuple[int, ...] = ()            # id of the word, followed by the rival's if there is one
        self.other: Tensor | None = None          # sentence vector (1, d) to compare with

    def _with_target(self, tensors: "dict[str, Tensor]") -> "dict[str, Tensor]":
        if self.target is None:
            return tensors
        return {**tensors, "decoder_input_ids": self.target.expand(len(tensors["input_ids"]), -1)}

    def _answers(self, outputs: "Tensor", place: Place) -> "Tensor":
        """Select the logits (variant, vocabulary) at a position, of a decoder at the last one, or return the sentence
        vectors (variant, d)."""
        if self.opened.task == "vector":
            return outputs
        return outputs[range(len(outputs)), -1 if self.opened.task in ("next", "target") else place]

    def _run(self, edits: frozenset[Edit] = frozenset(),
             rows: "list[dict[KindHeadId, Tensor]] | None" = None) -> "Tensor":
        """Run a captured pass and return what `_answers` selects."""
        asked = ModelInput(self.tokens, None, self._with_target(self.tensors), None, ())
        return self._answers(self.opened.run(asked, edits, rows=rows).outputs(), self.place)

    def forward(self, tensors: "dict[str, Tensor]", place: Place) -> "Tensor":
        """Run a plain pass and return the logits (variant, vocabulary) at a position, which may be another one in each
        variant, or sentence vectors (variant, d)."""
        return self._answers(self.opened.forward(self._with_target(tensors)), place)

    @cached_property
    def plain(self) -> "Tensor":
        """The outputs of the model without a change: logits (1, vocabulary), or the sentence vector (1, d)."""
        import torch

        with torch.inference_mode():
            return self.forward(self.tensors, self.place)

    def value(self, outputs: "Tensor") -> "Tensor":
        """Compute the answer (variant) from outputs (variant, width): ln P(word) − ln P(rival), or the cosine with the
        other sentence vector."""
        if self.other is not None:
            from torch.nn.functional import cosine_similarity

            return cosine_similarity(outputs.double(), self.other.double())
        chances = outputs.double().log_softmax(-1)
        return chances[:, self.ids[0]] - (chances[:, self.ids[1]] if len(self.ids) > 1 else 0)

    def removal_effects(self, report: Callable[[float], None]) -> dict[str, np.ndarray]:
        """Return {removal: answer − answer without each token}, float64 (token); NaN for tokens that cannot be removed,
        such as the one that produces the answer."""
        import torch

        count, effects = len(self.tokens), {}
        free = [token for token in range(count) if token != self.place]
        with torch.inference_mode():
            here = self.answer.value
            effects["deleted"] = self._effects(here, free, self._deleted, lambda share: report(share / 4))
            effects["replaced"] = self._effects(here, free, self._replaced, lambda share: report(0.25 + share / 4))
            effects["hidden"] = np.full(count, np.nan)
            for done, token in enumerate(free):
                report(0.5 + done / (2 * count))
                with suppress(UserError):   # a query would have no key left, as for the first token of a decoder
                    outputs = self._run(frozenset([Hide("source", token)]))
                    effects["hidden"][token] = here - float(self.value(outputs)[0])
        digits = DIGITS["word" if self.other is None else "vector"]
        return {name: np.round(effect, digits) for name, effect in effects.items()}

    def _effects(self, here: float, free: list[int], variants: Callable, report: Callable[[float], None]) -> np.ndarray:
        """Return the effect of each variant, (token)."""
        effects = np.full(len(self.tokens), np.nan)
        for some in batches(free, self.together, lambda share, _: report(share), ""):
            effects[some] = here - self.value(self.forward(*variants(some))).numpy()
        return effects

    def _deleted(self, tokens: list[int]) -> "tuple[dict[str, Tensor], Place]":
        """Return one variant per token with that token deleted, and the positions of the answer, one less if the token
        precedes it."""
        import torch

        remaining = [[other for other in range(len(self.tokens)) if other != token] for token in tokens]
        place = None if self.place is None else [self.place - (token < self.place) for token in tokens]
        return {name: torch.cat([each[:, keep] for keep in remaining]) for name, each in self.tensors.items()}, place

    def _replaced(self, tokens: list[int]) -> "tuple[dict[str, Tensor], Place]":
        tensors = {name: tensor.repeat(len(tokens), 1) for name, tensor in self.tensors.items()}
        tensors["input_ids"][range(len(tokens)), tokens] = self.neutral
        return tensors, self.place

    def gradient(self) -> np.ndarray:
        """Compute signed gradient × input, float64 (token): the scalar product of each token's embedding and the
        answer's gradient with respect to it (Denil et al. 2014)."""
        import torch

        leaves = []

        def watch(module: "nn.Module", arguments: tuple, output: "Tensor") -> "Tensor":
            leaves.append(output.detach().requires_grad_())
            return leaves[-1]

        network = self.opened.network if self.target is None else self.opened.network.get_encoder()
        with (torch.enable_grad(),
              network.get_input_embeddings().register_forward_hook(for_this_thread(watch))):
            value = self.value(self.forward(self.tensors, self.place))[0]
        slope, = torch.autograd.grad(value, leaves[0])
        return (slope * leaves[0]).sum(-1)[0].detach().double().numpy()

    def with_head_values(self, head: KindHeadId, mixes: np.ndarray, report: Progress) -> np.ndarray:
        """Replace a head's output by `mixes` (variant, token, d_v) and return the distance between the model's old and
        new output, float64 (variant): 1 − cosine of sentence vectors, or the total variation distance of
        probabilities."""
        import torch

        changed = [{head: mix} for mix in torch.tensor(mixes, dtype=torch.float32)]
        others = [self._run(rows=rows) for rows in batches(changed, self.together, report, "other weights")]
        after, plain = torch.cat(others).double(), self.plain.double()
        if self.other is not None:
            return (1 - torch.nn.functional.cosine_similarity(after, plain)).numpy()
        return ((after.softmax(-1) - plain.softmax(-1)).abs().sum(-1) / 2).numpy()


def explained_answer(opened: OpenModel, query: Query, at: int | None, words: tuple[str, str, str],
                     longest: int) -> ExplainedAnswer:
    """Prepare the answer to explain for a text of at most `longest` tokens. words: the word, its rival and the other
    sentence, each "" if not given. Raises UserError for a model without an answer to explain."""
    title = opened.card.title
    if not opened.kinds:
        raise UserError(f"{title} only reports its weights and cannot be edited, so there is nothing to compare with "
                        f"it; choose a verified model.")
    if query.edits:
        raise UserError("Only the answer of a pass without edits can be explained; remove the edits.")
    asked = opened.tokens(query)
    if asked.picture is not None and "input_ids" in asked.tensors:
        raise UserError("The answer to a text with a picture cannot be explained by removing tokens; leave the picture "
                        "out, or hide a part of it on the page Heads.")
    if "input_ids" not in asked.tensors or opened.task == "none" or (opened.task == "label" and not opened.ours):
        raise UserError(f"{title} has no answer to a text to explain, neither a word nor a sentence vector; choose "
                        f"MiniLM, SmolLM2 or BERT.")
    if len(asked.source) > longest:
        raise UserError(f"Each token is removed three times, so at most {longest} tokens are allowed, but "
                        f"this text has {len(asked.source)}; shorten it.")
    word, rival, other = words
    explained, original = _PUT[opened.task](opened, query, asked, at)
    if opened.task == "vector":
        _compare(explained, other)
    else:
        explained.ids = _ids(explained, original, word, rival)
    explained.answer = _answer_of(explained)
    return explained


Put = tuple[ExplainedAnswer, int | None]   # the int is the id of the word in the text, if there is one


def _next(opened: OpenModel, query: Query, asked: ModelInput, at: int | None) -> Put:
    """Prepare a decoder with the text up to the word, because it does not see the rest."""
    tokens = asked.source
    wanted = _token_at(tokens, last_word(tokens, query.text) if at is None else at)
    last = max(token for token, segment in enumerate(tokens.segments) if segment >= 0)
    place = last if wanted is None else max(wanted - 1, 0)
    source = Tokens(**{name: getattr(tokens, name)[:place + 1] for name in tokens.__dataclass_fields__})
    first = replace(asked, source=source,
                    tensors={name: tensor[:, :place + 1] for name, tensor in asked.tensors.items()})
    return ExplainedAnswer(opened, query, first, place), None if wanted is None else tokens.ids[wanted]


def _mask(opened: OpenModel, query: Query, asked: ModelInput, at: int | None) -> Put:
    """Prepare a masked-word model with the first mask in the text, or with the word masked."""
    mask, original = opened.tokenizer.mask_token_id, None
    if mask not in asked.source.ids:
        tokens = asked.source
        wanted = _token_at(tokens, min(last_word(tokens, query.text), len(query.text) - 1) if at is None else at)
        if wanted is None:
            raise UserError("There is no word at that position of the text; choose one.")
        (start, end), original = tokens.spans[wanted], tokens.ids[wanted]
        query = replace(query, text=query.text[:start] + opened.tokenizer.mask_token + query.text[end:])
        asked = opened.tokens(query)
    if mask not in asked.source.ids:
        raise UserError(f"{opened.card.title} cannot mask this word; choose another.")
    return ExplainedAnswer(opened, query, asked, asked.source.ids.index(mask)), original


def _label(opened: OpenModel, query: Query, asked: ModelInput, at: int | None) -> Put:
    """Prepare a resolver at the first "it" from the character `at` on, by default at the last one."""
    places = [place for place, text in enumerate(asked.source.texts) if text.lower() == "it"]
    if not places:
        raise UserError('There is no "it" in this text, so there is nothing to resolve; type a sentence of the '
                        'model\'s words with "it".')
    chosen = [place for place in places if at is None or asked.source.spans[place][1] > at] or places
    return ExplainedAnswer(opened, query, asked, chosen[-1 if at is None else 0]), None


def _target(opened: OpenModel, query: Query, asked: ModelInput, at: int | None) -> Put:
    """Prepare an encoder–decoder with the source and the target up to the word. The target is generated once and then
    kept."""
    assert asked.target is not None
    wanted = min(max(1, target_word(asked.target) if at is None else at), len(asked.target))
    tensors = {name: tensor for name, tensor in asked.tensors.items() if not name.startswith("decoder")}
    explained = ExplainedAnswer(opened, query, replace(asked, tensors=tensors), None,
                                asked.tensors["decoder_input_ids"][:, :wanted])
    return explained, asked.target.ids[wanted] if wanted < len(asked.target) else None


def _vector(opened: OpenModel, query: Query, asked: ModelInput, _at: int | None) -> Put:
    return ExplainedAnswer(opened, query, asked, None), None


_PUT = {"next": _next, "mask": _mask, "label": _label, "target": _target, "vector": _vector}


def _compare(explained: ExplainedAnswer, other: str) -> None:
    """Store the vector of the other sentence."""
    import torch

    if not other.strip():
        raise UserError("There is no second sentence to compare the vector with; type one.")
    asked = explained.opened.tokens(replace(explained.query, text=other, text_b=None))
    with torch.inference_mode():
        vector = explained.forward(asked.tensors, None).clone()
    explained.other = torch.tensor(vector.numpy())   # copied, because inference tensors do not support gradients


def _ids(explained: ExplainedAnswer, original: int | None, word: str, rival: str) -> tuple[int, ...]:
    """Return the ids of the word and its rival. The default word is the one in the text, or else the most probable one.
    The default rival is the most probable other word for our own models, and none for others."""
    best, count = explained.plain[0].topk(2).indices.tolist(), len(explained.plain[0])
    first = token_id(explained.opened, word, count) if word.strip() else best[0] if original is None else original
    if rival.strip():
        return first, token_id(explained.opened, rival, count)
    return (first, next(other for other in best if other != first)) if explained.opened.ours else (first,)


def _token_at(tokens: Tokens, at: int) -> int | None:
    """Return the first token of the first text that ends after this character."""
    return next((token for token, (_, end) in enumerate(tokens.spans) if end > at and tokens.segments[token] == 0),
                None)


def _answer_of(explained: ExplainedAnswer) -> Answer:
    """Compute the answer. Needs its ids."""
    words, outputs = explained.opened.vocabulary.name, explained.plain
    names = [*map(words, explained.ids), "", ""]
    rank = int((outputs[0] > outputs[0, explained.ids[0]]).sum()) + 1 if explained.ids else 0
    return Answer(explained.opened.task, names[0], names[1], float(explained.value(outputs)[0]), rank,
                  words(explained.neutral))


def last_word(tokens: Tokens, text: str) -> int:
    """Return the start of the last word of the first text. If the text does not end in punctuation, return its length,
    which explains the next word."""
    if not text.rstrip().endswith((".", "!", "?", "…", "。", "！", "？")):
        return len(text)
    words = [start for (start, end), special, segment in zip(tokens.spans, tokens.special, tokens.segments, strict=True)
             if not special and segment == 0 and text[start:end].strip()[:1].isalnum()]
    return words[-1] if words else len(text)


def target_word(tokens: Tokens) -> int:
    """Return the default target token to explain: the last "il" or "elle", or else the last word."""
    pronoun = pronoun_of(tokens)
    last = max(token for token, special in enumerate(tokens.special) if not special or token < 2)
    return last if pronoun is None else pronoun
