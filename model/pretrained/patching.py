"""A head's output taken from another text: the pass that gives it, and the pass that gets it."""
from collections.abc import Iterator
from typing import cast

import numpy as np

from model.capture import forward_pass
from model.core.query import Kind, Patch, Query, UserError
from model.core.types import HeadId, Progress, quiet
from model.pretrained import predict
from model.studies.patching import PassAnswer, Patched, PatchQuery, check_lengths, patch_effects

TOKENS = 256   # of all rows of a pass in which several heads are patched, each in a row of its own


def session(model, query: Query, lengths: tuple[int, int | None], report: Progress = quiet) -> forward_pass.Session:
    """A session for the pass of a query of `lengths` tokens (source, target), with its edits and with what its patches
    take from other passes.

    Raises UserError for another text of another number of tokens.
    """
    slots = model.wiring.slots if model.wiring else {}
    return forward_pass.Session(model.names, slots, query.edits, report, taken(model, query, lengths))


def taken(model, query: Query, lengths: tuple[int, int | None]) -> dict:
    """The head's output, a tensor (q, d_v), that each patch of the query takes from another pass."""
    patches = [edit for edit in query.edits if isinstance(edit, Patch)]
    found = {}
    for other in {edit.from_query for edit in patches}:
        _, mixed, _ = passed(model, other)
        for edit in (each for each in patches if each.from_query == other):
            found[edit] = mixed[edit.kind, edit.layer][:, edit.head]
            check_lengths(other, len(found[edit]), looking(edit.kind, lengths))
    return found


def looking(kind: Kind, lengths: tuple[int, int | None]) -> int:
    """How many tokens look in this kind; lengths are those of source and target."""
    return lengths[0] if kind is Kind.SELF or lengths[1] is None else lengths[1]


def passed(model, query: Query):
    """(question, {(kind, layer): every head's output (q, head, d_v)}, the network's output) of the pass of a query
    without edits."""
    question = model.question(query, quiet)
    watching = forward_pass.Session(model.names, model.wiring.slots, mixed={})
    output = forward_pass.run(watching, lambda: model.network(**question.tensors, **predict.last_only(model)))
    return question, watching.mixed, output


def patch_heads(model, question: PatchQuery, report: Progress) -> Patched:
    """Raises UserError for texts of different lengths and for a model that answers nothing."""
    if model.wiring is None:
        raise UserError(f"{model.card.title} reports its weights but cannot be edited; choose a verified model.")
    first, _, plain = passed(model, question.first)
    second, mixed, other = passed(model, question.second)
    places = [(layer, head) for kind, layer in sorted(mixed) if kind is question.kind
              for head in range(mixed[kind, layer].shape[1])]
    if not places:
        raise UserError(f"{model.card.title} has no {question.kind} attention; choose a kind that the page offers.")
    check_lengths(question.second, len(mixed[question.kind, places[0][0]]), looking(question.kind, first.lengths))

    def again(trials: list[list[HeadId]]) -> Iterator[PassAnswer]:
        size = max(1, TOKENS // max(len(mixed[question.kind, places[0][0]]), len(first.source)))
        for start in range(0, len(trials), size):
            rows = [{(question.kind, layer, head): mixed[question.kind, layer][:, head] for layer, head in chosen}
                    for chosen in trials[start:start + size]]
            watching = forward_pass.Session(model.names, model.wiring.slots, rows=rows)
            tensors = {name: each.repeat(len(rows), 1) for name, each in first.tensors.items()}
            output = forward_pass.run(watching,
                                      lambda tensors=tensors: model.network(**tensors, **predict.last_only(model)))
            yield from (_answer(model, first, output, row) for row in range(len(rows)))

    answers = _answer(model, first, plain), _answer(model, second, other)
    return patch_effects(*answers, places, again, lambda number: predict.name_of(model, number), report)


def _answer(model, question, output, row: int = 0) -> PassAnswer:
    """The logits or the sentence vector of one row of a pass. Raises UserError for a network that has neither."""
    if model.pooling is not None:
        return PassAnswer("vector", (),
                      cast(np.ndarray, predict.vector(output.last_hidden_state[row:row + 1], model.pooling).vector))
    if model.head == "none":
        raise UserError(f"{model.card.title} answers nothing, so that no answer can turn; choose a model that predicts "
                        f"words or sentence vectors.")
    logits, positions = predict.said(model, question, output.logits[row])
    return PassAnswer(model.head, tuple(positions), logits.float().numpy())
