"""Every head of a model of ours patched from another text, and what that does to its answer."""
from collections.abc import Iterator

import torch

from model.core.query import Patch, UserError
from model.core.types import HeadId, Progress, quiet
from model.scratch import edits, record_pass
from model.scratch.reader import Reader, Sides
from model.studies.patching import PassAnswer, PatchEffects, PatchQuery, check_lengths, patch_effects


def patch_heads(model: Reader, question: PatchQuery, report: Progress) -> PatchEffects:
    """Every head of one kind patched. Raises UserError for texts of different lengths and for the untrained model."""
    if model.says == "none":
        raise UserError(f"{model.card.title} answers nothing, so that no answer can turn; choose a trained model.")
    queries = question.first, question.second
    sides = [model.sides(query)[0] for query in queries]
    (plain, _), (other, seen) = (model.run(query, side, quiet) for query, side in zip(queries, sides, strict=True))
    paths = {layer: path for (kind, layer), (path, _) in edits.attentions(model.transformer).items()
             if kind == question.kind}
    if not paths:
        raise UserError(f"{model.card.title} has no {question.kind} attention; choose a kind that the page offers.")
    looking = edits.query_side(model.transformer, question.kind)
    check_lengths(question.second, len(sides[1][looking]), len(sides[0][looking]))

    def answer(side: Sides, logits: torch.Tensor) -> PassAnswer:
        positions = model.positions(side)
        return PassAnswer(model.says, tuple(positions), logits[positions].numpy())

    def again(trials: list[list[HeadId]]) -> Iterator[PassAnswer]:
        for chosen in trials:
            taken = {Patch(question.kind, layer, head, question.second): seen[f"{paths[layer]}.mixed"][0, head]
                     for layer, head in chosen}
            logits, _ = record_pass.run(model.transformer, model.inputs(question.first, sides[0]), frozenset(taken),
                                        quiet, taken)
            yield answer(sides[0], logits)

    places = [(layer, head) for layer in paths for head in range(model.transformer.config.heads)]
    return patch_effects(answer(sides[0], plain), answer(sides[1], other), places, again,
                         lambda number: model.tokenizer.words[number], report)
