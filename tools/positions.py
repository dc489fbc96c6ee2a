"""Test length extrapolation: train small models with each position scheme on 32 tokens, and test them on 128 tokens.

    python -m tools.positions [--json assets/lessons/positions.json]

The task is to predict the token three positions earlier. Tokens are random, so only positions are informative. The
model is a pre-LN decoder with two layers of four heads. Takes a few minutes on one core. The file records the command,
the seeds, the machine, the date, and the learned vectors of the first seed.
"""
import argparse
import datetime
import json
import platform
import sys
from pathlib import Path
from typing import cast

import torch
from torch.nn import functional

from clearhead.model.core.files import write as write_file
from clearhead.model.scratch.transformer import POSITIONS, Config, Learned, Transformer

TRAINED, TESTED, BACK = 32, 128, 3
VOCABULARY, BATCH, STEPS, RATE = 24, 16, 1200, 4e-3
SEEDS = (1, 2, 3)
TEXTS = 200     # number of texts for measuring accuracy


def texts(count: int, length: int, draw: torch.Generator) -> torch.Tensor:
    """Return random ids (count, length) without 0, the padding."""
    return torch.randint(1, VOCABULARY, (count, length), generator=draw)


def model_of(scheme: str, seed: int) -> Transformer:
    """Return a small decoder with this scheme. Learned positions include the length of the test; those beyond 32 never
    get a gradient."""
    torch.manual_seed(seed)
    return Transformer(Config(VOCABULARY, d_model=48, heads=4, d_ff=96, encoder_layers=0, decoder_layers=2,
                              positions=scheme, max_length=TESTED,
                              dropout=0.0, norm_first=True, final_norm=True))


def train(model: Transformer, seed: int) -> float:
    """Train on texts of 32 tokens and return the final loss in nats."""
    draw = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.AdamW(model.parameters(), RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=STEPS)
    for _ in range(STEPS):
        ids = texts(BATCH, TRAINED, draw)
        loss = functional.cross_entropy(model(ids)[:, BACK:].flatten(0, 1), ids[:, :-BACK].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    return loss.item()


def accuracy(model: Transformer, seed: int) -> list[float]:
    """Return the accuracy at each position from BACK to 127."""
    ids = texts(TEXTS, TESTED, torch.Generator().manual_seed(1000 + seed))
    with torch.inference_mode():
        best = model(ids).argmax(-1)
    return (best[:, BACK:] == ids[:, :-BACK]).float().mean(0).tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="file that gets the numbers")
    options = parser.parse_args()
    torch.set_num_threads(1)
    found: dict[str, list[list[float]]] = {}
    table: list[list[float]] = []
    print(f"{'scheme':<12}{'seed':>5}{'loss':>9}{'to 32':>9}{'33 to 64':>10}{'65 to 128':>11}")
    for scheme in POSITIONS:
        for seed in SEEDS:
            model = model_of(scheme, seed)
            loss = train(model, seed)
            found.setdefault(scheme, []).append([round(each, 4) for each in accuracy(model.eval(), seed)])
            row = found[scheme][-1]
            if scheme == "learned" and not table:
                table = [[round(each, 3) for each in vector]
                         for vector in cast(Learned, model.embedding.positions).table.tolist()]
            parts = [row[:TRAINED - BACK], row[TRAINED - BACK:64 - BACK], row[64 - BACK:]]
            print(f"{scheme:<12}{seed:>5}{loss:>9.3f}" + "".join(f"{sum(part) / len(part):>10.3f}" for part in parts),
                  flush=True)
    if options.json:
        about = {"command": "python -m tools.positions --json " + options.json.as_posix(), "seeds": SEEDS,
                 "trained": TRAINED, "tested": TESTED,
                 "back": BACK, "steps": STEPS, "batch": BATCH, "vocabulary": VOCABULARY, "texts": TEXTS,
                 "machine": platform.machine(),
                 "system": platform.platform(), "python": sys.version.split()[0], "torch": torch.__version__,
                 "date": datetime.date.today().isoformat()}
        options.json.parent.mkdir(parents=True, exist_ok=True)
        write_file(options.json, (json.dumps(about | {"accuracy": found, "learned": table}) + "\n").encode("utf-8"))


if __name__ == "__main__":
    main()
