"""Measure how depth affects gradients before training, for the lesson *One block*.

    python -m tools.depth [--json assets/lessons/block.json]

Measures the length of the residual stream and the gradient of W_2 in every layer of an untrained encoder, for every
depth from 2 to 24 layers, post-LN and pre-LN, with thirty seeds each. Takes five minutes on one core.
"""
import argparse
import datetime
import json
import platform
from pathlib import Path

import numpy as np
import torch

from clearhead.model.core.files import write as write_file
from clearhead.model.lessons import block

SEEDS = tuple(range(1, 31))


def measure(layers: int, norm_first: bool) -> dict[str, list[float]]:
    """Return the means over seeds, and the smallest and largest gradient, for each layer."""
    runs = [block.depth(layers, norm_first, seed) for seed in SEEDS]
    stream, gradient = (np.array(each) for each in zip(*runs, strict=True))
    return {name: [float(f"{number:.5g}") for number in numbers] for name, numbers in (
        ("stream", stream.mean(0)), ("gradient", gradient.mean(0)), ("low", gradient.min(0)),
        ("high", gradient.max(0)))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="file that gets the numbers")
    options = parser.parse_args()
    torch.set_num_threads(1)
    runs: dict[str, dict[str, dict[str, list[float]]]] = {}
    for kind, norm_first in (("post", False), ("pre", True)):
        runs[kind] = {}
        for layers in block.DEPTHS:
            found = runs[kind][str(layers)] = measure(layers, norm_first)
            print(f"{kind:<5}{layers:>4} layers: gradient {found['gradient'][0]:.3f} first, "
                  f"{found['gradient'][-1]:.3f} last ({found['low'][-1]:.3f} to {found['high'][-1]:.3f})", flush=True)
    if options.json:
        about = {"command": f"python -m tools.depth --json {options.json.as_posix()}", "seeds": SEEDS,
                 "machine": platform.machine(), "torch": torch.__version__,
                 "date": datetime.date.today().isoformat()}
        write_file(options.json, (json.dumps(about | runs) + "\n").encode("utf-8"))


if __name__ == "__main__":
    main()
