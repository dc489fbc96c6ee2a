"""Train the models for the lesson *From kernels to attention*.

    python -m tools.kernels [--json assets/lessons/kernels.json]

Scores: trains additive, scaled and unscaled dot-product scores on the same data for 200 steps at each d_k, with five
seeds. Copying: trains recurrent encoder–decoders with one fixed context vector, with one twice as wide, and with
attention, with three seeds. Takes a few minutes on one core. The file records the command, the seeds, the machine and
the date.
"""
import argparse
import datetime
import json
import platform
import sys
from pathlib import Path

import torch

from clearhead.model.core.files import write as write_file
from clearhead.model.core.query import quiet
from clearhead.model.lessons import recurrent, scores
from clearhead.model.lessons.kernels import LENGTHS, TRAINED

WIDTHS = (4, 8, 16, 32, 64, 128, 256, 512)
SCORE_SEEDS, COPY_SEEDS = (1, 2, 3, 4, 5), (1, 2, 3)
KINDS, STEPS = ("fixed", "wide", "attention"), 800   # the copiers and their training steps
LAST = 20      # number of steps averaged for the final loss and accuracy


def sweep() -> dict[str, list[list[list[float]]]]:
    """Train all scores and return {kind: (d_k, seed, [final loss in nats, final accuracy])}."""
    found: dict[str, list[list[list[float]]]] = {}
    print(f"{'scores':<10}{'d_k':>5}{'loss':>9}{'accuracy':>10}")
    for kind in scores.KINDS:
        found[kind] = []
        for width in WIDTHS:
            runs = [scores.train_kind(kind, width, seed, quiet) for seed in SCORE_SEEDS]
            found[kind].append([[round(float(each[-LAST:].mean()), 4) for each in run] for run in runs])
            means = [sum(run[which] for run in found[kind][-1]) / len(runs) for which in (0, 1)]
            print(f"{kind:<10}{width:>5}{means[0]:>9.3f}{means[1]:>10.3f}", flush=True)
    return found


def copies() -> dict:
    """Train the copiers with each seed and print their accuracy by length."""
    found = recurrent.copies(KINDS, STEPS, COPY_SEEDS, quiet)
    print("\n" + f"{'copying':<10}{'seed':>5}{'seconds':>9}" + "".join(f"{length:>7}" for length in LENGTHS))
    for kind in KINDS:
        for seed, seconds, right in zip(COPY_SEEDS, found["seconds"][kind], found["right"][kind], strict=True):
            print(f"{kind:<10}{seed:>5}{seconds:>9.1f}" + "".join(f"{each:>7.3f}" for each in right))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="file that gets the numbers")
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = {"scores": sweep(), "copying": copies()}
    if options.json:
        about = {"command": "python -m tools.kernels --json " + options.json.as_posix(), "widths": WIDTHS,
                 "score_seeds": SCORE_SEEDS,
                 "copy_seeds": COPY_SEEDS, "score_steps": scores.STEPS, "copy_steps": STEPS,
                 "lengths": LENGTHS,
                 "trained": TRAINED, "texts": recurrent.TEXTS, "machine": platform.machine(),
                 "system": platform.platform(),
                 "python": sys.version.split()[0], "torch": torch.__version__,
                 "date": datetime.date.today().isoformat()}
        options.json.parent.mkdir(parents=True, exist_ok=True)
        write_file(options.json, (json.dumps(about | found) + "\n").encode("utf-8"))


if __name__ == "__main__":
    main()
