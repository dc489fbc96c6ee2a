"""A head's output taken from another text: the pass that gives it, and the pass that gets it."""
import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from model.capture import forward_pass
from model.core.query import Kind, Patch, Query, UserError
from model.core.types import HeadId, Progress, quiet
from model.pretrained import predict
from model.pretrained.inputs import ModelInput
from model.studies.patching import PassAnswer, PatchEffects, PatchQuery, check_lengths, patch_effects

if TYPE_CHECKING:
    from torch import Tensor

TOKENS = 256   # of all rows of a pass in which several heads are patched, each in a row of its own


def session(model: Any, query: Query, lengths: tuple[int, int | None],
            report: Progress = quiet) -> forward_pass.Session:
    """A session for the pass of a query of `lengths` tokens (source, target), with its edits and with what its patches
    take from other passes.

    Raises UserError for another text of another number of tokens.
    """
    slots = model.wiring.slots if model.wiring else {}
    return forward_pass.Session(model.names, slots, query.edits, report, patched_outputs(model, query, lengths))


def patched_outputs(model: Any, query: Query, lengths: tuple[int, int | None]) -> "dict[Patch, Tensor]":
    """The head's output (q, d_v) that each patch of the query takes from another pass. Raises UserError for a pass of
    another number of tokens."""
    patches = [edit for edit in query.edits if isinstance(edit, Patch)]
    outputs = {}
    for other in {patch.from_query for patch in patches}:
        _, mixed, _ = unedited_pass(model, other)
        for patch in (patch for patch in patches if patch.from_query == other):
            outputs[patch] = mixed[patch.kind, patch.layer][:, patch.head]
            check_lengths(other, len(outputs[patch]), count_looking(patch.kind, lengths))
    return outputs


def count_looking(kind: Kind, lengths: tuple[int, int | None]) -> int:
    """How many tokens look in this kind; lengths are those of source and target."""
    return lengths[0] if kind is Kind.SELF or lengths[1] is None else lengths[1]


def unedited_pass(model: Any, query: Query) -> "tuple[ModelInput, dict[tuple[Kind, int], Tensor], Any]":
    """(question, {(kind, layer): every head's output (q, head, d_v)}, the network's output) of the pass of a query
    without edits."""
    question = model.question(query, quiet)
    mixed: dict[tuple[Kind, int], Tensor] = {}
    watching = forward_pass.Session(model.names, model.wiring.slots, mixed=mixed)
    output = forward_pass.run(watching, lambda: model.network(**question.tensors, **predict.last_only(model)))
    return question, mixed, output


def patch_heads(model: Any, question: PatchQuery, report: Progress) -> PatchEffects:
    """What each head of one kind does to the answer of the first text if its output comes from the second. Raises
    UserError for texts of different lengths and for a model that answers nothing."""
    if model.wiring is None:
        raise UserError(f"{model.card.title} reports its weights but cannot be edited; choose a verified model.")
    first, _, plain = unedited_pass(model, question.first)
    second, mixed, other = unedited_pass(model, question.second)
    heads = [(layer, head) for kind, layer in sorted(mixed) if kind is question.kind
             for head in range(mixed[kind, layer].shape[1])]
    if not heads:
        raise UserError(f"{model.card.title} has no {question.kind} attention; choose a kind that the page offers.")
    looking = len(mixed[question.kind, heads[0][0]])
    check_lengths(question.second, looking, count_looking(question.kind, first.lengths))

    def patched_answers(trials: list[list[HeadId]]) -> Iterator[PassAnswer]:
        size = max(1, TOKENS // max(looking, len(first.source)))
        for start in range(0, len(trials), size):
            rows = [{(question.kind, layer, head): mixed[question.kind, layer][:, head] for layer, head in chosen}
                    for chosen in trials[start:start + size]]
            watching = forward_pass.Session(model.names, model.wiring.slots, rows=rows)
            tensors = {name: tensor.repeat(len(rows), *[1] * (tensor.ndim - 1))
                       for name, tensor in first.tensors.items()}
            forward = functools.partial(model.network, **tensors, **predict.last_only(model))
            output = forward_pass.run(watching, forward)
            yield from (_answer(model, first, output, row) for row in range(len(rows)))

    answers = _answer(model, first, plain), _answer(model, second, other)
    return patch_effects(*answers, heads, patched_answers, lambda number: predict.name_of(model, number), report)


def _answer(model: Any, question: ModelInput, output: Any, row: int = 0) -> PassAnswer:
    """The logits or the sentence vector of one row of a pass. Raises UserError for a network that has neither."""
    if model.pooling is not None:
        vector = predict.sentence_vector(output.last_hidden_state[row:row + 1], model.pooling).vector
        return PassAnswer("vector", (), cast(np.ndarray, vector))
    if model.head == "none":
        raise UserError(f"{model.card.title} answers nothing, so that no answer can turn; choose a model that predicts "
                        f"words or sentence vectors.")
    logits, positions = predict.logits_to_predict(model, question, output.logits[row])
    return PassAnswer(model.head, tuple(positions), logits.float().numpy())
