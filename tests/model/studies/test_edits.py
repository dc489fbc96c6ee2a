"""The contract of studies and edits: each study of a record with edits equals plain torch, for each kind of model.

A study is a function of a `Case` that yields what was found and what is right. It may be refused only where it has no
meaning. `pytest -n 0 -s` prints the table.
"""
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from clearhead.model.core.query import Edit, Hide, Kind, Patch, Query, Silence, Temper, UserError, Window, quiet
from clearhead.model.pretrained import load
from clearhead.model.studies.circuits import WhyQuery
from clearhead.model.studies.comparison import ComparisonQuery
from clearhead.model.studies.contributions import CosineQuery, LensQuery, Writes, WritesQuery
from clearhead.model.studies.paths import READS, PathsQuery
from clearhead.record import Record
from tests.model import tiny, tiny_vision
from tests.model.studies.plain import Plain, opened

TEXT = "the animal didn't cross the street because it was tired"
OTHER = "the cat sat on mat of two and in a garden wide"   # as many tokens
CLOSE = 1e-4   # largest difference, relative to the largest number
Pairs = Iterator[tuple[object, object]]   # found, right


@dataclass(frozen=True)
class Family:
    """A kind of model: how a tiny one is made, and where its parts are. Names of modules are templates of layers."""

    name: str                               # in `tiny` or `tiny_vision`
    architecture: str                       # a class of transformers
    attentions: dict[Kind, str]             # modules of attention
    outputs: dict[Kind, str]                # of W_O
    feed_forward: dict[Kind, str]           # of W_2, by stack
    block: str                              # of blocks of the last stack
    unembedded: Callable[[Any, torch.Tensor], torch.Tensor] | None = None   # logits of a block's output (1, t, d_model)
    position: int = 6                       # of the answer
    activation: tuple[str, ...] = ()        # the modules before and behind an activation behind the last block
    softcap: float | None = None            # of the logits
    changes: dict[str, Any] = field(default_factory=dict)   # of the configuration

    def read(self, output: Any) -> torch.Tensor:
        """Return the answer (row, position, number) in the network's output: logits or sentence vectors."""
        if self.unembedded is None:
            return output.last_hidden_state.mean(1, keepdim=True)
        logits = output.logits if output.logits.ndim == 3 else output.logits[:, None]
        if self.softcap is None:
            return logits
        raw = self.softcap * (logits / self.softcap).atanh()   # the first row has the whole pass
        return raw * (logits / raw)[:1]


def llama_like(name: str, architecture: str, divided: float = 1, **options: Any) -> Family:
    return Family(name, architecture, {Kind.CAUSAL: "model.layers.{}.self_attn"},
                  {Kind.CAUSAL: "model.layers.{}.self_attn.o_proj"}, {Kind.CAUSAL: "model.layers.{}.mlp.down_proj"},
                  "model.layers.{}",
                  **{"unembedded": lambda network, x: network.lm_head(network.model.norm(x)) / divided, **options})


def bert_like(architecture: str, prefix: str, name: str = "bert", **options: Any) -> Family:
    layer = prefix + "encoder.layer.{}"
    return Family(name, architecture, *({Kind.SELF: f"{layer}.{path}"} for path in (
        "attention.self", "attention.output.dense", "output.dense")), layer, **options)


def classified(network: Any, x: torch.Tensor) -> torch.Tensor:
    """Return the class logits of DINOv2, (1, 1, class), for a block's output."""
    x = network.dinov2.layernorm(x)
    return network.classifier(torch.cat([x[:, 0], x[:, 1:].mean(1)], dim=-1))[:, None]


