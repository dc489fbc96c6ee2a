"""Our own models behind the same door as the pretrained ones: `open_model` gives one, its `answer` turns a Query into a record.

torch is imported where it computes, so that `revision` costs nothing.
"""
import hashlib
from collections.abc import Callable

from model.query import Query, UserError
from model.record import AttentionRecord, Card, Omission, Tokens
from model.scratch import tokens as texts
from model.scratch.catalogue import NAMES

Tick = Callable[[float, str], None]
VOCABULARY, LONGEST, SEED = 8_192, 512, 2017
SEPARATOR, BEGIN, FIRST_WORD = 1, 2, 3  # 0 is padding
UNTRAINED = ("It is untrained: its weights are random, drawn with a fixed seed, so no head means anything yet. "
             "A word's number is a hash, so two words may share one.")


def revision(model_id: str) -> str:
    """The fingerprint of weights, configuration and tokenizer, 12 hex digits. Raises UserError for an unknown model."""
    import importlib.metadata

    if model_id not in NAMES:
        raise UserError(f"There is no model of ours named {model_id!r}; choose one of {', '.join(NAMES)}.")
    made_of = f"{model_id} {VOCABULARY} {LONGEST} {SEED} torch {importlib.metadata.version('torch')}"
    return hashlib.sha256(made_of.encode()).hexdigest()[:12]


def open_model(model_id: str, tick: Tick = lambda fraction, text: None) -> "ScratchModel":
    """The model of this name, ready to answer. Raises UserError for an unknown one."""
    import torch

    from model.scratch.transformer import Config, Transformer

    fingerprint = revision(model_id)
    tick(0.0, f"building {NAMES[model_id]}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        transformer = Transformer(Config(vocabulary=VOCABULARY)).eval()
    return ScratchModel(model_id, fingerprint, transformer, texts.HashTokenizer(VOCABULARY, FIRST_WORD))


class ScratchModel:
    """An encoder–decoder of ours with its tokenizer. Read-only after construction, so that one instance serves everybody."""

    def __init__(self, model_id: str, fingerprint: str, transformer, tokenizer):
        self.transformer, self.tokenizer = transformer, tokenizer
        self.card = _card(model_id, fingerprint, transformer)
        self.nbytes = sum(each.numel() * each.element_size() for each in transformer.parameters())

    def answer(self, query: Query, tick: Tick) -> AttentionRecord:
        """The record of one text, of a pair (text_b), or of source and target. Raises UserError for blank texts and impossible edits."""
        from model.scratch import edits, recorder

        if query.continuation:
            raise UserError("An untrained model has nothing to continue a text with; choose a trained one.")
        source, omitted = self._source(query)
        sides = {"source": source}
        notes: tuple[str, ...] = ()
        if query.target is not None:
            sides["target"], left_out = self._target(query.target)
            if left_out:
                notes = (f"{left_out.count} tokens at the end of the target did not fit and were left out.",)
        lengths = {side: len(each) for side, each in sides.items()}
        edits.check(self.transformer, query.edits, lengths)
        recorder.check_rows(self.transformer, query.edits, lengths)
        _, seen = recorder.run(self.transformer, [each.ids for each in sides.values()], query.edits, tick)
        maps = recorder.maps(self.transformer, seen, sides, query.edits)
        return AttentionRecord(query, self.card, maps, recorder.verify(self.transformer, seen, maps), omitted=omitted, notes=notes)

    def _source(self, query: Query) -> tuple[Tokens, Omission | None]:
        pieces = self._pieces(query.text, "text")
        if query.text_b is None:
            kept, omitted = _fit(pieces, query.text)
            return texts.tokens(kept), omitted
        second = len(pieces) + 1
        pair = [*pieces, texts.special("[SEP]", SEPARATOR, len(query.text)), *self._pieces(query.text_b, "second text")]
        kept, omitted = _fit(pair, query.text_b if second < LONGEST else query.text)
        return texts.tokens(kept, second), omitted

    def _target(self, text: str) -> tuple[Tokens, Omission | None]:
        kept, omitted = _fit([texts.special("[BOS]", BEGIN, 0), *self._pieces(text, "target")], text)
        return texts.tokens(kept), omitted

    def _pieces(self, text: str, name: str) -> list[texts.Piece]:
        pieces = self.tokenizer.pieces(text)
        if not pieces:
            raise UserError(f"The {name} has nothing to look at; type a word.")
        return pieces


def _fit(pieces: list[texts.Piece], text: str) -> tuple[list[texts.Piece], Omission | None]:
    """As many pieces as there are positions, and what was left out: its characters in `text`, from the first piece that did not fit."""
    if len(pieces) <= LONGEST:
        return pieces, None
    return pieces[:LONGEST], Omission(len(pieces) - LONGEST, text[pieces[LONGEST].span[0]:], LONGEST)


def _card(model_id: str, fingerprint: str, transformer) -> Card:
    from model.scratch.positions import NAMES as schemes

    config = transformer.config
    return Card(
        id=model_id, title=NAMES[model_id], revision=fingerprint, architecture="encoder–decoder, Vaswani et al. 2017",
        parameters=sum(each.numel() for each in transformer.parameters()), d_model=config.d_model, d_head=config.d_model // config.heads,
        layers=config.encoder_layers + config.decoder_layers, heads=config.heads, kv_heads=config.heads, positions=schemes[config.positions],
        tokenizer="words and signs, numbered by a hash", licence="same as Clearhead", max_tokens=LONGEST, note=UNTRAINED)
