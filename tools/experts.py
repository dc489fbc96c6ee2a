"""Train the mixture-of-experts decoder for the lesson *What changed since 2017*, with and without the balancing loss.

    python -m tools.experts [--write assets/lessons/experts.safetensors]

Uses five seeds. The file contains the weights of the first seed in float16, each expert's share of tokens with them,
and the busiest expert's share for every seed. Takes about a minute on one core.
"""
import argparse
import datetime
import json
import random
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save

from clearhead.model.core.files import write as write_file
from clearhead.model.lessons.since import (
    EXPERT_INNER,
    EXPERT_WIDTH,
    EXPERTS,
    HELD_OUT,
    WORDS,
    ExpertWeights,
    balancing,
    encode,
    forward,
)

SEEDS = (1, 2, 3, 4, 5)
NAMES = {True: "balanced", False: "free"}
STEPS, SIZE, RATE, BALANCE = 400, 64, 0.01, 0.01
LONGEST = 11      # maximum number of words in a sentence, including the start word and the full stop
DIGITS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
NOUNS = ("man", "woman", "king", "child", "tree")
PLACES = ("house", "garden")


def _english(rng: random.Random) -> list[str]:
    subject = rng.choices(("old", "cat", "dog"), (0.4, 0.33, 0.27))[0]
    if subject == "cat":
        verb = rng.choices(("sleeps", "sings"), (0.9, 0.1))[0]
    elif subject == "dog":
        verb = rng.choices(("barks", "sleeps"), (0.6, 0.4))[0]
    else:
        subject, verb = f"old {rng.choice(NOUNS)}", rng.choice(("sleeps", "sings"))
    place = [] if rng.random() < 0.6 else ["in", "the", rng.choice(PLACES)]
    return ["the", *subject.split(), verb, *place]


def _french(rng: random.Random) -> list[str]:
    subject = rng.choices(("vieux homme", "chat", "chien"), (0.3, 0.4, 0.3))[0]
    verb = {"chat": "dort", "chien": "aboie"}.get(subject) if rng.random() < 0.8 else rng.choice(("dort", "chante"))
    place = [] if rng.random() < 0.6 else ["dans", "la", "maison"]
    return ["le", *subject.split(), verb or rng.choice(("dort", "chante")), *place]


def _sum(rng: random.Random) -> list[str]:
    first = rng.randint(1, 8)
    second = rng.randint(1, 9 - first)
    return [DIGITS[first - 1], "plus", DIGITS[second - 1], "is", DIGITS[first + second - 1]]


def sentence(rng: random.Random) -> list[str]:
    """Return a random sentence, including the start word and the full stop."""
    return ["<start>", *rng.choices((_english, _french, _sum), (0.4, 0.3, 0.3))[0](rng), "."]


def batch(seed: str, size: int) -> tuple[list[list[int]], list[list[bool]]]:
    """Return (ids (size, LONGEST), whether they are not padding). The padding is full stops."""
    rng = random.Random(seed)
    rows = [encode(sentence(rng)) for _ in range(size)]
    return ([row + [1] * (LONGEST - len(row)) for row in rows],
            [[True] * len(row) + [False] * (LONGEST - len(row)) for row in rows])


def first_weights(seed: int) -> ExpertWeights:
    """Draw untrained weights."""
    draw = torch.Generator().manual_seed(seed)
    width, inner = EXPERT_WIDTH, EXPERT_INNER
    shapes = {"words": (len(WORDS), width), "places": (LONGEST, width), "attention": (4, width, width),
              "router": (width, EXPERTS), "up": (EXPERTS, width, inner), "down": (EXPERTS, inner, width),
              "output": (EXPERT_WIDTH, len(WORDS))}
    return {name: torch.randn(shape, generator=draw) * (0.3 if name in ("words", "places") else shape[-2]**-0.5)
            for name, shape in shapes.items()}


def train(balance: float, seed: int = 1, steps: int = STEPS) -> ExpertWeights:
    """Train and return the weights. The loss is that of the next word plus `balance` times the balancing loss."""
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


def measured(weights: ExpertWeights) -> tuple[np.ndarray, float]:
    """Return each expert's share of tokens and −ln P of the next word, over held-out sentences."""
    ids, there = map(torch.tensor, batch("held out", HELD_OUT))
    with torch.no_grad():
        logits, gates = forward(weights, ids[:, :-1])
    real = there[:, 1:]
    counts = np.bincount(gates.argmax(-1)[real].numpy(), minlength=EXPERTS)
    return counts / counts.sum(), float(torch.nn.functional.cross_entropy(logits[real], ids[:, 1:][real]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="file that gets the weights")
    options = parser.parse_args()
    torch.set_num_threads(1)
    kept: dict[str, torch.Tensor] = {}
    busiest: dict[str, list[float]] = {name: [] for name in NAMES.values()}
    shares, nats = {}, {}
    for seed in SEEDS:
        for balanced, name in NAMES.items():
            weights = train(BALANCE if balanced else 0.0, seed)
            found, loss = measured(weights)
            busiest[name].append(round(float(found.max()), 4))
            print(f"seed {seed} {name:<9} shares {found.round(3)} loss {loss:.3f} nats", flush=True)
            if seed == SEEDS[0]:
                half = {part: each.half().contiguous() for part, each in weights.items()}
                kept |= {f"{name}.{part}": each for part, each in half.items()}
                found, loss = measured({part: each.float() for part, each in half.items()})
                shares[name], nats[name] = found.round(4).tolist(), round(loss, 4)
    if options.write:
        about = {"command": f"python -m tools.experts --write {options.write.as_posix()}",
                 "busiest": json.dumps(busiest), "shares": json.dumps(shares), "nats": json.dumps(nats),
                 "seeds": json.dumps(SEEDS),
                 "date": datetime.date.today().isoformat(), "torch": torch.__version__}
        write_file(options.write, save(kept, metadata=about))


if __name__ == "__main__":
    main()