ENCODER, DECODER = "model.encoder.layers.{}.", "model.decoder.layers.{}."
FAMILIES = {
    "GPT-2": Family("gpt2", "GPT2LMHeadModel", {Kind.CAUSAL: "transformer.h.{}.attn"},
                    {Kind.CAUSAL: "transformer.h.{}.attn.c_proj"}, {Kind.CAUSAL: "transformer.h.{}.mlp.c_proj"},
                    "transformer.h.{}", lambda network, x: network.lm_head(network.transformer.ln_f(x))),
    "Llama": llama_like("llama", "LlamaForCausalLM"),
    "Granite": llama_like("granite", "GraniteForCausalLM", divided=7),
    "BERT": bert_like("BertForMaskedLM", "bert.", unembedded=lambda network, x: network.cls(x),
                      activation=("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm")),
    "sentence BERT": bert_like("BertModel", ""),   # the same model for its vectors, instead of BERT in `cosine`
    "BART": Family("bart", "BartForConditionalGeneration",
                   {Kind.SELF: ENCODER + "self_attn", Kind.CAUSAL: DECODER + "self_attn",
                    Kind.CROSS: DECODER + "encoder_attn"},
                   {Kind.SELF: ENCODER + "self_attn.out_proj", Kind.CAUSAL: DECODER + "self_attn.out_proj",
                    Kind.CROSS: DECODER + "encoder_attn.out_proj"},
                   {Kind.SELF: ENCODER + "fc2", Kind.CAUSAL: DECODER + "fc2"}, DECODER[:-1],
                   lambda network, x: network.lm_head(x) + network.final_logits_bias, position=3),
    "DINOv2": Family("dinov2_classifier", "Dinov2ForImageClassification",
                     {Kind.SELF: "dinov2.encoder.layer.{}.attention"},
                     {Kind.SELF: "dinov2.encoder.layer.{}.attention.o_proj"},
                     {Kind.SELF: "dinov2.encoder.layer.{}.mlp.fc2"}, "dinov2.encoder.layer.{}", classified, position=0)}


class Models:
    """One model in place of all, whose records and traces are kept."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.record = functools.cache(lambda query, _report: model.record(query, quiet))
        whole = functools.cache(lambda query: model.trace(query, quiet))
        self.trace = lambda query, _report, _tokens=(): whole(query)

    def open(self, _asked: Any, _report: Any) -> Any:
        return self.model


@dataclass
class Case:
    """One kind of model with one set of edits."""

    family: Family
    models: Models
    network: torch.nn.Module
    query: Query
    twin: Query   # another text of the same length, without edits

    @property
    def stack(self) -> Kind:
        """The kind of self-attention of the stack that answers."""
        return Kind.CAUSAL if Kind.CAUSAL in self.family.attentions else Kind.SELF

    @cached_property
    def record(self) -> Record:
        opened: Any = SimpleNamespace(revision=self.query.revision, opened=self.models.model)
        return Record(self.models.record(self.query, quiet), opened)

    def pass_of(self, query: Query) -> Plain:
        """Return the plain pass of a query."""
        family, layers = self.family, {part.kind: range(len(part.layers))
                                       for part in self.models.record(self.twin, quiet).maps}
        own, outputs, feed_forward = (
            {(kind, layer): template.format(layer) for kind, template in templates.items() for layer in layers[kind]}
            for templates in (family.attentions, family.outputs, family.feed_forward))
        inputs = {name: each.double() if each.is_floating_point() else each
                  for name, each in self.models.model.tokens(query).tensors.items()}
        others = {edit.from_query: self.pass_of(edit.from_query) for edit in query.edits if isinstance(edit, Patch)}
        return Plain(self.network, {place: (path, outputs[place]) for place, path in own.items()}, feed_forward,
                     family.activation, family.read, inputs, query.edits, others)

    @cached_property
    def plain(self) -> Plain:
        return self.pass_of(self.query)

    @cached_property
    def without(self) -> tuple[list[tuple[str, int]], torch.Tensor, Plain]:
        return self.plain.without()

    def of(self, paths: dict[Any, str], kind: Kind, numbers: torch.Tensor) -> np.ndarray:
        """Return the numbers (row of `without`) of a kind's heads or feed-forward layers as (layer, number)."""
        rows = {layer: [float(number) for (own, _), number in zip(self.without[0], numbers, strict=True) if own == path]
                for (each, layer), path in paths.items() if each is kind}
        return np.array([rows[layer] for layer in sorted(rows)])

    def heads(self, kind: Kind, numbers: torch.Tensor) -> np.ndarray:
        return self.of({place: output for place, (_, output) in self.plain.attentions.items()}, kind, numbers)


def split(case: Case, found: Writes, answers: torch.Tensor) -> Pairs:
    """Compare contributions with answers: the first is whole, each other one lacks one writer."""
    lost = answers[0] - answers[1:]
    yield found.difference, answers[0]
    yield found.heads, case.heads(case.stack, lost)
    if Kind.CROSS in case.family.attentions:
        yield found.cross, case.heads(Kind.CROSS, lost)
    yield found.feed_forward, case.of(case.plain.feed_forward, case.stack, lost)[:, 0]
    assert abs(found.rest) <= 2e-3 * np.abs(found.frame().value).max()


