"""What an answer costs beside the model's own passes, on MiniLM and SmolLM2: `python -m benchmarks.extraction [--json FILE] [--fast]`.

Five things are timed for each length, one after the other in turn, and the fastest of several turns counts, so that a busy machine does
not decide: a plain fused forward pass (tokenizer included), the eager pass with output_attentions, Clearhead's answer, the overview of all
heads, and one head opened. Memory is the peak above what the process held before. SmolLM2 must be on disk: `python -m model fetch smollm2`.
"""
import argparse
import ctypes
import importlib.metadata
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

LENGTHS = {"minilm": (16, 64, 256, 512), "smollm2": (16, 64, 256, 512, 1024, 2048)}
SENTENCE = "The animal didn't cross the street because it was too tired, and the cat that wandered into our garden last winter was starving. "
ANSWER, MEMORY, OVERVIEW, HEAD = 1.15, 1 / 6, 0.25, 0.05  # the bars: of the plain pass, of eager's memory, of the plain pass, seconds


@dataclass(frozen=True)
class Row:
    """Seconds and megabytes above the model for one model and length; eager figures are NaN where it was left out."""

    model: str
    tokens: int
    plain_s: float
    eager_s: float
    answer_s: float
    overview_s: float
    head_s: float
    plain_mb: float
    eager_mb: float
    answer_mb: float
    overview_mb: float


def text_of(tokenizer, tokens: int, sentence: str = SENTENCE) -> str:
    """A text of exactly so many tokens, special ones included, that says the sentence again and again."""
    found = tokenizer(sentence * (tokens // 20 + 2), truncation=True, max_length=tokens, return_offsets_mapping=True)
    text = (sentence * (tokens // 20 + 2))[:max(end for _, end in found["offset_mapping"])]
    if len(tokenizer(text)["input_ids"]) != tokens:
        raise ValueError(f"expected a text of {tokens} tokens, got {len(tokenizer(text)['input_ids'])}; change the sentence.")
    return text


def fastest(actions: dict[str, Callable], seconds: float) -> dict[str, float]:
    """The shortest time of each action, in turns, for about so many seconds, at least five turns."""
    best, end, turns = dict.fromkeys(actions, float("inf")), time.perf_counter() + seconds, 0
    while turns < 5 or (time.perf_counter() < end and turns < 200):
        for name, action in actions.items():
            start = time.perf_counter()
            action()
            best[name] = min(best[name], time.perf_counter() - start)
        turns += 1
    return best


def peak(action: Callable) -> float:
    """Megabytes that the process held at most while the action ran, above what it held before (Linux)."""
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    kept = action()
    after = _status("VmHWM")
    del kept
    return max(after - before, 0) / 1024


def _status(name: str) -> int:
    return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))


def measure(name: str, tokens: int, networks, seconds: float) -> Row:
    """One row of the table. networks: Clearhead's model, and a second copy of the network for the plain and the eager pass."""
    import torch

    from model import heads
    from model.pretrained import predict
    from model.query import Query

    model, own = networks
    text = text_of(model.tokenizer, tokens)
    options = predict.last_only(model)

    def forward(**more):
        with torch.inference_mode():
            return own(**model.tokenizer(text, return_tensors="pt"), **options, **more)

    def eager():
        own.set_attn_implementation("eager")
        try:
            return forward(output_attentions=True)
        finally:
            own.set_attn_implementation("sdpa")

    query = Query(name, "benchmark", text)
    answer = lambda: model.answer(query, lambda fraction, words: None)
    forward()
    drawn = answer().maps[0]
    layer = drawn.layers[len(drawn.layers) // 2]
    actions = {"plain": forward, "eager": eager, "answer": answer, "overview": lambda: heads.overview(drawn),
               "head": lambda: (heads.weights(layer, 1), heads.scores(layer, 1))}
    memory = {each: peak(actions[each]) for each in ("plain", "eager", "answer", "overview")}
    times = fastest({each: actions[each] for each in ("plain", "answer")}, seconds)
    times |= fastest({each: actions[each] for each in ("eager", "overview", "head")}, 0)
    return Row(name, tokens, *(times[each] for each in ("plain", "eager", "answer", "overview", "head")), *memory.values())


def opened(name: str):
    """Clearhead's model, and a second copy of its network with transformers' own fused attention."""
    import torch

    from model.pretrained import load

    model = load.open_model(name, lambda fraction, words: None)
    own = type(model.network).from_pretrained(load.locate(name).folder, attn_implementation="sdpa", dtype=torch.float32, local_files_only=True).eval()
    own.config.use_cache = False
    return model, own


def bars(rows: list[Row]) -> list[dict]:
    """Every bar with its measured value, worst case over the lengths that it is about."""
    at = {(row.model, row.tokens): row for row in rows}
    found = [(f"answer / plain pass, {row.model} at {row.tokens}", row.answer_s / row.plain_s, ANSWER) for row in rows]
    if ("smollm2", 1024) in at:
        row = at["smollm2", 1024]
        found += [("memory of the answer / eager's, smollm2 at 1024", row.answer_mb / row.eager_mb, MEMORY),
                  ("overview of 270 heads / plain pass, smollm2 at 1024", row.overview_s / row.plain_s, OVERVIEW),
                  ("opening one head, smollm2 at 1024, seconds", row.head_s, HEAD)]
    if ("smollm2", 2048) in at:
        found.append(("memory of the answer at 2048 / at 1024 (2 is linear)", at["smollm2", 2048].answer_mb / at["smollm2", 1024].answer_mb, 2.5))
    return [{"bar": name, "value": value, "limit": limit, "met": value <= limit} for name, value, limit in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help="write the numbers to this file, with machine and versions")
    parser.add_argument("--fast", action="store_true", help="MiniLM only, up to 64 tokens")
    given = parser.parse_args()
    import torch

    torch.set_num_threads(min(2, os.cpu_count() or 1))
    rows = []
    columns = " ".join(f"{each:>9}" for each in ("plain", "eager", "answer", "overview", "one head"))
    print(f"{'model':<8} {'tokens':>6} | {columns} | megabytes: plain eager answer overview")
    for name, lengths in ({"minilm": (16, 64)} if given.fast else LENGTHS).items():
        networks = opened(name)
        for tokens in lengths:
            row = measure(name, tokens, networks, 4.0)
            rows.append(row)
            times = " ".join(f"{getattr(row, each) * 1e3:7.1f}ms" for each in ("plain_s", "eager_s", "answer_s", "overview_s", "head_s"))
            sizes = f"{row.plain_mb:9.0f} {row.eager_mb:7.0f} {row.answer_mb:7.0f} {row.overview_mb:7.0f}"
            print(f"{name:<8} {tokens:>6} | {times} | {sizes}", flush=True)
    found = bars(rows)
    for bar in found:
        print(f"{'met   ' if bar['met'] else 'MISSED'} {bar['value']:6.3f} (at most {bar['limit']:.3f})  {bar['bar']}")
    if given.json:
        versions = {package: importlib.metadata.version(package) for package in ("torch", "transformers", "numpy")}
        machine = {"cores": os.cpu_count(), "threads": torch.get_num_threads(), "system": platform.platform(), "python": platform.python_version()}
        content = {"machine": machine, "versions": versions, "rows": [asdict(row) for row in rows], "bars": found}
        Path(given.json).write_text(json.dumps(content, indent=1), encoding="utf-8")
    sys.exit(0 if all(bar["met"] for bar in found) else 1)


if __name__ == "__main__":
    main()
