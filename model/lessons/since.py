"""Compute what has changed since 2017: cached decoding, block designs, mixture of experts and scaling laws."""
import json
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.core.attention import softmax
from clearhead.model.core.files import ASSETS
from clearhead.model.core.query import frozen, with_arrays
from clearhead.model.core.statistics import top_p
from clearhead.model.lessons.positions import rotate, sinusoidal

if TYPE_CHECKING:
    from torch import Tensor


NextWords = Callable[[tuple[int, ...]], np.ndarray]     # ln P of every word after a prefix
Path = tuple[int, ...]                                  # word ids
STRATEGIES = ("greedy", "beam", "top_k", "top_p")


@frozen
class Node:
    """A node of the decoding tree: one word."""

    path: Path        # the words up to this one, without the prompt
    given: float      # P(word | preceding words)
    whole: float      # P(path | prompt)
    kept: float       # probability of the path under the strategy, from 0 (pruned) to 1 (certain)


def greedy(next_words: NextWords, prompt: Path, steps: int) -> Path:
    """Decode greedily: append the most probable word at each step."""
    written: Path = ()
    for _ in range(steps):
        written += (int(next_words(prompt + written).argmax()),)
    return written


def beam(next_words: NextWords, prompt: Path, steps: int, width: int) -> list[list[tuple[Path, float]]]:
    """Run beam search. Return the `width` most probable (path, ln P) after each step, most probable first."""
    found: list[list[tuple[Path, float]]] = [[((), 0.0)]]
    for _ in range(steps):
        longer = [((*path, word), total + float(log)) for path, total in found[-1]
                  for word, log in enumerate(next_words(prompt + path))]
        found.append(sorted(longer, key=lambda each: -each[1])[:width])
    return found[1:]


def top_k(probabilities: np.ndarray, k: int) -> np.ndarray:
    """Keep only the k most probable words and renormalise, (word) (Fan et al. 2018)."""
    kept = np.zeros_like(probabilities)
    likeliest = np.argsort(-probabilities, kind="stable")[:k]
    kept[likeliest] = probabilities[likeliest]
    return kept / kept.sum()


def best(next_words: NextWords, prompt: Path, steps: int) -> tuple[Path, float]:
    """Find the most probable path by exact search with pruning, and return it with its probability."""
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
         branches: int) -> list[Node]:
    """Return the nodes of the tree, level by level. Every node has its `branches` most probable words as children, plus
    those on the strategy's path (greedy and beam). amount: the beam's width, k or p."""
    ways: set[Path] = set()
    if strategy in ("greedy", "beam"):   # greedy decoding is a beam of width 1
        width = 1 if strategy == "greedy" else int(amount)
        ways = {path for step in beam(next_words, prompt, steps, width) for path, _ in step}
    shown: list[Node] = []
    level = [Node((), 1.0, 1.0, 1.0)]
    for _ in range(steps):
        level = [child for node in level
                 for child in _children(node, np.exp(next_words(prompt + node.path)), strategy, amount, branches, ways)]
        shown += level
    return shown


def _children(node: Node, given: np.ndarray, strategy: str, amount: float, branches: int,
              ways: set[Path]) -> list[Node]:
    """Return the node's children to draw, most probable first."""
    drawn = np.argsort(-given, kind="stable")[:branches].tolist()
    if strategy == "top_k":
        share = top_k(given, int(amount))
    elif strategy == "top_p":
        share = top_p(given, amount)
    else:
        share = np.array([(*node.path, word) in ways for word in range(len(given))], float)
        drawn += [word for word in np.flatnonzero(share).tolist() if word not in drawn]
    return [Node((*node.path, word), float(given[word]), node.whole * float(given[word]),
                 node.kept * float(share[word])) for word in drawn]


WIDTH, HEADS, TOKENS = 96, 8, 24
HEAD = WIDTH // HEADS             # d_k = d_v
INNER = 4 * WIDTH                 # d_ff; SwiGLU uses two thirds, for the same cost with three matrices instead of two
SWITCHES = ("pre", "rms", "swiglu", "rotary", "bare")
BYTES = 2                         # bytes per number in float16 or bfloat16


@frozen
class Design:
    """A block design; the defaults are those of Vaswani et al. 2017."""

    pre: bool = False        # norms before attention and feed-forward (Xiong et al. 2020) instead of after the sum
    rms: bool = False        # RMSNorm (Zhang & Sennrich 2019)
    swiglu: bool = False     # a gated feed-forward layer (Shazeer 2020)
    rotary: bool = False     # rotary positions (Su et al. 2021) instead of vectors added to the stream
    bare: bool = False       # no biases, including in norms (PaLM, Chowdhery et al. 2022)
    groups: int = HEADS      # key and value heads, 1 to 8 (Shazeer 2019, Ainslie et al. 2023)


