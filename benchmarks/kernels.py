"""Train the models for the lesson *From kernels to attention*.

    python -m benchmarks.kernels [--json assets/lessons/kernels.json]

Scores: trains additive, scaled and unscaled dot-product scores on the same data for 200 steps at each d_k, with five
seeds. Copying: trains recurrent encoder–decoders with one fixed context vector, with one twice as wide, and with
attention, with three seeds. Takes a few minutes on one core. The file records the command, the seeds, the machine and
the date.
"""
import argparse
import datetime
import functools
import json
import platform
import sys
import time
from pathlib import Path

import numpy as np
import torch

from model.core.files import write as write_file
from model.core.limits import seeded
from model.lessons import scores
from model.lessons.kernels import LENGTHS, TRAINED
from model.lessons.recurrent import SYMBOLS, Copier

WIDTHS = (4, 8, 16, 32, 64, 128, 256, 512)
SCORE_SEEDS, COPY_SEEDS = (1, 2, 3, 4, 5), (1, 2, 3)
KINDS, STEPS = ("fixed", "wide", "attention"), 800   # the copiers and their training steps
BATCH, RATE = 64, 4e-3
TEXTS = 200    # number of texts per length for measuring accuracy
LAST = 20      # number of steps averaged for the final loss and accuracy


def sweep() -> dict[str, list[list[list[float]]]]:
    """Train all scores and return {kind: (d_k, seed, [final loss in nats, final accuracy])}."""
    found: dict[str, list[list[list[float]]]] = {}
    print(f"{'scores':<10}{'d_k':>5}{'loss':>9}{'accuracy':>10}")
    for kind in scores.KINDS:
        found[kind] = []
        for width in WIDTHS:
            runs = [trained(kind, width, seed) for seed in SCORE_SEEDS]
            found[kind].append([[round(float(each[-LAST:].mean()), 4) for each in run] for run in runs])
            means = [sum(run[which] for run in found[kind][-1]) / len(runs) for which in (0, 1)]
            print(f"{kind:<10}{width:>5}{means[0]:>9.3f}{means[1]:>10.3f}", flush=True)
    return found


def trained(kind: str, width: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Train one score and return its loss and accuracy at each step."""
    part = scores.start(width, seed)
    return scores.train(part, functools.partial(scores.score, kind, v=part["v"]), seed, lambda step: None)


def train_copier(kind: str, seed: int, steps: int = STEPS) -> Copier:
    """Train on random texts of 1 to TRAINED symbols, with cross-entropy, Adam with a one-cycle learning rate, and
    gradients clipped at norm 1. All texts in a batch have the same length."""
    draw = torch.Generator().manual_seed(seed)
    with seeded(seed):
        model = Copier(kind)
    optimiser = torch.optim.Adam(model.parameters(), RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps)
    for _ in range(steps):
        length = int(torch.randint(1, TRAINED + 1, (), generator=draw))
        text = torch.randint(SYMBOLS, (BATCH, length), generator=draw)
        loss = torch.nn.functional.cross_entropy(model(text, text)[0].flatten(0, 1), text.flatten())
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    return model.eval()


def accuracy(model: Copier, seed: int) -> list[float]:
    """Return the share of correct symbols in free-running mode at each of LENGTHS, on new random texts."""
    draw = torch.Generator().manual_seed(10_000 + seed)
    shares = []
    with torch.inference_mode():
        for length in LENGTHS:
            text = torch.randint(SYMBOLS, (TEXTS, length), generator=draw)
            shares.append((model(text)[0].argmax(-1) == text).float().mean().item())
    return shares


def copies() -> dict:
    """Train the copiers with each seed. Return the accuracies {kind: (seed, length)}, seconds, parameters, and the
    alignment of the first copier with attention on one text of TRAINED symbols."""
    print("\n" + f"{'copying':<10}{'seed':>5}{'seconds':>9}" + "".join(f"{length:>7}" for length in LENGTHS))
    right: dict[str, list] = {kind: [] for kind in KINDS}
    seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
    models: dict[str, Copier] = {}
    for kind in KINDS:
        for seed in COPY_SEEDS:
            begun = time.perf_counter()
            model = train_copier(kind, seed)
            models.setdefault(kind, model)
            seconds[kind].append(round(time.perf_counter() - begun, 1))
            right[kind].append([round(each, 4) for each in accuracy(model, seed)])
            print(f"{kind:<10}{seed:>5}{seconds[kind][-1]:>9.1f}"
                  + "".join(f"{each:>7.3f}" for each in right[kind][-1]), flush=True)
    text = torch.randint(SYMBOLS, (1, TRAINED), generator=torch.Generator().manual_seed(20_000 + COPY_SEEDS[0]))
    with torch.inference_mode():
        logits, weights = models["attention"](text)
    return {"right": right, "seconds": seconds,
            "parameters": {kind: sum(each.numel() for each in model.parameters()) for kind, model in models.items()},
            "alignment": [[round(each, 4) for each in row] for row in weights[0].tolist()], "text": text[0].tolist(),
            "written": logits[0].argmax(-1).tolist()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="file that gets the numbers")
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = {"scores": sweep(), "copying": copies()}
    if options.json:
        about = {"command": "python -m benchmarks.kernels --json " + options.json.as_posix(), "widths": WIDTHS,
                 "score_seeds": SCORE_SEEDS,
                 "copy_seeds": COPY_SEEDS, "score_steps": scores.STEPS, "copy_steps": STEPS,
                 "lengths": LENGTHS,
                 "trained": TRAINED, "texts": TEXTS, "machine": platform.machine(),
                 "system": platform.platform(),
                 "python": sys.version.split()[0], "torch": torch.__version__,
                 "date": datetime.date.today().isoformat()}
        options.json.parent.mkdir(parents=True, exist_ok=True)
        write_file(options.json, (json.dumps(about | found) + "\n").encode("utf-8"))


if __name__ == "__main__":
    main()
