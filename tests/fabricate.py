"""Records made of random numbers, with a different prime for every axis and one token that occurs twice."""
import numpy as np

from model.core.masks import Causal, Full
from model.core.query import Kind, Query
from model.core.record import AttentionMap, AttentionRecord, Card, Layer, Tokens, Verification

LAYERS, HEADS, KV_HEADS, QUERIES, KEYS, D_K, D_V = 2, 6, 3, 7, 11, 5, 13


def tokens(n: int, special: tuple[int, ...] = (), pieces: bool = False) -> Tokens:
    """n tokens t0, t1, …; the last repeats the second's text. With `pieces` tokens 2 and 3 are one word."""
    texts = [f"t{place}" for place in range(n)]
    if n > 2:
        texts[-1] = texts[1]
    words = [-1 if place in special else (2 if pieces and place == 3 else place) for place in range(n)]
    return Tokens(tuple(texts), tuple(range(100, 100 + n)), tuple(place in special for place in range(n)),
                  tuple((3 * place, 3 * place + 2) for place in range(n)), tuple(words),
                  tuple(-1 if place in special else 0 for place in range(n)),
                  (False,) * n)


def layer(index: int = 0, queries: int = QUERIES, keys: int = KEYS, seed: int = 0, **changes) -> Layer:
    rng = np.random.default_rng(seed + index)
    parts = {"query": rng.normal(size=(HEADS, queries, D_K)).astype(np.float32),
             "key": rng.normal(size=(KV_HEADS, keys, D_K)).astype(np.float32),
             "value": rng.normal(size=(KV_HEADS, keys, D_V)).astype(np.float32), "scale": 1.7,
             "allowed": Full()} | changes
    return Layer(index, **parts)


def record(n: int = QUERIES, kind: Kind = Kind.SELF, special: tuple[int, ...] = (0,), text: str = "the text",
           **changes) -> AttentionRecord:
    allowed = Causal() if kind is Kind.CAUSAL else Full()
    layers = tuple(layer(index, n, n, allowed=allowed, **changes) for index in range(LAYERS))
    both = tokens(n, special, pieces=n > 4)
    card = Card("fake", "Fabricated", "0" * 64, "none", 0, HEADS * D_K, D_K, LAYERS, HEADS, KV_HEADS, "none", "none",
                "none", 512)
    return AttentionRecord(Query("fake", "0" * 64, text), card, (AttentionMap(kind, both, both, layers),),
                           Verification("verified", 1e-7, 1e-7, 1e-7))
