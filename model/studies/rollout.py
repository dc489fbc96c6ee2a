"""Attention over all layers at once: rollout and attention flow (Abnar & Zuidema 2020), and what a model that looks
evenly would give. numpy only.

Both follow a token back to the input through the heads' mean W of each layer, with half of the token staying in the
residual stream: A = ½W + ½I. Rollout multiplies the A of all layers; flow takes them as the capacities of a network and
asks how much can flow from the output to each input token.
"""
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from model.core.masks import Mask

EMPTY = 1e-12   # an edge with less capacity left than this is full


def with_residual(weights: np.ndarray) -> np.ndarray:
    """½W + ½I, float64 (query, key), of weights (head, query, key) averaged over heads (Abnar & Zuidema 2020)."""
    return weights.astype(np.float64).mean(0) / 2 + np.eye(weights.shape[-1]) / 2


def rollout(steps: Sequence[np.ndarray]) -> np.ndarray:
    """A_L · … · A_1, float64 (query, key), of the layers' A in the model's order (Abnar & Zuidema 2020, equation 1)."""
    total = np.eye(len(steps[0]))
    for step in steps:
        total = step @ total
    return total


def uniform_weights(allowed: Mask, tokens: int) -> np.ndarray:
    """Weights (1 or head, query, key) of a layer that looks evenly at every allowed key: the null of both measures."""
    may = allowed.block(slice(0, tokens), slice(0, tokens)).astype(np.float64).reshape(-1, tokens, tokens)
    return may / np.maximum(may.sum(-1, keepdims=True), 1)


def flow(steps: Sequence[np.ndarray], rows: np.ndarray,
         report: Callable[[float], None] = lambda share: None) -> np.ndarray:
    """The maximum flow from the last layer's tokens, which may give `rows` (token) of it, to each input token, float64
    (token).

    Each token has the network for itself (Abnar & Zuidema 2020), so the numbers do not sum to one. Exact up to
    rounding: Dinic 1970. """
    flows = []
    for sink in range(len(rows)):
        report(sink / len(rows))
        flows.append(_FlowNetwork(steps, rows).max_flow(sink))
    return np.array(flows)


class _FlowNetwork:
    """Node layer · tokens + token, layer 0 the input, and a source above the last layer. Edge e and its reverse e ^ 1
    stand side by side."""

    def __init__(self, steps: Sequence[np.ndarray], rows: np.ndarray) -> None:
        tokens = len(rows)
        self.source = (len(steps) + 1) * tokens
        self.target: list[int] = []       # the node that each edge leads to
        self.capacity: list[float] = []   # what each edge can still take
        self.out: list[list[int]] = [[] for _ in range(self.source + 1)]   # the edges of each node
        for token in np.flatnonzero(rows):
            self._join(self.source, len(steps) * tokens + int(token), float(rows[token]))
        for layer, step in enumerate(steps):
            for query, key in np.argwhere(step > EMPTY).tolist():
                self._join((layer + 1) * tokens + query, layer * tokens + key, float(step[query, key]))

    def _join(self, start: int, end: int, capacity: float) -> None:
        for node, other, size in ((start, end, capacity), (end, start, 0.0)):
            self.out[node].append(len(self.target))
            self.target.append(other)
            self.capacity.append(size)

    def max_flow(self, sink: int) -> float:
        """The maximum flow to this node: while there is a path, all shortest paths are filled."""
        total = 0.0
        while (far := self._distances(sink))[self.source] >= 0:
            total += self._fill(sink, far)
        return total

    def _distances(self, sink: int) -> list[int]:
        """How many edges lie on the shortest path from each node to the sink; −1 where there is none."""
        far = [-1] * len(self.out)
        far[sink] = 0
        waiting = deque([sink])
        while waiting:
            node = waiting.popleft()
            for edge in self.out[node]:
                other = self.target[edge]
                if far[other] < 0 and self.capacity[edge ^ 1] > EMPTY:
                    far[other] = far[node] + 1
                    waiting.append(other)
        return far

    def _fill(self, sink: int, far: list[int]) -> float:
        """Fills every path that comes one edge nearer to the sink with each step; how much that lets through."""
        path: list[int] = []   # edges, from the source
        total, node, tried = 0.0, self.source, [0] * len(self.out)
        while True:
            if node == sink:
                push = min(self.capacity[edge] for edge in path)
                total += push
                for edge in path:
                    self.capacity[edge] -= push
                    self.capacity[edge ^ 1] += push
                full = next(place for place, edge in enumerate(path) if self.capacity[edge] <= EMPTY)
                node = self.target[path[full] ^ 1]
                del path[full:]
            following = self._next(node, far, tried)
            if following is not None:
                path.append(following)
                node = self.target[following]
            elif node == self.source:
                return total
            else:
                node = self.target[path.pop() ^ 1]
                tried[node] += 1

    def _next(self, node: int, far: list[int], tried: list[int]) -> int | None:
        """The first edge of a node, of those not tried, that is not full and comes nearer to the sink."""
        edges = self.out[node]
        while tried[node] < len(edges):
            edge = edges[tried[node]]
            if self.capacity[edge] > EMPTY and far[self.target[edge]] == far[node] - 1:
                return edge
            tried[node] += 1
        return None