PAPER = Design()
TODAY = Design(True, True, True, True, True, 2)


@with_arrays
class Outcome:
    """The result of a block for one text, float64."""

    output: np.ndarray      # output of the block (token, width)
    normal: np.ndarray      # output of the first norm, before its gain (token, width)
    weights: np.ndarray     # attention weights (head, query, key)
    keys: np.ndarray        # cached keys (group, token, d_k)
    values: np.ndarray      # cached values (group, token, d_v)
    inner: np.ndarray       # input of the feed-forward layer's last matrix (token, d_ff)


def parameters(design: Design) -> dict[str, int]:
    """Count the trained parameters by part: attention, feed_forward and norms. Sinusoidal and rotary positions have
    none."""
    kept, inner = design.groups * HEAD, INNER * 2 // 3 if design.swiglu else INNER
    matrices, biases = (3, 2 * inner + WIDTH) if design.swiglu else (2, inner + WIDTH)
    offsets = 0 if design.bare else 1
    return {"attention": 2 * WIDTH * WIDTH + 2 * WIDTH * kept + offsets * (2 * WIDTH + 2 * kept),
            "feed_forward": matrices * WIDTH * inner + offsets * biases,
            "norms": 2 * WIDTH * (1 if design.rms or design.bare else 2)}


def cache_bytes(design: Design) -> int:
    """Return the bytes per token in the block's key–value cache, which stores one key and one value per group."""
    return 2 * design.groups * HEAD * BYTES


def merge(matrix: np.ndarray, groups: int) -> np.ndarray:
    """Merge heads (head, …) into groups (group, …) by averaging neighbouring heads, as in the initialisation by Ainslie
    et al. 2023. If the number of heads is not divisible by `groups`, the first groups are larger."""
    return np.stack([part.mean(0) for part in np.array_split(matrix, groups)])


def group_of(groups: int) -> np.ndarray:
    """Return the group of each head, (head)."""
    return np.repeat(np.arange(groups), [len(part) for part in np.array_split(np.arange(HEADS), groups)])


@lru_cache(maxsize=1)
def weights() -> dict[str, np.ndarray]:
    """Draw the block's random weights once for all designs, such that designs only differ where intended."""
    rng, head, up, wide = np.random.default_rng(2017), (HEADS, WIDTH, HEAD), (WIDTH, INNER), (WIDTH, INNER * 2 // 3)
    shapes = {"q": head, "k": head, "v": head, "o": (WIDTH, WIDTH), "up": up, "down": up[::-1], "gate": wide,
              "wide": wide, "narrow": wide[::-1]}
    return ({name: rng.normal(size=shape) / np.sqrt(shape[-2]) for name, shape in shapes.items()}
            | {f"b_{name}": 0.1 * rng.normal(size=(*shape[:-2], shape[-1])) for name, shape in shapes.items()}
            | {"text": rng.normal(0.2, 1.0, size=(TOKENS, WIDTH))})


def linear(design: Design, x: np.ndarray, name: str) -> np.ndarray:
    """Multiply x (token, …) by a matrix and add its bias, if the design has any."""
    made = x @ weights()[name]
    return made if design.bare else made + weights()[f"b_{name}"]


def normalised(x: np.ndarray, rms: bool) -> np.ndarray:
    """Normalise each row (…, width), without gain and bias. RMSNorm does not subtract the mean."""
    centred = x if rms else x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-6)


def attention(design: Design, x: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, ...]:
    """Compute causal attention over x (token, width). Return its output (token, width), weights, keys and values."""
    learned, offset = weights(), 0.0 if design.bare else 1.0
    query, key, value = (np.einsum("td,hde->hte", x, merge(learned[name], count))
                         + offset * merge(learned[f"b_{name}"], count)[:, None]
                         for name, count in (("q", HEADS), ("k", design.groups), ("v", design.groups)))
    if design.rotary:
        query, key = rotate(query, places), rotate(key, places)
    read = group_of(design.groups)
    scores = query @ key[read].transpose(0, 2, 1) / np.sqrt(HEAD)
    shares = softmax(scores, np.tri(len(x), dtype=bool))
    mixed = (shares @ value[read]).transpose(1, 0, 2).reshape(len(x), WIDTH)
    return linear(design, mixed, "o"), shares, key, value


