"""A loaded model of transformers: tokenize a query, call the network and read its answer. Records keep only an answer's
best candidates, never full logits."""
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from clearhead.model.capture import verify
from clearhead.model.capture.forward_pass import Unsupported
from clearhead.model.capture.model import NetworkModel, maps_of
from clearhead.model.core import memory
from clearhead.model.core.models import ModelInput, PassAnswer
from clearhead.model.core.query import (
    Progress,
    Query,
    UserError,
    frozen,
    largest,
    pictures_only,
    quiet,
    sort_of,
    text_only,
    with_arrays,
)
from clearhead.model.core.record import AttentionMap, AttentionRecord, Prediction, Verification
from clearhead.model.core.tokens import SHOWN_SPACES, Tokens, spoken, tokens_of_texts
from clearhead.model.core.traces import Trace, rounding
from clearhead.model.pretrained import files
from clearhead.model.pretrained.accounting import MODULES
from clearhead.model.pretrained.files import blame
from clearhead.model.pretrained.inputs import (
    check_ids,
    ends_of,
    generate,
    parameters_of,
    plain_ids,
    target_tokenizer,
    tokenize_query,
    with_target,
)
from clearhead.model.pretrained.tokens import BYTE, bytes_by_sign, continuation, visible

if TYPE_CHECKING:
    from torch import Tensor

    from clearhead.model.pretrained import Network, Output, Tokenizer


Numbers = TypeVar("Numbers", np.ndarray, "Tensor")


@frozen
class Pooling:
    """The way a sentence model combines its tokens' vectors into one (Reimers and Gurevych 2019)."""

    mode: str         # mean or first
    normalise: bool   # whether to scale to length 1


UNSEEN = "its pictures are not read"   # starts the clause on why a vision–language model is shown with text only
WRITERS = ("next", "target")   # predictions that continue a text, or a target
POOLINGS = {"pooling_mode_mean_tokens": "mean", "mean": "mean", "pooling_mode_cls_token": "first", "cls": "first"}


def pooling_of(folder: Path) -> Pooling | None:
    """Return the pooling that a sentence-transformers folder describes, or None for other models."""
    if not (folder / "modules.json").is_file() or not (folder / "1_Pooling" / "config.json").is_file():
        return None
    config = files.read_json(folder / "1_Pooling" / "config.json")
    with blame(folder / "modules.json", "the list of a sentence model's modules"):
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        names = [str(module["type"]).rpartition(".")[2] for module in modules]
    chosen = [name if value is True else str(value) for name, value in config.items()
              if name.startswith("pooling_mode") and value]
    mode = POOLINGS.get(chosen[0]) if len(chosen) == 1 else None   # several are joined
    if mode is None:
        return None
    usual = (names[:2] == ["Transformer", "Pooling"] and names.count("Pooling") == 1
             and modules[1].get("path", "1_Pooling") == "1_Pooling")
    return Pooling(mode, "Normalize" in names) if usual and {*names} <= {*MODULES} else None


def pool(hidden: Numbers, pooling: Pooling) -> Numbers:
    """Pool the last layer's states (text, token, d_model), which contain no padding, into sentence vectors (text,
    d_model). Accepts arrays or tensors."""
    vectors = hidden.mean(1) if pooling.mode == "mean" else hidden[:, 0]
    if not pooling.normalise:
        return vectors
    length = (vectors * vectors).sum(-1)[:, None] ** 0.5
    return vectors / (length + (length == 0))


def sentence_vector(hidden: "Tensor", pooling: Pooling) -> Prediction:
    """Return the sentence vector, float32 (d_model), for the last layer's states (1, token, d_model)."""
    # numpy has less overhead, which matters for short texts
    numbers = pool(hidden.float().cpu().numpy(), pooling)[0].copy()
    numbers.flags.writeable = False
    return Prediction("vector", vector=numbers)


