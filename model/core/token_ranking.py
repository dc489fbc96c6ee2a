"""Which heads look most from one token, and which look most at it: each head by the largest single weight that it has
there."""
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from model.core import heads
from model.core.models import Models
from model.core.query import Kind, Query
from model.core.record import AttentionMap, Layer, Reported
from model.core.types import Progress


@dataclass(frozen=True)
class TokenRankingQuery:
    """The heads of one kind by what they do at one token."""

    query: Query
    kind: Kind
    token: int   # a position in the map's queries

    def answer(self, models: Models, report: Progress) -> "TokenRanking":
        """The ranking in the query's record."""
        return token_ranking(models.record(self.query, report)[self.kind], self.token)


@dataclass(frozen=True)
class Link:
    """The largest weight of one head between a token and another one."""

    layer: int      # its number in the model
    head: int       # its number in the layer
    other: int      # the other token: a key of links from the token, a query of links at it
    weight: float   # 0 to 1


@dataclass(frozen=True)
class TokenRanking:
    """Every head once on each side, the largest weight first; ties in the model's own order."""

    from_token: tuple[Link, ...]
    at_token: tuple[Link, ...]   # empty for cross-attention, whose queries nobody looks at

    @property
    def nbytes(self) -> int:
        """Bytes of all links, about."""
        return 200 * (len(self.from_token) + len(self.at_token))


def token_ranking(attention_map: AttentionMap, token: int) -> TokenRanking:
    """The ranking for one token. The token itself and those that the tokenizer added are no partners: most heads rest
    on them. A head whose weights to all partners are 0 does not stand in it."""
    cross = attention_map.kind.base is Kind.CROSS
    partners = [~np.array(side.special, bool) for side in (attention_map.keys, attention_map.queries)]
    if not cross:
        for side in partners:
            side[token] = False
    rows = _largest(((layer.index, heads.row_weights(layer, token)) for layer in attention_map.layers), partners[0])
    columns = () if cross else _largest(((layer.index, _column(layer, token)) for layer in attention_map.layers),
                                        partners[1])
    return TokenRanking(rows, columns)


def _column(layer: Layer | Reported, key: int) -> np.ndarray:
    """What one token gets in every head of the layer, float32 (head, query)."""
    column = np.zeros(layer.shape[:2], np.float32)
    for rows, keys, block in heads.weight_blocks(layer):
        if keys.start <= key < keys.stop:
            column[:, rows] = block[:, :, key - keys.start]
    return column


def _largest(layers: Iterator[tuple[int, np.ndarray]], partners: np.ndarray) -> tuple[Link, ...]:
    """The largest weight of every head among the partners; `layers` gives (number, (head, token))."""
    links = []
    for layer, numbers in layers:
        among = np.where(partners, numbers, 0)
        links += [Link(layer, head, int(row.argmax()), float(row.max())) for head, row in enumerate(among)]
    return tuple(sorted((link for link in links if link.weight > 0),
                        key=lambda link: (-link.weight, link.layer, link.head)))