def feed_forward(design: Design, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Apply the feed-forward layer to x (token, width). Return its output and the input of its last matrix."""
    if not design.swiglu:
        inner = np.maximum(0, linear(design, x, "up"))
        return linear(design, inner, "down"), inner
    gate = linear(design, x, "gate")
    inner = gate / (1 + np.exp(-gate)) * linear(design, x, "wide")
    return linear(design, inner, "narrow"), inner


@lru_cache(maxsize=256)
def run(design: Design, start: int = 0) -> Outcome:
    """Run the text through the block. start: position of its first token."""
    places = np.arange(TOKENS) + start
    x = weights()["text"]
    if not design.rotary:
        x = x + sinusoidal(places, WIDTH)

    def norm(rows: np.ndarray) -> np.ndarray:
        return normalised(rows, design.rms)

    read = norm(x) if design.pre else x
    mixed, shares, keys, values = attention(design, read, places)
    first = read if design.pre else norm(x + mixed)
    x = x + mixed if design.pre else first
    added, inner = feed_forward(design, norm(x) if design.pre else x)
    x = x + added
    return Outcome(x if design.pre else norm(x), first, shares, keys, values, inner)


@frozen
class BlockNumbers:
    """Summary numbers of a block."""

    parameters: int    # number of parameters
    cache: int         # bytes per token in the cache
    length: float      # mean length of the block's output rows
    mean: float        # largest absolute mean of a row of the first norm's output
    zeros: float       # share of exact zeros in the input of the feed-forward layer's last matrix
    moved: float       # largest change in an attention weight if the text is shifted by one position


def numbers(design: Design) -> BlockNumbers:
    """Compute the numbers that depend on the design."""
    here, later = run(design), run(design, 1)
    return BlockNumbers(sum(parameters(design).values()), cache_bytes(design),
                        float(np.linalg.norm(here.output, axis=-1).mean()), float(np.abs(here.normal.mean(-1)).max()),
                        float((here.inner == 0).mean()), float(np.abs(later.weights - here.weights).max()))


FILE = ASSETS / "lessons" / "experts.safetensors"
EXPERT_WIDTH, EXPERT_HEADS, EXPERTS, EXPERT_INNER = 32, 2, 4, 32
HELD_OUT = 400        # number of sentences for measuring the experts' shares

ExpertWeights = dict[str, "Tensor"]


def forward(weights: ExpertWeights, ids: "Tensor") -> "tuple[Tensor, Tensor]":
    """Return the logits (b, t, word) and the router's probabilities (b, t, expert) for ids (b, t).

    Computes all experts and selects one; a large model only computes the selected one.
    """
    import torch

    def norm(x: "Tensor") -> "Tensor":
        return x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt()

    x = weights["words"][ids] + weights["places"][:ids.shape[1]]
    query, key, value = ((norm(x) @ weights["attention"][part]).unflatten(-1, (EXPERT_HEADS, -1)).transpose(1, 2)
                         for part in range(3))
    mixed = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
    x = x + mixed.transpose(1, 2).flatten(2) @ weights["attention"][3]
    read = norm(x)
    gates = (read @ weights["router"]).softmax(-1)
    inner = torch.einsum("btd,edf->btef", read, weights["up"]).relu()
    each = torch.einsum("btef,efd->bted", inner, weights["down"])
    kept = torch.nn.functional.one_hot(gates.argmax(-1), EXPERTS) * gates
    x = x + torch.einsum("bte,bted->btd", kept, each)
    return norm(x) @ weights["output"], gates


def balancing(gates: "Tensor", there: "Tensor") -> "Tensor":
    """Compute the balancing loss in equation (4) of Fedus et al. 2021: the number of experts times Σ f_i P_i, where f_i
    is the share of tokens sent to expert i and P_i its mean router probability. It is 1 if all are equal. gates:
    (b, t, expert). there: whether a token is not padding, (b, t)."""
    import torch

    given = gates[there]
    shares = torch.nn.functional.one_hot(given.argmax(-1), EXPERTS).to(given.dtype).mean(0)
    return EXPERTS * (shares * given.mean(0)).sum()


@lru_cache(maxsize=1)
def shipped() -> dict[bool, ExpertWeights]:
    """Return the shipped weights {whether they were trained with the balancing loss: weights}."""
    from safetensors.torch import load_file

    stored = load_file(FILE)
    return {balanced: {name.removeprefix(prefix): each.float() for name, each in stored.items()
                       if name.startswith(prefix)}
            for balanced, prefix in ((True, "balanced."), (False, "free."))}


def route(words: list[str], balanced: bool) -> np.ndarray:
    """Return the router's probabilities at each word, float64 (word, expert)."""
    import torch

    with torch.no_grad():
        return forward(shipped()[balanced], torch.tensor([encode(words)]))[1][0].double().numpy()


def next_words(prefix: tuple[int, ...], balanced: bool = True) -> np.ndarray:
    """Return ln P of every word after a prefix, float64 (word)."""
    import torch

    with torch.no_grad():
        return forward(shipped()[balanced], torch.tensor([prefix]))[0][0, -1].double().log_softmax(-1).numpy()


@lru_cache(maxsize=1)
def trainings() -> dict:
    """Return the results of tools.experts on HELD_OUT unseen sentences for "balanced" and "free": each expert's
    share of tokens (`shares`) and the loss (`nats`) with the shipped weights, and the busiest expert's share by seed
    (`busiest`)."""
    from safetensors import safe_open

    with safe_open(FILE, "pt") as file:
        about = file.metadata()
    return {name: json.loads(about[name]) for name in ("shares", "nats", "busiest")}


@frozen
class RealModel:
    """The sizes of a model, from its config.json, and the parameters that follow from them."""

    name: str
    year: int
    layers: int
    heads: int          # query heads
    groups: int         # key and value heads
    head: int           # d_k
    parameters: int
    forward: float      # share of the parameters in feed-forward layers

    @property
    def bytes_per_token(self) -> int:
        """Bytes per token in the cache, for one key and one value per group and layer in 16 bits."""
        return 2 * self.layers * self.groups * self.head * BYTES


MODELS = (
    RealModel("GPT-2", 2019, 12, 12, 12, 64, 124_439_808, 0.455),
    RealModel("Llama 2 7B", 2023, 32, 32, 32, 128, 6_738_415_616, 0.642),
    RealModel("Mistral 7B", 2023, 32, 32, 8, 128, 7_241_732_096, 0.778),
    RealModel("Llama 3 8B", 2024, 32, 32, 8, 128, 8_030_261_248, 0.702),
    RealModel("SmolLM2 135M", 2024, 30, 9, 3, 64, 134_515_008, 0.592),
)


PER_TOKEN = 6                       # approximate floating-point operations per parameter and token in training
PETAFLOP_DAY = 1e15 * 24 * 3600     # floating-point operations


@frozen
class Law:
    """A scaling law: loss(N, D) = E + A / N^α + B / D^β in nats per token, for N parameters and D tokens."""

    floor: float     # E
    a: float         # A
    b: float         # B
    alpha: float     # α
    beta: float      # β

    def loss(self, parameters: np.ndarray | float, tokens: np.ndarray | float) -> np.ndarray:
        """Return the loss in nats per token."""
        return self.floor + self.a / np.asarray(parameters)**self.alpha + self.b / np.asarray(tokens)**self.beta

    def best(self, compute: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
        """Return the (parameters, tokens) with the lowest loss subject to 6 N D = compute, in closed form."""
        pairs = np.asarray(compute, np.float64) / PER_TOKEN
        ratio = (self.alpha * self.a / (self.beta * self.b)) ** (1 / (self.alpha + self.beta))
        parameters = ratio * pairs ** (self.beta / (self.alpha + self.beta))
        return parameters, pairs / parameters


HOFFMANN = Law(1.69, 406.4, 410.7, 0.34, 0.28)
BESIROGLU = Law(1.8172, 482.01, 2085.43, 0.3478, 0.3658)


def kaplan(compute: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """Return (parameters without embeddings, tokens) as recommended by Kaplan et al.: N = 1.3e9 · C^0.73 with C in
    petaflop-days, and D from 6 N D = C."""
    parameters = 1.3e9 * (np.asarray(compute, np.float64) / PETAFLOP_DAY) ** 0.73
    return parameters, np.asarray(compute) / PER_TOKEN / parameters


WORDS = ("<start>", ".",
         "the", "old", "cat", "dog", "man", "woman", "king", "child", "tree", "sleeps", "sings", "barks", "in", "house",
         "garden",
         "le", "vieux", "chat", "chien", "homme", "dort", "chante", "aboie", "dans", "la", "maison",
         "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "plus", "is")


def encode(words: list[str]) -> list[int]:
    """Return the ids of the words. Raises ValueError for an unknown word."""
    return [WORDS.index(word) for word in words]
