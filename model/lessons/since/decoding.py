"""How a decoder writes: greedy, by beam search, or drawn from the k likeliest words or from the likeliest that together
have p. All of it on one tree, whose branches are a model's probabilities."""
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

NextWords = Callable[[tuple[int, ...]], np.ndarray]     # ln P of every word after a prefix
Path = tuple[int, ...]                                  # the words written so far
STRATEGIES = ("greedy", "beam", "top_k", "top_p")


@dataclass(frozen=True)
class Node:
    """One word of the tree."""

    path: Path        # the words up to it, without the prompt
    given: float      # P(word | what stands before it)
    whole: float      # P(path | prompt)
    kept: float       # P of the path as the strategy writes it: 0 where it is cut off, 1 for a path that is certain


def greedy(next_words: NextWords, prompt: Path, steps: int) -> Path:
    """The likeliest word at each step."""
    written: Path = ()
    for _ in range(steps):
        written += (int(next_words(prompt + written).argmax()),)
    return written


def beam(next_words: NextWords, prompt: Path, steps: int, width: int) -> list[list[tuple[Path, float]]]:
    """The `width` likeliest (path, ln P) after each step, continued from those of the step before, the likeliest
    first."""
    found: list[list[tuple[Path, float]]] = [[((), 0.0)]]
    for _ in range(steps):
        longer = [((*path, word), total + float(log)) for path, total in found[-1]
                  for word, log in enumerate(next_words(prompt + path))]
        found.append(sorted(longer, key=lambda each: -each[1])[:width])
    return found[1:]


def top_k(probabilities: np.ndarray, k: int) -> np.ndarray:
    """Only the k likeliest words, made to sum to 1 (word); Fan et al. 2018."""
    kept = np.zeros_like(probabilities)
    likeliest = np.argsort(-probabilities, kind="stable")[:k]
    kept[likeliest] = probabilities[likeliest]
    return kept / kept.sum()


def top_p(probabilities: np.ndarray, p: float) -> np.ndarray:
    """Only the fewest likeliest words that together reach p, made to sum to 1 (word); Holtzman et al. 2020."""
    order = np.argsort(-probabilities, kind="stable")
    before = np.cumsum(probabilities[order]) - probabilities[order]
    kept = np.zeros_like(probabilities)
    chosen = order[before < p]
    kept[chosen] = probabilities[chosen]
    return kept / kept.sum()


def best(next_words: NextWords, prompt: Path, steps: int) -> tuple[Path, float]:
    """The likeliest path of all and its P, found exactly: no word is left out whose path could still be it."""
    found: Path = ()
    largest, waiting = -np.inf, [(found, 0.0)]
    while waiting:
        path, total = waiting.pop()
        if len(path) == steps:
            found, largest = (path, total) if total > largest else (found, largest)
            continue
        logs = total + next_words(prompt + path)
        waiting += [((*path, int(word)), float(logs[word])) for word in np.argsort(logs) if logs[word] > largest]
    return found, float(np.exp(largest))


def tree(next_words: NextWords, prompt: Path, steps: int, strategy: str, amount: float,
         branches: int = 3) -> list[Node]:
    """The tree's nodes by depth: of every node drawn the `branches` likeliest words, and whatever the strategy keeps on
    its way (greedy and beam) among them. amount: the beam's width, k, or p. Raises ValueError for an unknown
    strategy."""
    if strategy not in STRATEGIES:
        raise ValueError(f"tree: expected a strategy of {', '.join(STRATEGIES)}, got {strategy!r}.")
    search = ([[(path, 0.0)] for path in prefixes(greedy(next_words, prompt, steps))] if strategy == "greedy"
              else beam(next_words, prompt, steps, int(amount)) if strategy == "beam" else [])
    ways = {path for step in search for path, _ in step}
    shown: list[Node] = []
    level = [Node((), 1.0, 1.0, 1.0)]
    for _ in range(steps):
        level = [child for node in level
                 for child in _children(node, np.exp(next_words(prompt + node.path)), strategy, amount, branches, ways)]
        shown += level
    return shown


def prefixes(path: Path) -> list[Path]:
    """Its beginnings, itself included."""
    return [path[:length] for length in range(1, len(path) + 1)]


def _children(node: Node, given: np.ndarray, strategy: str, amount: float, branches: int,
              ways: set[Path]) -> list[Node]:
    """The node's children that are drawn, the likeliest first."""
    rule = {"top_k": lambda: top_k(given, int(amount)), "top_p": lambda: top_p(given, amount)}.get(strategy)
    share = rule() if rule else np.array([float((*node.path, word) in ways) for word in range(len(given))])
    drawn = np.argsort(-given, kind="stable")[:branches].tolist()
    drawn += [word for word in np.flatnonzero(share).tolist() if not rule and word not in drawn]
    return [Node((*node.path, word), float(given[word]), node.whole * float(given[word]),
                 node.kept * float(share[word])) for word in drawn]
