"""One decoder block with switches: as in 2017, or with what later models changed. Its parameters, its key–value cache,
and the numbers that come out of it.

The block is small and its weights are random: width 96, 8 heads of 12, as wide inside as in the paper, 4 times. """
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

WIDTH, HEADS, TOKENS = 96, 8, 24
HEAD = WIDTH // HEADS             # d_k = d_v
INNER = 4 * WIDTH                 # d_ff; of SwiGLU two thirds of it, so that its three matrices cost as much as two
SWITCHES = ("pre", "rms", "swiglu", "rotary", "bare")
BYTES = 2                         # of a number in float16 or bfloat16


@dataclass(frozen=True)
class Design:
    """Which block; the defaults are those of Vaswani et al. 2017."""

    pre: bool = False        # norms in front of attention and feed-forward (Xiong et al. 2020), not behind the sum
    rms: bool = False        # RMSNorm (Zhang, Sennrich 2019)
    swiglu: bool = False     # a gated feed-forward layer (Shazeer 2020)
    rotary: bool = False     # positions turn queries and keys (Su et al. 2021), nothing is added to the stream
    bare: bool = False       # no biases, those of the norms included (PaLM, Chowdhery et al. 2022)
    groups: int = HEADS      # heads of keys and values, 1 to 8 (Shazeer 2019, Ainslie et al. 2023)


PAPER = Design()
TODAY = Design(True, True, True, True, True, 2)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a block makes of one text, float64."""

    output: np.ndarray      # what leaves the block (token, width)
    normal: np.ndarray      # what the first norm puts out, before its gain (token, width)
    weights: np.ndarray     # of attention (head, query, key)
    keys: np.ndarray        # as they are kept (group, token, d_k)
    values: np.ndarray      # as they are kept (group, token, d_v)
    inner: np.ndarray       # what the last matrix of the feed-forward layer reads (token, d_ff)


def parameters(design: Design) -> dict[str, int]:
    """How many numbers training sets, by part: attention, feed_forward, norms. Sinusoids and rotations have none."""
    kept, inner = design.groups * HEAD, INNER * 2 // 3 if design.swiglu else INNER
    matrices, biases = (3, 2 * inner + WIDTH) if design.swiglu else (2, inner + WIDTH)
    offsets = 0 if design.bare else 1
    return {"attention": 2 * WIDTH * WIDTH + 2 * WIDTH * kept + offsets * (2 * WIDTH + 2 * kept),
            "feed_forward": matrices * WIDTH * inner + offsets * biases,
            "norms": 2 * WIDTH * (1 if design.rms or design.bare else 2)}


def cache_bytes(design: Design) -> int:
    """Bytes that a token leaves in the block's key–value cache: one key and one value per group."""
    return 2 * design.groups * HEAD * BYTES


def merge(matrix: np.ndarray, groups: int) -> np.ndarray:
    """Heads (head, …) merged into `groups` by taking the mean of neighbours, as Ainslie et al. 2023 begin:
    (group, …). One head fewer merges the first two; where 8 does not divide evenly, the first groups are larger."""
    return np.stack([part.mean(0) for part in np.array_split(matrix, groups)])


def group_of(groups: int) -> np.ndarray:
    """The group that each head reads (head)."""
    return np.repeat(np.arange(groups), [len(part) for part in np.array_split(np.arange(HEADS), groups)])


@lru_cache(maxsize=1)
def weights() -> dict[str, np.ndarray]:
    """The block's random weights, drawn once: what a switch leaves alone stays as it is."""
    rng = np.random.default_rng(2017)

    def drawn(*shape: int) -> np.ndarray:
        return rng.normal(size=shape) / np.sqrt(shape[-2])

    wide = INNER * 2 // 3
    return {"q": drawn(HEADS, WIDTH, HEAD), "k": drawn(HEADS, WIDTH, HEAD), "v": drawn(HEADS, WIDTH, HEAD),
            "o": drawn(WIDTH, WIDTH), "up": drawn(WIDTH, INNER), "down": drawn(INNER, WIDTH),
            "gate": drawn(WIDTH, wide), "wide": drawn(WIDTH, wide), "narrow": drawn(wide, WIDTH),
            **{f"b_{name}": 0.1 * rng.normal(size=shape) for name, shape in
               (("q", (HEADS, HEAD)), ("k", (HEADS, HEAD)), ("v", (HEADS, HEAD)), ("o", WIDTH), ("up", INNER),
                ("down", WIDTH), ("gate", wide), ("wide", wide), ("narrow", WIDTH))},
            "text": rng.normal(0.2, 1.0, size=(TOKENS, WIDTH))}


