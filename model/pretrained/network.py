"""A loaded model that answers queries: tokens in, one captured forward pass, a record out."""
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from model.pretrained import capture, card, predict, verify
from model.pretrained.load import Place
from model.pretrained.reading import Reading, read
from model.query import Hide, Kind, Query, UserError
from model.record import AttentionMap, AttentionRecord, Card

Tick = Callable[[float, str], None]
PROBE = 24  # tokens of the probe at load


@dataclass(frozen=True, eq=False)
class PretrainedModel:
    """A verified network with its tokenizer and card. Nothing in it changes after it is opened, so it may serve several threads."""

    card: Card
    network: object
    tokenizer: object
    wiring: verify.Wiring
    head: str                         # what it predicts: next, mask, label or none
    pooling: predict.Pooling | None

    @property
    def nbytes(self) -> int:
        return sum(each.numel() * each.element_size() for each in self.network.parameters())

    def answer(self, query: Query, tick: Tick) -> AttentionRecord:
        """The record of this query. Raises UserError where it cannot be answered, or not be shown without doubt."""
        tick(0.02, "reading the text")
        reading = read(self.tokenizer, query, self.card.max_tokens)
        self._check_edits(query, reading)
        session = self._session(query, lambda done, text: tick(0.05 + 0.85 * done, text))
        output = capture.run(session, lambda: self.network(**reading.tensors))
        tick(0.92, "checking the picture")
        slots = [self.wiring.slots[call.module, call.occurrence] for call in session.calls]
        layers = [call.layer(slot.index) for call, slot in zip(session.calls, slots, strict=True)]
        verification = verify.check_answer(session.calls, layers, self.wiring)
        if verification.status == "refused":
            raise UserError(f"{self.card.title} is not shown for this text: {verification.reasons[-1]}, so the picture would be wrong; try another model.")
        kinds = [kind for kind in Kind if any(slot.kind is kind for slot in slots)]
        maps = tuple(AttentionMap(kind, reading.tokens, reading.tokens,
                                  tuple(layer for layer, slot in zip(layers, slots, strict=True) if slot.kind is kind)) for kind in kinds)
        return AttentionRecord(query, self.card, maps, verification, self._predict(output, reading), reading.omitted, reading.notes)

    def _session(self, query: Query, tick: Tick) -> capture.Session:
        names = {id(module): name for name, module in self.network.named_modules()}
        return capture.Session(names, self.wiring.slots, query.edits, tick)

    def _check_edits(self, query: Query, reading: Reading) -> None:
        known = {(slot.kind, slot.index) for slot in self.wiring.slots.values()}
        for edit in sorted(query.edits, key=repr):
            if isinstance(edit, Hide):
                if edit.side != "source" or edit.token >= len(reading.tokens):
                    raise UserError(f"There is no token {edit.token} on the {edit.side} side; hide one of the text's {len(reading.tokens)} tokens.")
            elif (edit.kind, edit.layer) not in known or not 0 <= edit.head < self.card.heads:
                raise UserError(f"{self.card.title} has no head {edit.head} in {edit.kind} layer {edit.layer}; choose one that the grid shows.")

    def _predict(self, output, reading: Reading):
        if self.pooling is not None:
            return predict.vector(output.last_hidden_state, self.pooling)
        return None


def open_network(place: Place, fingerprint: str, tick: Tick) -> PretrainedModel:
    """Loads and verifies. The caller holds the lock; transformers is prepared."""
    import torch
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    safe = {"local_files_only": True, "trust_remote_code": False}
    tick(0.1, "reading the configuration")
    config = AutoConfig.from_pretrained(place.folder, **safe)
    config.use_cache = False
    tokenizer = AutoTokenizer.from_pretrained(place.folder, **safe)
    tick(0.2, "loading the weights")
    network, info = AutoModel.from_pretrained(place.folder, config=config, use_safetensors=True, dtype=torch.float32,
                                              attn_implementation=capture.IMPLEMENTATION, output_loading_info=True, **safe)
    _check_complete(place.folder, info)
    network.eval()
    tick(0.7, "verifying against the model's own attention")
    probe = torch.randint(0, config.vocab_size, (1, PROBE), generator=torch.Generator().manual_seed(0))
    wiring = verify.wire(network, lambda: network(input_ids=probe), (PROBE, None))
    made = card.card_of(place, fingerprint, network, tokenizer, wiring)
    return PretrainedModel(made, network, tokenizer, wiring, "none", predict.pooling_of(place.folder))


def _check_complete(folder: Path, info: dict) -> None:
    """Weights that are missing would be random. Only the pooler may be, as nothing here looks at it."""
    missing = sorted(name for name in info["missing_keys"] if "pooler" not in name)
    if missing:
        raise UserError(f"{folder} lacks {len(missing)} of the model's tensors, {missing[0]} first; copy or download the model again.")