def text_of(tokenizer: "Tokenizer", number: int) -> str:
    """Return a token of the vocabulary in readable form. Its leading space is made visible, since no text surrounds
    it."""
    raw = tokenizer.convert_ids_to_tokens([number])[0]
    if raw is None:
        return f"∅{number}"
    decoded = tokenizer.decode([number], clean_up_tokenization_spaces=False)
    if "\ufffd" in decoded:
        return bytes_in_hex(raw)
    if not decoded:
        return visible(raw)
    leading = "▁" in raw[:1] and not decoded.startswith(" ")
    return visible(" " + decoded if leading else decoded)


def bytes_in_hex(raw: str) -> str:
    """Return the bytes of an incomplete character in hexadecimal, such as ‹E8 8B›."""
    known = bytes_by_sign()
    if byte := BYTE.fullmatch(raw):   # of a SentencePiece vocabulary
        return f"‹{byte[1].upper()}›"
    if not all(character in known for character in raw):
        return visible(raw)
    values = [known[character] for character in raw]
    spaced = values[0] == 0x20
    return "␣" * spaced + "‹" + " ".join(f"{value:02X}" for value in values[spaced:]) + "›"


@with_arrays
class PretrainedModel(NetworkModel):
    """A transformers network with its tokenizer."""

    pooling: Pooling | None   # None unless the model's answer is a sentence vector
    looks_ahead: bool                 # for reported weights: whether tokens attend to later ones
    numbered: bool                    # for reported weights: whether rows may not be the tokens and are numbered
    # gives what runs in a pass: the network, or a program's module around it
    lent: "Callable[[], AbstractContextManager[Network]]"

    @property
    def vector_of(self) -> str:
        """How the sentence vector is formed: "mean" of all tokens, or "first" token."""
        return self.pooling.mode if self.pooling else "mean"

    @property
    def vocabulary(self) -> "Pieces":
        """The pieces or classes that the model can answer with."""
        return Pieces(self)

    def tokens(self, query: Query, report: Progress = quiet) -> ModelInput:
        """Return the query as the network's input, including an encoder–decoder's target. Raises UserError if the model
        cannot answer it."""
        if query.continuation and (self.task not in WRITERS or query.target is not None):
            raise UserError(f"{self.card.title} does not continue a text or a given target; leave the continuation "
                            f"out, or choose a decoder such as SmolLM2.")
        asked = self.read(query, report)
        ids, most = query.continuation, max(length or 0 for length in asked.lengths)
        memory.refuse_what_does_not_fit(self.plan, most, self.card.title)
        if self.network.config.is_encoder_decoder:
            with self.lent():
                asked = with_target(self.network, self.tokenizer, query, asked, self.card.max_tokens, report)
            ids = cast(Tokens, asked.target).ids if query.target is None else ()
            memory.refuse_what_does_not_fit(self.plan, max(length or 0 for length in asked.lengths), self.card.title)
        self.check_edits(query.edits, asked.lengths)
        written = target_tokenizer(self.network, self.tokenizer).decode([*ids], skip_special_tokens=True)
        return replace(asked, written=written or None)

    def read(self, query: Query, report: Progress) -> ModelInput:
        """Return what the query gives the network to read, without an encoder–decoder's target. Raises UserError if the
        model cannot read it."""
        report(0.02, "reading the text")
        if query.image is not None:
            raise self._unseen()
        return tokenize_query(self.network, self.tokenizer, query, self.card.max_tokens)

    def templated(self, messages: "Sequence[Mapping[str, str]]") -> str:
        """Return messages with a picture as a text, up to the start of the answer. Raises UserError if the model cannot
        read them."""
        raise self._unseen()

    def _unseen(self) -> UserError:
        """Return the error for a picture."""
        unseen = next((each for each in self.reasons if each.startswith(UNSEEN)), None)
        return text_only(self.card.title) if unseen is None else UserError(
            f"{self.card.title} is shown with text only: {unseen}; leave the picture out.")

    def write(self, query: Query, most: int, report: Progress = quiet) -> tuple[int, ...]:
        """Return the ids of transformers' own greedy generation, without edits. Raises UserError if the text leaves no
        position free."""
        asked = self.read(query, report)
        known = 1 if self.network.config.is_encoder_decoder else len(asked.continued)
        if known >= self.card.max_tokens:
            raise UserError(f"The text fills all {known:,} positions of {self.card.title}; shorten it.")
        with self.lent(), self.threads(asked):
            return tuple(generate(self.network, target_tokenizer(self.network, self.tokenizer), asked,
                                  min(most, self.card.max_tokens - known), report))

    def spelled(self, ids: Sequence[int]) -> str:
        """Return the text of token ids, special ones included. Raises UserError for an id that does not exist."""
        check_ids(self.network, ids)
        return continuation(self.tokenizer, (), ids)[0]

    def call(self, tensors: "dict[str, Tensor]", every: bool = False, position: int | None = None) -> "Output":
        """Return the network's output. Decoders that support it compute the logits of one token only."""
        import torch

        knows_how = "logits_to_keep" in parameters_of(self.network.__class__)
        kept = 1 if position is None else torch.tensor([position])
        last = {"logits_to_keep": kept} if self.task == "next" and knows_how and not every else {}
        with self.lent() as network:
            return network(**tensors, **last)

    def outputs(self, output: "Output") -> "Tensor":
        """Return the logits (row, token, vocabulary) or sentence vectors (row, d)."""
        if self.pooling is not None:
            return cast("Tensor", pool(output.last_hidden_state, self.pooling)).cpu()
        found = getattr(output, "last_hidden_state" if self.task == "none" else "logits", None)
        if found is None:
            raise UserError(f"{self.card.title} returns neither logits nor hidden states that can be named; choose "
                            f"another model.")
        return cast("Tensor", found).float().cpu()

    def answer(self, asked: ModelInput, output: "Output", row: int = 0) -> PassAnswer:
        """Return the logits or the sentence vector in one row of a pass. Raises UserError for a network with
        neither."""
        if self.pooling is None:
            return super().answer(asked, output, row)
        vector = sentence_vector(output.last_hidden_state[row:row + 1], self.pooling).vector
        return PassAnswer("vector", (), cast(np.ndarray, vector))

    def prediction(self, query: Query, asked: ModelInput, output: "Output") -> Prediction | None:
        """Return the answer from the captured pass's output, or None if the model predicts nothing."""
        if self.pooling is None:
            return super().prediction(query, asked, output)
        return sentence_vector(output.last_hidden_state, self.pooling)

    def trace(self, query: Query, report: Progress, tokens: tuple[int, ...] = (),
              record: AttentionRecord | None = None) -> Trace:
        """Return the trace of the pass that answers the query; matrices with adapters are measured in its mode."""
        import torch

        types = {each.dtype for each in self.network.parameters() if each.is_floating_point()}
        rounding.set(max((torch.finfo(each).eps for each in types), default=0))
        with self.lent():
            return super().trace(query, report, tokens, record)

    def reported(self, asked: ModelInput, report: Progress) -> tuple[tuple[AttentionMap, ...], Verification, "Output"]:
        """Return the weights that the model itself reports, and its output. Raises UserError if they cannot be
        correct."""
        import torch

        report(0.1, "asking the model for its own weights")
        with torch.no_grad(), self.lent() as network:
            output = network(**asked.tensors, output_attentions=True)
        try:
            members = verify.layers_of(output, asked.lengths, self.looks_ahead)
        except Unsupported as error:
            raise UserError(f"{self.card.title} is not shown for this text: {error}; try another text or "
                            f"model.") from error
        if self.numbered:
            source, target = (tokens and tokens_of_texts([str(row) for row in range(len(tokens))])
                              for tokens in (asked.source, asked.target))
            asked = replace(asked, source=cast(Tokens, source), target=target)
        error_of_rows = largest(float(np.abs(layer.weights.sum(-1) - 1).max())
                                for layers in members.values() for layer in layers)
        return maps_of(members, asked), Verification("reported", row_sum_error=error_of_rows,
                                                   reasons=self.reasons), output

    def answered(self, asked: ModelInput, output: "Output", row: int = 0) -> "tuple[Tensor, list[int]]":
        """Return the logits (position, vocabulary or class) at the positions where the network predicts in one row of a
        pass, and these positions."""
        logits = output.logits[row]
        if self.task == "next":
            return logits[-1:], [len(asked.continued) - 1]
        if self.task == "mask":
            positions = [i for i, number in enumerate(asked.source.ids) if number == self.tokenizer.mask_token_id]
            return logits[positions], positions
        if self.task == "target":
            return logits, list(range(len(cast(Tokens, asked.target))))
        return logits[None], [0]