def normalised(x: np.ndarray, rms: bool) -> np.ndarray:
    """Each row (…, width) by itself, before gain and bias: RMSNorm leaves its mean where it is."""
    centred = x if rms else x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-6)


def angles(places: np.ndarray, width: int) -> np.ndarray:
    """position · 10000^(−2c/width), (position, width / 2)."""
    return places[:, None] / 10_000 ** (np.arange(width // 2) * 2 / width)


def turned(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Su et al. 2021: pairs (c, c + d/2) of x (head, token, d) turned by the angles of their positions."""
    first, second = np.split(x, 2, axis=-1)
    cos, sin = np.cos(angles(places, x.shape[-1])), np.sin(angles(places, x.shape[-1]))
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def attention(design: Design, x: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, ...]:
    """(mixed (token, width), weights, keys, values) of causal attention over x (token, width)."""
    learned, offset = weights(), 0.0 if design.bare else 1.0
    query, key, value = (np.einsum("td,hde->hte", x, merge(learned[name], count))
                         + offset * merge(learned[f"b_{name}"], count)[:, None]
                         for name, count in (("q", HEADS), ("k", design.groups), ("v", design.groups)))
    if design.rotary:
        query, key = turned(query, places), turned(key, places)
    read = group_of(design.groups)
    scores = query @ key[read].transpose(0, 2, 1) / np.sqrt(HEAD)
    scores = np.where(np.tri(len(x), dtype=bool), scores, -np.inf)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    mixed = (shares @ value[read]).transpose(1, 0, 2).reshape(len(x), WIDTH)
    return mixed @ learned["o"] + offset * learned["b_o"], shares, key, value


def feed_forward(design: Design, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(what it puts out, what its last matrix reads) for x (token, width)."""
    learned, offset = weights(), 0.0 if design.bare else 1.0
    if not design.swiglu:
        inner = np.maximum(0, x @ learned["up"] + offset * learned["b_up"])
        return inner @ learned["down"] + offset * learned["b_down"], inner
    gate = x @ learned["gate"] + offset * learned["b_gate"]
    inner = gate / (1 + np.exp(-gate)) * (x @ learned["wide"] + offset * learned["b_wide"])
    return inner @ learned["narrow"] + offset * learned["b_narrow"], inner


@lru_cache(maxsize=256)
def run(design: Design, start: int = 0) -> Outcome:
    """The same text through the block; `start` is the position of its first token."""
    places = np.arange(TOKENS) + start
    x = weights()["text"]
    if not design.rotary:
        x = x + np.concatenate([np.sin(angles(places, WIDTH)), np.cos(angles(places, WIDTH))], axis=-1)

    def norm(rows: np.ndarray) -> np.ndarray:
        return normalised(rows, design.rms)

    read = norm(x) if design.pre else x
    mixed, shares, keys, values = attention(design, read, places)
    first = read if design.pre else norm(x + mixed)
    x = x + mixed if design.pre else first
    added, inner = feed_forward(design, norm(x) if design.pre else x)
    x = x + added
    return Outcome(x if design.pre else norm(x), first, shares, keys, values, inner)


@dataclass(frozen=True)
class Numbers:
    """A block in a few numbers."""

    parameters: int    # of the block
    cache: int         # bytes per token
    length: float      # mean length of the rows that leave the block
    mean: float        # largest distance from 0 of the mean of a row that left the first norm
    zeros: float       # share of exact zeros among what the feed-forward layer's last matrix reads
    moved: float       # largest change of an attention weight where the whole text stands one position later


def numbers(design: Design) -> Numbers:
    """The numbers that the switches change."""
    here, later = run(design), run(design, 1)
    return Numbers(sum(parameters(design).values()), cache_bytes(design),
                   float(np.linalg.norm(here.output, axis=-1).mean()), float(np.abs(here.normal.mean(-1)).max()),
                   float((here.inner == 0).mean()), float(np.abs(later.weights - here.weights).max()))
