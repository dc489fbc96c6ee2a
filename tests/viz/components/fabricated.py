"""Records made up for the components: any number of layers, heads and tokens, no model."""
import numpy as np

from model.core.displayed import DisplayedHead, displayed_head
from model.core.heads import Overview, overview
from model.core.masks import Causal, Full
from model.core.query import Kind, Query
from model.core.record import AttentionMap, AttentionRecord, Card, Layer, Tokens, Verification
from model.core.view import View

SENTENCE = ["[CLS]", "The", "animal", "didn", "'", "t", "cross", "the", "street", "because", "it", "was", "too",
            "tired", ".", "[SEP]"]


def tokens(texts=SENTENCE, words=None, segments=None, unknown=()) -> Tokens:
    special = [text in ("[CLS]", "[SEP]") for text in texts]
    words = words or [-1 if mark else i for i, mark in enumerate(special)]
    segments = segments or [-1 if mark else 0 for mark in special]
    return Tokens(tuple(texts), tuple(range(len(texts))), tuple(special), tuple((i, i + 1) for i in range(len(texts))),
                  tuple(words),
                  tuple(segments), tuple(i in unknown for i in range(len(texts))))


def many(count: int) -> Tokens:
    """A long text with repeated words."""
    return tokens([("the", "river", "was", "over-flowing", "and", "it", "ran")[i * i % 7] for i in range(count)])


def record(sides: Tokens | tuple[Tokens, Tokens], heads=(5, 5, 5), kind: Kind = Kind.SELF, seed: int = 0,
           d_k: int = 16) -> AttentionRecord:
    """Random queries and keys, sharp enough for visible structure; heads is the number of heads of each layer."""
    queries, keys = sides if isinstance(sides, tuple) else (sides, sides)
    random = np.random.default_rng(seed)
    allowed = Causal() if kind is Kind.CAUSAL else Full()
    layers = []
    for index, count in enumerate(heads):
        place = np.exp(1j * np.outer(np.arange(max(len(queries), len(keys))),
                                     1 / 3 ** np.arange(d_k // 2))).view(float).astype(np.float32)
        sharp = random.uniform(0, 1.2, (count, 1, 1))
        query = sharp * np.stack([np.roll(place, random.integers(-2, 3), 0)[:len(queries)] for _ in range(count)])
        query = query + random.normal(0, 0.7, query.shape)
        key = place[None, :len(keys)] + random.normal(0, 0.9, (count, len(keys), d_k))
        layers.append(Layer(index, query.astype(np.float32), key.astype(np.float32),
                            np.zeros((count, len(keys), 3), np.float32), 0.6, allowed))
    attention_map = AttentionMap(kind, queries, keys, tuple(layers))
    card = Card("made-up", "made up", "0", "none", 0, d_k, d_k, len(heads), max(heads), max(heads), "none", "words",
                "none", 4096)
    return AttentionRecord(Query("made-up", "0", "text"), card, (attention_map,), Verification("verified"))


def shown(made: AttentionRecord, **view) -> DisplayedHead:
    return displayed_head(made, View(kind=made.kinds[0], **view))


def overview_of(made: AttentionRecord) -> Overview:
    return overview(made.maps[0])