@frozen
class Pieces:
    """The words that a transformers model can answer with: its vocabulary's pieces, or its classes."""

    model: PretrainedModel

    @property
    def neutral(self) -> int:
        """The mask token, or another token without content. Raises UserError for a model that reads pictures."""
        tokenizer = self.model.tokenizer
        if tokenizer is None:
            raise pictures_only(self.model.card.title)
        return next((number for number in (tokenizer.mask_token_id, tokenizer.unk_token_id, tokenizer.eos_token_id)
                     if number is not None), 0)

    @property
    def ends(self) -> tuple[int, ...]:
        """The ids that end a text."""
        return tuple(ends_of(self.model.network, self.model.tokenizer))

    def name(self, number: int) -> str:
        """Return a piece in readable form, or a class."""
        if self.model.task == "label":
            label = str(self.model.network.config.id2label.get(number, number))
            return " ".join(map(visible, label.split(" ")))   # spaces stay as they are
        return text_of(target_tokenizer(self.model.network, self.model.tokenizer), number)

    def find(self, text: str) -> list[int]:
        """Return the ids of a text's tokens as an answer. A word has the form that it has within a text: "Mary" and
        " Mary" are one token, the one with a space. Other texts, and words without such a token, are as they are
        written; "ĠMary" and "##able" are the vocabulary's own spelling. A class is its label."""
        if self.model.task == "label":
            labels = self.model.network.config.id2label
            return [number for number, label in labels.items() if text in (label, self.name(number))]
        tokenizer, written, bare = self.model.tokenizer, text.translate(SHOWN_SPACES), spoken(text)
        if target_tokenizer(self.model.network, tokenizer) is not tokenizer or not text:
            return []
        own, word = self._spelled(text), bool(bare) and sort_of(bare[0]) == "word"
        if own and not (word and text == written):
            return own
        read = [plain_ids(tokenizer, form) for form in ((f" {bare}", bare) if word else (written,))]
        whole = [ids for ids in read if len(ids) == 1 and (ids[0] != tokenizer.unk_token_id or own)]
        spaced = [ids for ids in whole if tokenizer.convert_ids_to_tokens(ids)[0][0] in "Ġ▁ "]
        if written == bare:   # some pieces are only read within a word
            whole += filter(None, map(self._spelled, (bare, f"##{bare}")))
        elif word:
            whole = whole if read[0] in whole else []
        return [*spaced, *whole, [] if read[0] == [tokenizer.unk_token_id] else read[0]][0]

    def _spelled(self, raw: str) -> list[int]:
        """Return the id of the token that the vocabulary spells like this, or []."""
        with suppress(TypeError, ValueError):   # vocabularies of bytes or characters
            number = self.model.tokenizer.convert_tokens_to_ids(raw)
            return [number] if self.model.tokenizer.convert_ids_to_tokens(number) == raw else []
        return []
