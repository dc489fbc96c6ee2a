"""Compare the cost of an answer with the model's own passes, on MiniLM and SmolLM2: `python -m benchmarks.extraction
[--json FILE] [--page FILE] [--fast]`.

Times five things for each length: a plain fused forward pass (including the tokenizer), Clearhead's answer, an eager
pass with output_attentions, the overview of all heads, and opening one head. The first two alternate, and the result is
the median of their ratios, because a machine's speed changes over minutes but hardly between two passes. All other
results are medians, too. Memory is the increase to the peak. SmolLM2 must be on disk: `clearhead fetch smollm2`.
--page writes the table as Markdown.
"""
import argparse
import ctypes
import datetime
import importlib.metadata
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from clearhead.model.core.files import write as write_file

LENGTHS = {"minilm": (16, 64, 256, 512), "smollm2": (16, 64, 256, 512, 1024, 2048)}
SENTENCE = ("The animal didn't cross the street because it was too tired, and the cat that wandered into our garden "
            "last winter was starving. ")
# criteria: answer relative to the plain pass, memory relative to eager, overview relative to the plain pass, and
# seconds to open a head
ANSWER, MEMORY, OVERVIEW, HEAD = 1.15, 1 / 6, 0.25, 0.05

INTRODUCTION = """# What an answer costs beside the model's own pass

Written by `python -m benchmarks.extraction --page benchmarks/extraction.md`. *Plain*: a fused forward pass by
transformers, including the tokenizer. *Eager*: the same with `output_attentions`. *Answer*: Clearhead's record,
verified. *All heads*: the overview of every head, from the record. *One head*: its weights and scores. Times are
medians; *answer / plain* is the median ratio of alternating passes. Megabytes are the peak above what the process held
before.
"""

COLUMNS = ("model", "tokens", "plain, ms", "eager, ms", "answer, ms", "answer / plain", "all heads, ms",
           "one head, ms", "plain, MB", "eager, MB",
           "answer, MB")


@dataclass(frozen=True)
class Row:
    """Seconds, and megabytes in addition to the model, for one model and length. Eager values are NaN if skipped."""

    model: str
    tokens: int
    plain_s: float
    eager_s: float
    answer_s: float
    overview_s: float
    head_s: float
    answer_of_plain: float   # median ratio of an answer and a plain pass
    plain_mb: float
    eager_mb: float
    answer_mb: float
    overview_mb: float


