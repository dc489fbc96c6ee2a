"""A decoder with a mixture of experts, small enough to watch: one attention layer, then one of four feed-forward layers
for each token, chosen by a router (Shazeer et al. 2017; with one expert per token as in Fedus et al. 2021).

Its weights come with the program, trained with the loss that balances the experts and without it, by
`python -m benchmarks.experts`. """
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from model.core.assets import ASSETS
from model.lessons.since.sentences import LONGEST, WORDS, batch, encode

if TYPE_CHECKING:
    from torch import Tensor

FILE = ASSETS / "lessons" / "experts.safetensors"
WIDTH, HEADS, EXPERTS, INNER = 32, 2, 4, 32
STEPS, SIZE, RATE, BALANCE = 400, 64, 0.01, 0.01
HELD_OUT = 400        # sentences on which the experts' shares are counted

Weights = dict[str, "Tensor"]


def first_weights(seed: int) -> Weights:
    """Untrained weights."""
    import torch

    draw = torch.Generator().manual_seed(seed)
    shapes = {"words": (len(WORDS), WIDTH), "places": (LONGEST, WIDTH), "attention": (4, WIDTH, WIDTH),
              "router": (WIDTH, EXPERTS), "up": (EXPERTS, WIDTH, INNER), "down": (EXPERTS, INNER, WIDTH),
              "output": (WIDTH, len(WORDS))}
    return {name: torch.randn(shape, generator=draw) * (0.3 if name in ("words", "places") else shape[-2]**-0.5)
            for name, shape in shapes.items()}


def forward(weights: Weights, ids: "Tensor") -> "tuple[Tensor, Tensor]":
    """(logits (b, t, word), what the router gives each expert (b, t, expert)) for ids (b, t).

    Every expert is computed here and the chosen one kept; a large model computes only that one. """
    import torch

    def norm(x: "Tensor") -> "Tensor":
        return x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt()

    x = weights["words"][ids] + weights["places"][:ids.shape[1]]
    query, key, value = ((norm(x) @ weights["attention"][part]).unflatten(-1, (HEADS, -1)).transpose(1, 2)
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
    """Fedus et al. 2021, equation (4): the number of experts times Σ f_i P_i, f_i the share of tokens that expert i
    gets, P_i the mean of what the router gives it; 1 where all get the same. gates (b, t, expert), there (b, t)."""
    import torch

    given = gates[there]
    shares = torch.nn.functional.one_hot(given.argmax(-1), EXPERTS).to(given.dtype).mean(0)
    return EXPERTS * (shares * given.mean(0)).sum()


def train(balance: float, seed: int = 1, steps: int = STEPS) -> Weights:
    """Weights after so many steps; `balance` times the balancing loss is added to that of the next word."""
    import torch

    weights = {name: each.requires_grad_() for name, each in first_weights(seed).items()}
    adam = torch.optim.Adam(weights.values(), RATE)
    with torch.enable_grad():
        for step in range(steps):
            adam.param_groups[0]["lr"] = RATE * (1 - step / steps)
            ids, there = map(torch.tensor, batch(f"experts {seed} {step}", SIZE))
            logits, gates = forward(weights, ids[:, :-1])
            loss = torch.nn.functional.cross_entropy(logits[there[:, 1:]], ids[:, 1:][there[:, 1:]])
            adam.zero_grad()
            (loss + balance * balancing(gates, there[:, 1:])).backward()
            adam.step()
    return {name: each.detach() for name, each in weights.items()}


@lru_cache(maxsize=1)
def shipped() -> dict[bool, Weights]:
    """The weights that come with the program: trained with the balancing loss (True) and without it (False)."""
    from safetensors.torch import load_file

    stored = load_file(FILE)
    return {balanced: {name.removeprefix(prefix): each.float() for name, each in stored.items()
                       if name.startswith(prefix)}
            for balanced, prefix in ((True, "balanced."), (False, "free."))}


def route(words: list[str], balanced: bool) -> np.ndarray:
    """What the router gives each expert at each word, float64 (word, expert)."""
    import torch

    with torch.no_grad():
        return forward(shipped()[balanced], torch.tensor([encode(words)]))[1][0].double().numpy()


def next_words(prefix: tuple[int, ...], balanced: bool = True) -> np.ndarray:
    """ln P of every word after these, float64 (word)."""
    import torch

    with torch.no_grad():
        return forward(shipped()[balanced], torch.tensor([prefix]))[0][0, -1].double().log_softmax(-1).numpy()


@dataclass(frozen=True, eq=False)
class Load:
    """What the experts did on sentences that were not trained on."""

    shares: np.ndarray    # of the tokens that each expert got (expert)
    by_word: np.ndarray   # tokens that went to each expert, by word (word, expert)
    nats: float           # −ln P of the next word, the mean


def measured(weights: Weights) -> Load:
    """Counted over 400 sentences that were not trained on."""
    import torch

    ids, there = map(torch.tensor, batch("held out", HELD_OUT))
    with torch.no_grad():
        logits, gates = forward(weights, ids[:, :-1])
    real = there[:, 1:]
    nats = torch.nn.functional.cross_entropy(logits[real], ids[:, 1:][real])
    counts = np.zeros((len(WORDS), EXPERTS))
    np.add.at(counts, (ids[:, :-1][real].numpy(), gates.argmax(-1)[real].numpy()), 1)
    return Load(counts.sum(0) / counts.sum(), counts, float(nats))


@lru_cache(maxsize=2)
def load(balanced: bool) -> Load:
    """Of the weights that come with the program."""
    return measured(shipped()[balanced])


@lru_cache(maxsize=1)
def busiest_by_seed() -> dict[str, list[float]]:
    """The share of tokens that the busiest expert got in each seed's training, "balanced" and "free", as
    benchmarks.experts found it."""
    from safetensors import safe_open

    with safe_open(FILE, "pt") as file:
        return json.loads(file.metadata()["busiest"])
