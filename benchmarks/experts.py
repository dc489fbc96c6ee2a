"""The decoder with a mixture of experts of the lesson *What changed since 2017*: trains it with the balancing loss and
without it.

    python -m benchmarks.experts [--write assets/lessons/experts.safetensors]

Five seeds; the file gets the weights of the first, in float16, and of each seed the share of tokens that the busiest
expert got. About a minute on one core. """
import argparse
import datetime
import json
from pathlib import Path

import torch
from safetensors.torch import save

from model.core.files import write as write_file
from model.lessons import since

SEEDS = (1, 2, 3, 4, 5)
NAMES = {True: "balanced", False: "free"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="file that gets the weights")
    options = parser.parse_args()
    torch.set_num_threads(1)
    kept: dict[str, torch.Tensor] = {}
    busiest: dict[str, list[float]] = {name: [] for name in NAMES.values()}
    nats: dict[str, list[float]] = {name: [] for name in NAMES.values()}
    for seed in SEEDS:
        for balanced, name in NAMES.items():
            weights = since.train(since.BALANCE if balanced else 0.0, seed)
            found = since.measured(weights)
            busiest[name].append(round(float(found.shares.max()), 4))
            nats[name].append(round(found.nats, 4))
            print(f"seed {seed} {name:<9} shares {found.shares.round(3)} loss {found.nats:.3f} nats", flush=True)
            if seed == SEEDS[0]:
                kept |= {f"{name}.{part}": each.half().contiguous() for part, each in weights.items()}
    if options.write:
        about = {"command": f"python -m benchmarks.experts --write {options.write.as_posix()}",
                 "busiest": json.dumps(busiest), "nats": json.dumps(nats), "seeds": json.dumps(SEEDS),
                 "date": datetime.date.today().isoformat(), "torch": torch.__version__}
        write_file(options.write, save(kept, metadata=about))


if __name__ == "__main__":
    main()
