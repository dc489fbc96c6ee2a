"""Create records of random numbers, for tests that need no model. `items` creates handout items from them."""
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clearhead.model.core.attention import Causal, Dense, Full
from clearhead.model.core.heads import Overview, overview
from clearhead.model.core.query import Box, Hide, Kind, Query
from clearhead.model.core.record import AttentionMap, AttentionRecord, Card, Layer, Verification
from clearhead.model.core.tokens import Tokens, patch_tokens
from clearhead.model.core.view import DisplayedHead, View, displayed_head

# a different number for every axis, so that transposed axes are detected
LAYERS, HEADS, KV_HEADS, QUERIES, KEYS, D_K, D_V = 2, 6, 3, 7, 11, 5, 13
SENTENCE = ["[CLS]", "The", "animal", "didn", "'", "t", "cross", "the", "street", "because", "it", "was", "too",
            "tired", ".", "[SEP]"]
HOSTILE = ("$x_1$", "<script>alert(1)</script>", "=SUM(A1)", "+1", "-", "@here", "'quoted", "\t=1", " =1", "a\0b",
           "\0", "\ud800", "x\u202ey", "\ufffe", "👨‍👩‍👧‍👦", "العربية", "שלום", "中文字", "한국어", "हिन्दी",
           "it", "it", "", " ", "\n", '"', "a,b", "]]>", "&amp;", "\\", "W" * 60, "[UNK]")


def tokens(texts: int | Sequence[str] = SENTENCE, special: Sequence[int] | None = None,
           words: Sequence[int] | None = None, segments: Sequence[int] | None = None) -> Tokens:
    """Create tokens with these texts, or this number of tokens t0, t1, …, the last of which repeats the second's text.

    special: indices of special tokens; [CLS] and [SEP] by default. Token i covers characters 3i and 3i + 1 of the text.
    """
    if isinstance(texts, int):
        texts = [f"t{1 if at == texts - 1 > 1 else at}" for at in range(texts)]
    places = range(len(texts))
    special = [at for at in places if texts[at] in ("[CLS]", "[SEP]")] if special is None else special
    return Tokens(tuple(texts), tuple(100 + at for at in places), tuple(at in special for at in places),
                  tuple((3 * at, 3 * at + 2) for at in places),
                  tuple(words or [-1 if at in special else at for at in places]),
                  tuple(segments or [-1 if at in special else 0 for at in places]),
                  tuple(text == "[UNK]" for text in texts))


def repeating(count: int) -> Tokens:
    """Create the tokens of a long text that repeats seven words."""
    return tokens([("the", "river", "was", "over-flowing", "and", "it", "ran")[at * at % 7] for at in range(count)])


def layer(index: int = 0, queries: int = QUERIES, keys: int = KEYS, seed: int = 0, **changes) -> Layer:
    """Create a layer of normally distributed numbers with two query heads per key head. changes: replace its fields."""
    rng = np.random.default_rng(seed + index)
    parts: dict[str, Any] = {
        "query": rng.normal(size=(HEADS, queries, D_K)).astype(np.float32),
        "key": rng.normal(size=(KV_HEADS, keys, D_K)).astype(np.float32),
        "value": rng.normal(size=(KV_HEADS, keys, D_V)).astype(np.float32), "scale": 1.7, "allowed": Full()} | changes
    return Layer(index, **parts)


def record(texts: int | Sequence[str] = QUERIES, kind: Kind = Kind.SELF, keys: Sequence[str] | None = None, *,
           special: Sequence[int] | None = None, text: str | None = None, layers: int = LAYERS,
           **changes) -> AttentionRecord:
    """Create a record over these tokens (and these keys, for cross-attention), with layers from `layer`.

    If `texts` is a number, the first token is special, and the third and fourth tokens form one word.
    """
    if isinstance(texts, int):
        special = (0,) if special is None else special
        words = [-1 if at in special else 2 if at == 3 and texts > 4 else at for at in range(texts)]
        queries = tokens(texts, special, words)
    else:
        queries = tokens(texts, special)
    other = queries if keys is None else tokens(keys, special)
    changes = {"allowed": _mask_of(kind)} | changes
    made = [layer(index, len(queries), len(other), **changes) for index in range(layers)]
    joined = "the text" if isinstance(texts, int) else "".join(texts)
    return _recorded(kind, queries, other, made, joined if text is None else text)