def writes(case: Case) -> Pairs:
    found = WritesQuery(case.query, case.family.position, 2, 3).answer(case.models, quiet)
    answers = case.without[1][:, case.family.position]
    yield from split(case, found, answers[:, 2] - answers[:, 3])


def cosine(case: Case) -> Pairs:
    found = CosineQuery(case.query, case.twin).answer(case.models, quiet)
    other = case.pass_of(case.twin).answer[0, 0]
    right = case.without[1][:, 0] @ other / case.plain.answer[0, 0].norm() / other.norm()
    yield from split(case, found, right)
    yield CosineQuery(case.twin, case.query).answer(case.models, quiet).total, right[0]   # the other text is edited


def why(case: Case) -> Pairs:
    """Compare a score of layer 1 of each kind with what each head contributes to its query and its key."""
    for kind in case.family.attentions:
        row, column, head = 3, 2, 1
        found = WhyQuery(case.query, kind, 1, head, row, column).answer(case.models, quiet)
        own, without = (each.captured[kind, 1] for each in (case.plain, case.without[2]))
        query, key = own["query"][0, head, row], own["key"][0, head, column]
        scale = own["raw"][0, head, row, column] / (query @ key)
        yield [found.score, found.total], own["score"][0, head, row, column].expand(2)
        sides = ((kind, found.query_writers, found.parts.sum(1), (query - without["query"][1:, head, row]) @ key),
                 (Kind.SELF if kind is Kind.CROSS else kind, found.key_writers, found.parts.sum(0),
                  (key - without["key"][1:, head, column]) @ query))
        for stack, writers, parts, lost in sides:
            values = dict(zip(writers, parts, strict=True))
            for source in case.family.attentions:
                if (source is Kind.SELF) is (stack is Kind.SELF):
                    name, right = "cross {}·{}" if source is Kind.CROSS else "{}·{}", case.heads(source, lost * scale)
                    places = np.ndindex(right.shape)
                    yield [values.get(name.format(*place), 0.0) for place in places], right.ravel()


def lens(case: Case) -> Pairs:
    found = LensQuery(case.query, case.family.position).answer(case.models, quiet)
    states, hooks = {}, []
    for layer in found.layers[1:]:
        block = case.network.get_submodule(case.family.block.format(layer))
        hooks.append(block.register_forward_hook(lambda _block, _arguments, output, layer=layer: states.update(
            {layer: output[0] if isinstance(output, tuple) else output})))
    case.pass_of(case.query)
    for hook in hooks:
        hook.remove()
    with torch.no_grad():
        chances = torch.stack([case.family.unembedded(case.network, states[layer])[0, case.family.position]
                               for layer in found.layers[1:]]).softmax(-1)
    yield found.probabilities[1:], chances.gather(1, torch.tensor(found.ids[1:]))
    yield found.layers, [-1, *sorted({layer for kind, layer in case.plain.attentions if kind is case.stack})]
    yield found.probabilities[1:], chances.topk(len(found.ids[0])).values
    yield found.entropy[1:], torch.special.entr(chances).sum(-1) / np.log(2)


def output(case: Case) -> Pairs:
    for (kind, layer), (_, path) in case.plain.attentions.items():
        for head, part in enumerate(case.plain.parts(path)):
            yield case.record.output(layer, head, map=kind), case.plain.sent[path][0, :, part]


def logits(case: Case) -> Pairs:
    yield case.record.logits.reshape(case.plain.answer[0].shape), case.plain.answer[0]


def paths(case: Case) -> Pairs:
    """Patch paths from heads of the twin to the answer and to two heads."""
    own, twin, last = case.plain, case.pass_of(case.twin), max(layer for _, layer in case.plain.attentions)
    for receiver, reads, senders in ((None, READS, ((0, 0), (1, 1), (last, 0))), ((last, 0), READS, ((0, 1),)),
                                     ((1, 0), ("query", "value"), ((0, 1),))):
        found = PathsQuery(case.query, case.twin, case.family.position, 2, 3, receiver, reads, senders).answer(
            case.models, quiet)
        answers = torch.cat([own.answer, twin.answer, *(own.path(
            twin, (case.stack, layer), head, receiver and ((case.stack, receiver[0]), receiver[1]), reads)
            for layer, head in senders)])[:, case.family.position]
        right = answers[:, 2] - answers[:, 3]
        yield [found.plain, found.twin, *found.patched], right
        if receiver is None:
            yield found.patched - found.plain, right[2:] - right[0]


