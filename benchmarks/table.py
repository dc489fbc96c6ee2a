"""Compare `clearhead.table` with a plain loop over the model: `python -m benchmarks.table [--page FILE] [--texts N]`.
`python -m benchmarks.table --memory` prints what studies of SmolLM2 need at 2,000 tokens (Linux), beside a record.

The plain loop is MiniLM of transformers in eager mode with output_attentions, one text at a time, tokenizer included,
in the same process with the same threads. It is run twice: writing nothing, and writing the same rows to Parquet with
the plainest code. Blocks of 50 texts alternate between all of them, and a ratio is the median over the blocks, because
a machine's speed changes over minutes. The texts are those of assets/cases.
"""
import argparse
import csv
import datetime
import itertools
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path

import clearhead
from benchmarks.extraction import peak, text_of
from clearhead.model.core.files import ASSETS
from clearhead.model.core.files import write as write_file

HEAD = (3, 1)
BLOCK = 50       # texts between two turns
LIMIT = 1.3      # criterion: the table of one head relative to the plain loop that writes nothing
WAYS = {"plain": "plain loop, writing nothing", "one": "table of one head",
        "plain_all": "plain loop, writing all heads", "all": "table of all heads"}


def cases(count: int) -> list[str]:
    """Return this many sentences of assets/cases, beginning again after the last one."""
    found = []
    for name in ("agreement", "coreference", "explain"):
        with (ASSETS / "cases" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            found += [row.get("sentence") or row["text"] for row in csv.DictReader(file)]
    return list(itertools.islice(itertools.cycle(dict.fromkeys(found)), count))


class Plain:
    """The loop that somebody would write without Clearhead."""

    def __init__(self) -> None:
        import torch
        import transformers

        from clearhead.model.pretrained import load

        folder = load.locate("minilm").folder
        self.network = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32,
                                                              local_files_only=True).eval()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)

    def attention(self, text: str):
        import torch

        with torch.inference_mode():
            read = self.tokenizer(text, return_tensors="pt")
            return read["input_ids"][0].tolist(), self.network(**read, output_attentions=True).attentions

    def loop(self, texts: list[str]) -> None:
        for text in texts:
            self.attention(text)

    def write(self, texts: list[str], path: Path) -> None:
        import numpy as np
        import pandas
        import pyarrow
        from pyarrow import parquet

        writer, waiting = None, []
        for number, text in enumerate(texts):
            ids, layers = self.attention(text)
            tokens = np.array(self.tokenizer.convert_ids_to_tokens(ids), object)
            weights = np.stack([layer[0].numpy() for layer in layers])
            layer, head, query, key = (axis.ravel().astype(np.int32) for axis in np.indices(weights.shape))
            waiting.append(pandas.DataFrame({"text": np.int32(number), "layer": layer.astype(np.int16),
                                             "head": head.astype(np.int16), "query": tokens[query], "key": tokens[key],
                                             "query_position": query, "key_position": key, "weight": weights.ravel()}))
            if len(waiting) == 10 or number == len(texts) - 1:
                block = pyarrow.Table.from_pandas(pandas.concat(waiting), preserve_index=False)
                writer = writer or parquet.ParquetWriter(path, block.schema)
                writer.write_table(block)
                waiting.clear()
        if writer is not None:
            writer.close()


def measure(texts: list[str]) -> dict[str, list[float]]:
    """Return {way: seconds of each block}."""
    model, plain = clearhead.open("minilm"), Plain()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "weights.parquet"
        actions = {"plain": plain.loop, "one": lambda some: clearhead.table(model, some, path, heads=[HEAD]),
                   "plain_all": lambda some: plain.write(some, path),
                   "all": lambda some: clearhead.table(model, some, path)}
        for action in actions.values():
            action(texts[:5])
        taken: dict[str, list[float]] = {name: [] for name in actions}
        for turn, start in enumerate(range(0, len(texts), BLOCK)):
            for name in list(actions)[::-1 if turn % 2 else 1]:
                before = time.perf_counter()
                actions[name](texts[start:start + BLOCK])
                taken[name].append(time.perf_counter() - before)
    return taken


def memory(tokens: int = 2000) -> None:
    """Print the peak memory above the open model, in MB, of a record and of each study of it."""
    model = clearhead.open("smollm2")
    model("Hello world.").lens()
    text = text_of(model.opened.tokenizer, tokens)
    kept: list = []
    print(f"record: peak {peak(lambda: kept.append(model(text))):.0f} MB above the open model")
    size = kept[0].data.nbytes / 2**20
    print(f"record: {size:.0f} MB of queries, keys and values")
    for name, study in {"lens": lambda record: record.lens(), "writes": lambda record: record.writes(" a", " the"),
                        "writes at 1000": lambda record: record.writes(" a", " the", position=1000),
                        "why": lambda record: record.why(5, 1, query=1500, key=700)}.items():
        above = size + peak(lambda study=study: study(kept[0]))
        print(f"{name}: peak {above:.0f} MB above the open model, {above / size:.1f} times the record", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, help="Markdown file that gets the table")
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--memory", action="store_true", help="measure memory at 2,000 tokens instead")
    given = parser.parse_args()
    if given.memory:
        return memory()
    import torch

    texts = cases(given.texts)
    taken = measure(texts)
    ratios = {name: statistics.median(one / other for one, other in zip(taken[name], taken[base], strict=True))
              for name, base in (("one", "plain"), ("all", "plain_all"))}
    tokens = statistics.mean(len(clearhead.open("minilm").tokens(text)) for text in texts)
    lines = ["# Many texts beside a plain loop", "",
             "`python -m benchmarks.table --page benchmarks/table.md` measured this. The plain loop runs MiniLM of "
             "transformers in eager mode, one text at a time, with\nits tokenizer.", "",
             f"MiniLM, {len(texts):,} texts of {tokens:.0f} tokens on average; every record of `clearhead.table` is "
             f"verified.", "", "| | ms per text | relative to the plain loop |", "| --- | ---: | ---: |"]
    lines += [f"| {said} | {sum(taken[name]) / len(texts) * 1e3:.1f} | "
              f"{f'{ratios[name]:.2f}' if name in ratios else ''} |" for name, said in WAYS.items()]
    lines += ["", f"{os.cpu_count()} cores, {torch.get_num_threads()} threads, {platform.system()}, "
              f"{datetime.date.today()}.", ""]
    print("\n".join(lines))
    if given.page:
        write_file(given.page, "\n".join(lines).encode("utf-8"))
    sys.exit(0 if ratios["one"] <= LIMIT else 1)


if __name__ == "__main__":
    main()