def patterned(sides: Tokens | tuple[Tokens, Tokens], heads: Sequence[int] = (5, 5, 5), kind: Kind = Kind.SELF,
              seed: int = 0, d_k: int = 16) -> AttentionRecord:
    """Create a record whose heads, so many in each layer, attend to neighbours with varying sharpness."""
    queries, keys = sides if isinstance(sides, tuple) else (sides, sides)
    random = np.random.default_rng(seed)
    angles = np.outer(np.arange(max(len(queries), len(keys))), 1 / 3 ** np.arange(d_k // 2))
    places = np.exp(1j * angles).view(float).astype(np.float32)
    layers = []
    for index, count in enumerate(heads):
        sharp = random.uniform(0, 1.2, (count, 1, 1))
        query = sharp * np.stack([np.roll(places, random.integers(-2, 3), 0)[:len(queries)] for _ in range(count)])
        query = query + random.normal(0, 0.7, query.shape)
        key = places[None, :len(keys)] + random.normal(0, 0.9, (count, len(keys), d_k))
        value = np.zeros((count, len(keys), 3), np.float32)
        layers.append(Layer(index, query.astype(np.float32), key.astype(np.float32), value, 0.6, _mask_of(kind)))
    return _recorded(kind, queries, keys, layers, "text")


def pictured(rows: int = 4, columns: int = 6, heads: Sequence[int] = (3, 3), size: int = 14, hidden: int | None = None,
             image: str | None = None) -> AttentionRecord:
    """Create a record of rows × columns patches of `size` pixels behind [CLS]. hidden: a token the query hides."""
    made = patterned(patch_tokens(rows, columns, covered=(0.96, 1)), heads=heads)
    shades = np.linspace(0, 255, rows * size * round(columns * size / 0.96) * 3).astype(np.uint8)
    edits = frozenset() if hidden is None else frozenset({Hide("source", hidden)})
    if hidden is not None:
        hides = replace_mask(made.maps[0], hidden)
        made = replace(made, maps=(hides,))
    return replace(made, picture=shades.reshape(rows * size, -1, 3),
                   query=Query("fake/model", "0" * 40, "", edits=edits, image=image or "ab" * 32))


def prompted(sharp: float = 0.0) -> AttentionRecord:
    """Create a record of a picture of 2 × 3 blocks of 20 pixels, each of its own colour, a question and an answer.

    ▦₁ are the blocks; ▦₂ cuts the left third in 2 × 1 and does not see the rest; ▦ 6 has no place. `sharp` is
    added to the key of ▦₁ 0,2 and to the queries behind the picture, which makes the patch a visual sink.
    """
    texts = ("<s>", *(f"▦₁ {row},{column}" for row in (0, 1) for column in range(3)), "▦ 6", "▦₂ 0,0", "▦₂ 1,0",
             "Wh", "at", "?", "cat", "</s>")
    blocks = [Box(column / 3, row / 2, (column + 1) / 3, (row + 1) / 2) for row in (0, 1) for column in range(3)]
    boxes = (None, *blocks, None, *blocks[::3], *[None] * 5)
    segments = tuple(0 if 10 <= place < 14 else -1 for place in range(15))
    side = replace(tokens(texts, (0, 7, 14)), segments=segments, boxes=boxes)
    made = patterned(side, heads=(2, 2), kind=Kind.CAUSAL)
    layers = []
    for index in (0, 1):
        each = made.maps[0].captured(index, "")
        query, key = each.query.copy(), each.key.copy()
        query[:, 10:] += sharp
        key[:, 3] += sharp
        layers.append(replace(each, query=query, key=key))
    colours = np.arange(6, dtype=np.uint8).reshape(2, 3) * 40
    picture = np.repeat(np.repeat(np.stack([colours, 255 - colours, colours // 2], -1), 20, 0), 20, 1)
    return replace(made, maps=(replace(made.maps[0], layers=tuple(layers)),), picture=picture,
                   query=Query("fake/model", "0" * 40, "What?", continuation=(13, 14), image="ab" * 32))


def replace_mask(attention_map: AttentionMap, hidden: int) -> AttentionMap:
    """Return the map with a mask that hides one key from all queries."""
    count = len(attention_map.keys)
    may = np.ones((count, count), bool)
    may[:, hidden] = False
    return replace(attention_map, layers=tuple(replace(layer, allowed=Dense(may)) for layer in attention_map.layers))


def _mask_of(kind: Kind) -> Causal | Full:
    return Causal() if kind is Kind.CAUSAL else Full()


def _recorded(kind: Kind, queries: Tokens, keys: Tokens, layers: Sequence[Layer], text: str) -> AttentionRecord:
    heads, d_k = max(each.heads for each in layers), layers[0].query.shape[2]
    card = Card("fake/model", "Fabricated", "0" * 40, "none", 0, heads * d_k, d_k, len(layers), heads,
                max(len(each.key) for each in layers), "none", "none", "none", 4096)
    attention_map = AttentionMap(kind, queries, keys, tuple(layers))
    return AttentionRecord(Query("fake/model", "0" * 40, text), card, (attention_map,),
                           Verification("verified", 1e-7, 1e-7, 1e-7))


def shown(made: AttentionRecord, **view) -> DisplayedHead:
    """Return the displayed head of a record in a view with these fields."""
    return displayed_head(made, View(kind=made.kinds[0], **view))


def overview_of(made: AttentionRecord) -> Overview:
    """Return the overview of the record's first kind of attention."""
    return overview(made.maps[0])