def comparison(case: Case) -> Pairs:
    """Compare every head with itself in the pass without edits."""
    plain = replace(case.query, edits=frozenset())
    before = case.pass_of(plain)
    for kind in case.family.attentions:
        found = ComparisonQuery(plain, case.query, (kind, kind)).answer(case.models, quiet)
        right = []
        for place in (place for place in before.attentions if place[0] is kind):
            rows = [each.captured[place]["weights"][0] for each in (before, case.plain)]
            rows = [torch.cat([each, 1 - each.sum(-1, keepdim=True)], -1).clip(0) for each in rows]
            one, other, both = (torch.special.entr(each).sum(-1) for each in (*rows, (rows[0] + rows[1]) / 2))
            right.append((both - (one + other) / 2).mean(-1) / np.log(2))
        yield found.changed, torch.cat(right)


LABELS = {"num_labels": 4}
OTHERS = {   # blocks of other forms, and classifiers
    "GPT-NeoX": Family("gpt_neox", "GPTNeoXForCausalLM", {Kind.CAUSAL: "gpt_neox.layers.{}.attention"},
                       {Kind.CAUSAL: "gpt_neox.layers.{}.attention.dense"},
                       {Kind.CAUSAL: "gpt_neox.layers.{}.mlp.dense_4h_to_h"}, "gpt_neox.layers.{}",
                       lambda network, x: network.lm_head(network.gpt_neox.final_layer_norm(x))),
    "Cohere": llama_like("cohere", "CohereForCausalLM", divided=16),
    "Gemma 2": llama_like("gemma2", "Gemma2ForCausalLM", softcap=2.0, changes={"final_logit_softcapping": 2.0},
                          unembedded=lambda network, x: 2 * (network.lm_head(network.model.norm(x)) / 2).tanh()),
    "T5": Family("t5", "T5ForConditionalGeneration", *(
        {Kind.SELF: f"encoder.block.{{}}.layer.0.SelfAttention{end}",
         Kind.CAUSAL: f"decoder.block.{{}}.layer.0.SelfAttention{end}",
         Kind.CROSS: f"decoder.block.{{}}.layer.1.EncDecAttention{end}"} for end in ("", ".o")),
        {Kind.SELF: "encoder.block.{}.layer.1.DenseReluDense.wo",
         Kind.CAUSAL: "decoder.block.{}.layer.2.DenseReluDense.wo"}, "decoder.block.{}",
        lambda network, x: network.lm_head(network.decoder.final_layer_norm(x) * 48**-0.5), position=3),
    "BERT's classes": bert_like("BertForSequenceClassification", "bert.", position=0, changes=LABELS,
                                activation=("bert.pooler.dense", "classifier"),
                                unembedded=lambda network, x: network.classifier(network.bert.pooler(x))[:, None]),
    "RoBERTa's classes": bert_like("RobertaForSequenceClassification", "roberta.", "roberta", position=0,
                                   changes=LABELS, activation=("classifier.dense", "classifier.out_proj"),
                                   unembedded=lambda network, x: network.classifier(x)[:, None]),
    "DistilBERT's classes": Family(
        "distilbert", "DistilBertForSequenceClassification", {Kind.SELF: "distilbert.transformer.layer.{}.attention"},
        {Kind.SELF: "distilbert.transformer.layer.{}.attention.out_lin"},
        {Kind.SELF: "distilbert.transformer.layer.{}.ffn.lin2"}, "distilbert.transformer.layer.{}",
        lambda network, x: network.classifier(network.pre_classifier(x[:, :1]).relu()), 0,
        ("pre_classifier", "classifier"), changes=LABELS),
    "Llama's classes": llama_like("llama", "LlamaForSequenceClassification", position=0, changes=LABELS,
                                  unembedded=lambda network, x: network.score(network.model.norm(x[:, -1:]))),
    "ModernBERT's classes": Family(
        "modernbert", "ModernBertForSequenceClassification", {Kind.SELF: "model.layers.{}.attn"},
        {Kind.SELF: "model.layers.{}.attn.Wo"}, {Kind.SELF: "model.layers.{}.mlp.Wo"}, "model.layers.{}",
        lambda network, x: network.classifier(network.head(network.model.final_norm(x).mean(1, keepdim=True))), 0,
        ("head.dense", "head.norm"), changes={**LABELS, "classifier_pooling": "mean"})}
STUDIES = {each.__name__: each for each in (writes, why, lens, cosine, output, logits, paths, comparison)}
# studies without a meaning for these kinds, with or without edits
WITHOUT = {"cosine": ("GPT-2", "Llama", "Granite", "BART", "DINOv2")}   # no sentence vectors