def text_of(tokenizer, tokens: int, sentence: str = SENTENCE) -> str:
    """Return a text that repeats a sentence and has exactly this number of tokens, including special ones."""
    found = tokenizer(sentence * (tokens // 20 + 2), truncation=True, max_length=tokens, return_offsets_mapping=True)
    text = (sentence * (tokens // 20 + 2))[:max(end for _, end in found["offset_mapping"])]
    if len(tokenizer(text)["input_ids"]) != tokens:
        raise ValueError(f"expected a text of {tokens} tokens, got {len(tokenizer(text)['input_ids'])}; change the "
                         f"sentence.")
    return text


def in_turns(actions: dict[str, Callable], seconds: float) -> dict[str, list[float]]:
    """Run all actions in turns for about `seconds`, at least five turns, and return {action: seconds in each turn}.
    Every second turn is in reverse order."""
    taken: dict[str, list[float]] = {name: [] for name in actions}
    end = time.perf_counter() + seconds
    while (turns := len(next(iter(taken.values())))) < 5 or (time.perf_counter() < end and turns < 400):
        for name in list(actions)[::-1 if turns % 2 else 1]:
            start = time.perf_counter()
            actions[name]()
            taken[name].append(time.perf_counter() - start)
    return taken


def peak(action: Callable) -> float:
    """Return the peak memory of an action in megabytes, minus the memory used before (Linux)."""
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    before = _status("VmRSS")
    kept = action()
    after = _status("VmHWM")
    del kept
    return max(after - before, 0) / 1024


def _status(name: str) -> int:
    return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
                if line.startswith(name))


def measure(name: str, tokens: int, networks, seconds: float) -> Row:
    """Measure one row of the table. networks: Clearhead's model, and a second copy of the network for the plain and
    eager passes."""
    import torch

    from clearhead.model.core import heads
    from clearhead.model.core.query import Query

    model, own = networks
    text = text_of(model.tokenizer, tokens)
    options = {"logits_to_keep": 1} if model.task == "next" else {}

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
    answer = lambda: model.record(query, lambda fraction, words: None)
    forward()
    drawn = answer().maps[0]
    layer = drawn.layers[len(drawn.layers) // 2]
    actions = {"plain": forward, "eager": eager, "answer": answer, "overview": lambda: heads.overview(drawn),
               "head": lambda: (heads.weights(layer, 1), heads.scores(layer, 1))}
    memory = {each: peak(actions[each]) for each in ("plain", "eager", "answer", "overview")}
    taken = in_turns({each: actions[each] for each in ("plain", "answer")}, seconds)
    ratio = statistics.median(answer / plain for plain, answer in zip(*taken.values(), strict=True))
    taken |= in_turns({each: actions[each] for each in ("eager", "overview", "head")}, 0)
    seconds_of = {f"{each}_s": statistics.median(taken[each]) for each in taken}
    return Row(name, tokens, answer_of_plain=ratio, **seconds_of,
               **{f"{each}_mb": size for each, size in memory.items()})


def opened(name: str):
    """Return Clearhead's model, and a second copy of its network with transformers' own fused attention."""
    import torch

    from clearhead.model.pretrained import load

    model = load.locate(name).open()
    own = type(model.network).from_pretrained(load.locate(name).folder, attn_implementation="sdpa",
                                              dtype=torch.float32, local_files_only=True).eval()
    own.config.use_cache = False
    return model, own


def bars(rows: list[Row]) -> list[dict]:
    """Return every criterion with its measured value, the worst one over the relevant lengths."""
    at = {(row.model, row.tokens): row for row in rows}
    found = [(f"answer / plain pass, {row.model} at {row.tokens}", row.answer_of_plain, ANSWER) for row in rows]
    if ("smollm2", 1024) in at:
        row = at["smollm2", 1024]
        found += [("memory of the answer / eager's, smollm2 at 1024", row.answer_mb / row.eager_mb, MEMORY),
                  ("overview of 270 heads / plain pass, smollm2 at 1024", row.overview_s / row.plain_s, OVERVIEW),
                  ("opening one head, smollm2 at 1024, seconds", row.head_s, HEAD)]
    if ("smollm2", 2048) in at:
        found.append(("memory of the answer at 2048 / at 1024 (2 is linear)",
                      at["smollm2", 2048].answer_mb / at["smollm2", 1024].answer_mb, 2.5))
    return [{"bar": name, "value": value, "limit": limit, "met": value <= limit} for name, value, limit in found]


def page(rows: list[Row], found: list[dict]) -> str:
    """Format the table and the criteria as Markdown."""
    lines = [INTRODUCTION, f"| {' | '.join(COLUMNS)} |", "| --- " + "| ---: " * (len(COLUMNS) - 1) + "|"]
    for row in rows:
        times = [f"{getattr(row, name) * 1e3:.1f}" for name in ("plain_s", "eager_s", "answer_s")]
        others = [f"{row.overview_s * 1e3:.1f}", f"{row.head_s * 1e3:.1f}",
                  *(f"{each:.0f}" for each in (row.plain_mb, row.eager_mb, row.answer_mb))]
        lines.append(" | ".join([f"| {row.model}", f"{row.tokens:,}", *times, f"{row.answer_of_plain:.2f}", *others])
                     + " |")
    lines += ["", "| bar | at most | measured | |", "| --- | ---: | ---: | --- |"]
    lines += [f"| {bar['bar']} | {bar['limit']:.3g} | {bar['value']:.3f} | {'met' if bar['met'] else 'missed'} |"
              for bar in found]
    return "\n".join([*lines, "", f"{os.cpu_count()} cores, {platform.system()}, {datetime.date.today()}."]) + "\n"


def rows_of(lengths: dict[str, tuple[int, ...]]) -> Iterator[Row]:
    """Measure and yield a row for each length, and print it at once."""
    for name, tokens in lengths.items():
        networks = opened(name)
        for each in tokens:
            row = measure(name, each, networks, 8.0)
            print(row, flush=True)
            yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help="write the numbers to this file, with machine and versions")
    parser.add_argument("--page", type=Path, help="Markdown file that gets the table")
    parser.add_argument("--fast", action="store_true", help="MiniLM only, up to 64 tokens")
    given = parser.parse_args()
    import torch

    torch.set_num_threads(min(2, os.cpu_count() or 1))
    rows = list(rows_of({"minilm": (16, 64)} if given.fast else LENGTHS))
    found = bars(rows)
    print(told := page(rows, found))
    if given.page:
        write_file(given.page, told.encode("utf-8"))
    if given.json:
        versions = {package: importlib.metadata.version(package) for package in ("torch", "transformers", "numpy")}
        machine = {"cores": os.cpu_count(), "threads": torch.get_num_threads(), "system": platform.platform(),
                   "python": platform.python_version()}
        content = {"machine": machine, "versions": versions, "rows": [asdict(row) for row in rows], "bars": found}
        write_file(Path(given.json), json.dumps(content, indent=1).encode("utf-8"))
    sys.exit(0 if all(bar["met"] for bar in found) else 1)


if __name__ == "__main__":
    main()
