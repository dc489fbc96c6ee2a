"""What all our models share: from a question's texts to tokens, one recorded pass, and a prediction."""
from contextlib import AbstractContextManager
from typing import Any

from torch import Tensor

from model.core.query import Patch, Query, UserError
from model.core.record import CANDIDATES, AttentionRecord, Card, Omission, Prediction, Tokens
from model.core.threads import limited_threads, stop_between_layers
from model.core.types import Progress, quiet
from model.scratch import edits, record_pass
from model.scratch import tokens as scratch_tokens
from model.scratch.transformer import Transformer
from model.studies.patching import check_lengths

Sides = dict[str, Tokens]


class Reader:
    """An encoder, a decoder or both, with a tokenizer. Read-only after construction: one instance serves everybody."""

    says = "none"              # what kind of prediction it makes
    separator = scratch_tokens.UNKNOWN  # an untrained model has learned no sign for it, so any number does

    def __init__(self, card: Card, transformer: Transformer, tokenizer: Any) -> None:
        self.card, self.transformer, self.tokenizer = card, transformer, tokenizer
        stop_between_layers(transformer)
        self.nbytes = sum(parameter.numel() * parameter.element_size() for parameter in transformer.parameters())

    def record(self, query: Query, report: Progress) -> AttentionRecord:
        """The record of one text, of a pair (text_b), or of source and target. Raises UserError for blank texts and
        impossible edits."""
        sides, omitted, notes = self.sides(query)
        lengths = {side: len(each) for side, each in sides.items()}
        edits.check(self.transformer, query.edits, lengths)
        with self.threads(sides):
            logits, seen = self.run(query, sides, report)
            maps = record_pass.maps(self.transformer, seen, sides, query.edits)
            return AttentionRecord(query, self.card, maps, record_pass.verify(self.transformer, seen, maps),
                                   self.prediction(sides, logits),
                                   omitted, notes + self.unknown(sides))

    def run(self, query: Query, sides: Sides, report: Progress) -> tuple[Tensor, dict]:
        """One pass over these tokens under the query's edits: logits (q, vocabulary) and the probes' tensors."""
        taken = self.taken(query)
        for edit, numbers in taken.items():
            check_lengths(edit.from_query, len(numbers),
                          len(sides.get(edits.query_side(self.transformer, edit.kind), ())))
        with self.threads(sides):
            return record_pass.run(self.transformer, self.inputs(query, sides), query.edits, report, taken)

    def inputs(self, query: Query, sides: Sides) -> list[Any]:
        """What the Transformer reads of each side: the ids of its tokens."""
        return [side.ids for side in sides.values()]

    def threads(self, sides: Sides) -> AbstractContextManager[None]:
        """As many as a pass over these tokens is worth: about two operations for each weight of four bytes and each
        token."""
        return limited_threads(self.nbytes / 2 * sum(map(len, sides.values())))

    def taken(self, query: Query) -> dict[Patch, Tensor]:
        """The head's output (q, d_v) that each patch of the query takes from another pass."""
        patches = [edit for edit in query.edits if isinstance(edit, Patch)]
        outputs, places = {}, edits.attentions(self.transformer)
        for other in {edit.from_query for edit in patches}:
            _, seen = self.run(other, self.sides(other)[0], quiet)
            for edit in (patch for patch in patches if patch.from_query == other):
                path, _ = places[edit.kind, edit.layer]
                if f"{path}.mixed" not in seen:
                    raise UserError(f"“{other.text[:60]}” was read without a target, so its decoder did nothing to "
                                    f"take; give it a target.")
                outputs[edit] = seen[f"{path}.mixed"][0, edit.head]
        return outputs

    def sides(self, query: Query) -> tuple[Sides, Omission | None, tuple[str, ...]]:
        """The tokens of the source and, where there is one, of the target; what did not fit; what else to say."""
        if query.continuation:
            raise UserError("An untrained model has nothing to continue a text with; choose a trained one.")
        pieces = self.pieces(query.text, "text")
        second = None
        if query.text_b is not None:
            second = len(pieces) + 1
            pieces += [scratch_tokens.special("[SEP]", self.separator, len(query.text)),
                       *self.pieces(query.text_b, "second text")]
        fitting, omitted = self.fit(pieces, query.text_b if query.text_b and second and second < self.card.max_tokens
                                    else query.text)
        sides: Sides = {"source": scratch_tokens.tokens(fitting, second)}
        notes: tuple[str, ...] = ()
        if query.target is not None:
            sides["target"], notes = self.target([scratch_tokens.special("[BOS]", scratch_tokens.BEGIN, 0),
                                                  *self.pieces(query.target, "target")])
        return sides, omitted, notes

    def target(self, pieces: list[scratch_tokens.Piece]) -> tuple[Tokens, tuple[str, ...]]:
        """The tokens of a target, and a sentence about what did not fit."""
        left_out = len(pieces) - self.card.max_tokens
        notes = (f"{left_out} tokens at the end of the target did not fit and were left out.",) if left_out > 0 else ()
        return scratch_tokens.tokens(pieces[:self.card.max_tokens]), notes

    def pieces(self, text: str, name: str) -> list[scratch_tokens.Piece]:
        """The pieces of a text. Raises UserError for one that has none."""
        pieces = self.tokenizer.pieces(text)
        if not pieces:
            raise UserError(f"The {name} has nothing to look at; type a word.")
        return pieces

    def fit(self, pieces: list[scratch_tokens.Piece], text: str) -> tuple[list[scratch_tokens.Piece], Omission | None]:
        """As many pieces as there are positions, and what was left out: its characters in `text`, from the first piece
        that did not fit."""
        limit = self.card.max_tokens
        if len(pieces) <= limit:
            return pieces, None
        return pieces[:limit], Omission(len(pieces) - limit, text[pieces[limit].span[0]:], limit)

    def prediction(self, sides: Sides, logits: Tensor) -> Prediction | None:
        """What the model answers; an untrained one nothing."""
        positions = self.positions(sides)
        return self.ranked(self.says, logits, positions) if positions else None

    def positions(self, sides: Sides) -> list[int]:
        """The tokens at which it answers."""
        return []

    def unknown(self, sides: Sides) -> tuple[str, ...]:
        """A sentence about the words that the model never saw, or nothing."""
        missing = dict.fromkeys(text for side in sides.values()
                                for text, unknown in zip(side.texts, side.unknown, strict=True) if unknown)
        if not missing:
            return ()
        return (f"{self.card.title} never saw {', '.join(missing)}: each is read as [UNK], so the answer may mean "
                f"nothing; "
                "use words of its vocabulary or a pretrained model.",)

    def ranked(self, kind: str, logits: Tensor, positions: list[int]) -> Prediction:
        """The most probable words at some positions; logits (q, vocabulary)."""
        chosen = logits[positions]
        best = chosen.log_softmax(-1).topk(min(CANDIDATES, chosen.shape[-1]))
        ids = tuple(map(tuple, best.indices.tolist()))
        return Prediction(kind, tuple(positions), ids,
                          tuple(tuple(self.tokenizer.words[i] for i in row) for row in ids),
                          tuple(map(tuple, best.values.exp().tolist())), tuple(chosen.logsumexp(-1).tolist()))

    def refuse(self, query: Query, *fields: str) -> None:
        """Raises UserError for a field that this model cannot read."""
        for name in fields:
            if getattr(query, name):
                raise UserError(f"{self.card.title} reads no {name.replace('text_b', 'second text')}; leave it empty "
                                f"or choose another model.")
