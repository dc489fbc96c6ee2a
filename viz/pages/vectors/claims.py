"""Sentences about pieces and vectors, chosen by their numbers."""
from typing import Any

from model.lessons import contexts, tokenization
from viz.claims import first_true
from viz.text import escape_markdown


def _named(pair: tokenization.Pair) -> str:
    return " + ".join(escape_markdown(tokenization.show_piece(piece)) for piece in pair)


def merges(words: dict, learnt: tokenization.Merges, done: int) -> dict[str, Any]:
    """What is said after `done` merges of a text."""
    whole = not tokenization.pair_counts(learnt.words, learnt.pairs[:done])
    case = first_true([(done < len(learnt.pairs), "next"), (whole, "whole"), (True, "over")])
    return {"done": done, "now": learnt.lengths[done], "before": learnt.lengths[0], "all": len(learnt.pairs),
            "vocabulary": 256 + done, "last": _named(learnt.pairs[done - 1]) if done else words["nothing_yet"],
            "following": words["followings"][case]}


def senses(words: dict, found: contexts.Contexts, names: list[str]) -> dict[str, Any]:
    """What is said of one word in two contexts; names: of the layers."""
    low, high = int(found.apart.argmin()), int(found.unrelated.argmax())
    same = f"{found.apart[0]:z.3f}" == f"{found.alike[0]:z.3f}" == "1.000"
    first = {"first": found.apart[0], "alike_first": found.alike[0]}
    cut = words["whole"] if len(found.pieces) == 1 else words["several"].format(
        pieces=" · ".join(map(escape_markdown, found.pieces)))
    return {"begins": words["begin"]["same" if same else "other"].format(**first), "last": found.apart[-1],
            "least": found.apart[low], "at": names[low], "alike": found.alike[-1], "cut": cut, "pairs": found.pairs,
            "base": found.unrelated[high], "base_at": names[high], "base_first": found.unrelated[0],
            "base_last": found.unrelated[-1], "left": found.apart[-1] - found.unrelated[-1],
            "left_alike": found.alike[-1] - found.unrelated[-1]}