def edits_of(kinds: list[Kind], twin: Query) -> dict[str, frozenset[Edit]]:
    """Return the sets of edits to try."""
    first, last = kinds[0], kinds[-1]
    window: list[Edit] = [Window(4, 1)] if Kind.CAUSAL in kinds else []
    edits: dict[str, list[Edit]] = {
        "silence": [Silence(last, 1, 1), *(Silence(kind, 0, 0) for kind in kinds)],
        "silence mean": [Silence(first, 1, 0, "mean"), *(Silence(kind, 0, 1, "mean") for kind in kinds)],
        "temper": [Temper(last, 0, 0, 3.0), *(Temper(kind, 1, 1, 0.4) for kind in kinds)],
        "hide": [Hide("source", 4), *([Hide("target", 1)] if Kind.CROSS in kinds else [])],
        "window": [Window(3, 1)],
        "patch": [Patch(last, 1, 0, twin), *(Patch(kind, 0, 1, twin) for kind in kinds)],
        "all": [Silence(last, 0, 0), Silence(first, 1, 0, "mean"), Patch(last, 1, 1, twin), Temper(last, 1, 0, 0.4),
                Temper(first, 0, 1, 2.0), Hide("source", 4), *window]}
    return {name: frozenset(each) for name, each in edits.items()}


def cases_of(family: Family, folder: Path) -> dict[str, Case]:
    """Return a case for each set of edits."""
    sees = family.name in tiny_vision.FAMILIES
    if sees:
        tiny_vision.save(folder, family.name)
    else:
        configuration, _, sizes = tiny.FAMILIES[family.name]
        tiny.drawn((configuration, family.architecture, sizes), 3, family.changes).save_pretrained(folder)
        tiny.tokenizer().save_pretrained(folder)
    if family.unembedded is None:
        tiny.pooled(folder)
    models = Models(load.locate(str(folder)).open(quiet))
    network, card = opened(folder, family.architecture), models.model.card
    target = "a cat sat on mat" if Kind.CROSS in family.attentions else None
    plain, twin = (Query(card.id, card.revision, text, image=tiny_vision.shipped(picture)) if sees
                   else Query(card.id, card.revision, text, target=target)
                   for text, picture in ((TEXT, "cat"), (OTHER, "coffee")))
    return {edit: Case(family, models, network, replace(plain, edits=edits), twin)
            for edit, edits in edits_of([*family.attentions], twin).items()}


def outcome(study: Callable[[Case], Pairs], case: Case) -> str:
    """Return "right", the sentence with which the study is refused, or how it is wrong."""
    try:
        for pair in study(case):
            found, right = map(np.asarray, pair)
            if found.shape != right.shape or not np.abs(found - right).max() <= CLOSE * np.abs(right).max():
                return f"wrong: {found} is not {right}"
    except UserError as error:
        return str(error)
    return "right"


def test_every_study_meets_every_edit(tmp_path):
    cases = {(name, edit): case for name, family in FAMILIES.items()
             for edit, case in cases_of(family, tmp_path / name).items()}
    table, refused = {}, []
    for (name, edit), case in cases.items():
        for study, function in STUDIES.items():
            if (study == "cosine") is not (name == "sentence BERT") and name in ("BERT", "sentence BERT"):
                continue
            said = table[study, name, edit] = outcome(function, case)
            if name in WITHOUT.get(study, ()) or (edit == "window" and Kind.CAUSAL not in case.family.attentions):
                assert said.count(". ") == 0 and said.endswith("."), said
                refused += [said] if name not in WITHOUT.get(study, ()) else []
            else:
                assert said == "right", (study, name, edit, said)
    names = list(dict.fromkeys(name for _, name, _ in table))
    for study in STUDIES:
        for edit in dict.fromkeys(edit for _, _, edit in table):
            marks = ("+" if table.get((study, name, edit)) == "right" else "-" for name in names)
            print(f"{study:8} {edit:13}", *marks)
    print(f"{len(table)} pairs, {sum(said == 'right' for said in table.values())} right, {len(refused)} refused")
    assert len(refused) <= len(table) / 10


@pytest.mark.parametrize("name", OTHERS)
def test_other_blocks_and_classifiers(name, tmp_path):
    case = cases_of(OTHERS[name], tmp_path / "model")["all"]
    for study in (writes, why, lens, output, logits, paths, comparison):
        assert outcome(study, case) == "right", study
