"""Sentences about masks, chosen by their numbers."""
from collections.abc import Mapping
from typing import Any

import numpy as np

from model.core.types import HeadId
from model.lessons import sparse_masks
from viz.claims import first_true
from viz.format import format_share, head_label


def cells(words: dict, allowed: np.ndarray) -> dict[str, Any]:
    """What is said of a mask (query, key) that was built cell by cell."""
    blind, first = int((~allowed.any(1)).sum()), int(allowed[0].sum())
    case = first_true([(first == 1 and bool(allowed[0, 0]), "itself"), (first == 0, "nothing"), (True, "others")])
    return {"open": int(allowed.sum()), "cells": allowed.size, "share": float(allowed.mean()),
            "blind": words["blind" if blind else "seeing"].format(count=blind),
            "first": words["firsts"][case].format(count=first)}


def method_numbers(by_method: Mapping[str, np.ndarray], allowed: np.ndarray) -> dict[str, float]:
    """The least row sum and the largest difference from −∞ of each method, over the rows that may look at something;
    empty where none may."""
    seeing = allowed.any(1)
    if not seeing.any():
        return {}
    before = by_method["before"][seeing]
    return {f"{name}_{method}": value for method, weights in by_method.items()
            for name, value in (("least", float(weights[seeing].sum(1).min())),
                                ("difference", float(np.abs(weights[seeing] - before).max())))}


def methods(words: dict, found: Mapping[str, float], allowed: np.ndarray, row: str,
            leaked: tuple[float, float] | None) -> dict[str, str]:
    """What is said of the four ways. found: of method_numbers; row: its name; leaked: the least and the most of its
    largest weight while a forbidden score moves, None where it has no forbidden key beside an allowed one."""
    case = first_true([(not found, "none"), (bool(allowed[allowed.any(1)].all()), "open"), (True, "masked")])
    says, numbers = words["says"][case], dict(found)
    leak = first_true([(case != "masked" or leaked is None, "none"),
                       (leaked is not None and f"{leaked[0]:z.3f}" == f"{leaked[1]:z.3f}", "still"), (True, "moves")])
    low, high = leaked or (0.0, 0.0)
    return {name: says[name].format(**numbers) for name in ("sums", "same", "large")} | {
        "leak": words["leak_says"][leak].format(row=row, low=low, high=high)}


def patterns(words: dict, n: int, shape: sparse_masks.Shape, causal: bool, chosen: np.ndarray,
             random: np.ndarray) -> dict[str, str]:
    """What is said of the patterns for n tokens. chosen, random: the reach of the chosen pattern and of random keys."""
    whom = words["whom"]["causal" if causal else "all"]
    needed = sparse_masks.layers_needed(chosen)
    walk, helped = (sparse_masks.layers_needed(sparse_masks.reach(sparse_masks.pattern(
        name, n, sparse_masks.Shape(window=shape.window), causal), causal)) for name in ("window", "global"))
    return {"needed": words["never" if needed is None else "after"].format(count=needed, whom=whom),
            "window": words["windows"]["causal" if causal else "all"].format(
                window=shape.window, n=n, walk=walk, helped=helped),
            "dilated": words["dilateds"]["plain" if shape.dilation == 1 else "gaps"].format(dilation=shape.dilation),
            "drawn": _random(words["randoms"], n, shape, causal, random)}


def _random(words: dict, n: int, shape: sparse_masks.Shape, causal: bool, reach: np.ndarray) -> str:
    """What random keys connect in this draw, and why not all where they do not."""
    needed = sparse_masks.layers_needed(reach)
    allowed = sparse_masks.pattern("random", n, shape, causal) & ~np.eye(n, dtype=bool)
    heard = np.asarray(allowed.any(0))[:n - 1 if causal else n]   # of a causal text no token follows the last
    unheard = int((~heard).sum())
    case = first_true([(needed is not None, "all"), (unheard > 0, "unheard"), (True, "parts")])
    return words[case].format(random=shape.random, count=needed, unheard=unheard, share=format_share(reach[-1]))


def model(words: dict, lost: Mapping[HeadId, float]) -> str:
    """Which heads of a model lose least and most."""
    ranked = sorted(lost.items(), key=lambda item: item[1])
    (least, little), (most, much) = ranked[0], ranked[-1]
    case = first_true([(format_share(much) == format_share(0.0), "nothing"),
                       (format_share(little) == format_share(much), "same"), (True, "between")])
    return words["models"][case].format(least=head_label(*least), little=format_share(little), most=head_label(*most),
                                        much=format_share(much))
