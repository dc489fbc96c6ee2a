"""Measure what the rows of attention depend on in every text model type of transformers, and the cost of this:
`python -m benchmarks.rows [TYPE ...]`.

Without types, writes the tables `benchmarks/rows.md`. Models are small, with random weights (`benchmarks.families`);
the cost is that of decoders of two sizes, over texts of several lengths.
"""
import datetime
import importlib.metadata
import multiprocessing
import os
import platform
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

import torch

from benchmarks import families, families_models
from clearhead.model.core.files import write as write_file
from clearhead.model.look import rows
from clearhead.model.look.module_pass import once

TABLE = Path(__file__).with_name("rows.md")
LENGTHS = 16, 256, 2048
# their names, and (d, layers, heads)
DECODERS = {"2 layers, d = 128": (128, 2, 4), "30 layers, d = 576, as SmolLM2-135M": (576, 30, 9)}
TOKENS = 29, 23   # of source and target
KINDS = "one", "several", "none", "unclear"
HEAD = """# What rows depend on

Written by `python -m benchmarks.rows`: {versions}; {machine}; {today}.

`look` measures on which tokens each row of queries and keys depends when attention and other mixers are held fixed
(`model/look/rows.py`). A row depends on *one* token, on *several*, on *none*, or it is *unclear* and numbered. Rows
that differ between heads count as several. *Moved* counts rows that depend on one token at another position than their
own, as where a model puts learned rows before its tokens.

Seconds are those of one processor core. Where `look` expects more than {longest} seconds, it measures nothing, numbers
all rows and gives the reason in a note; here it measures all the same.
"""


def measured(network: torch.nn.Module, tensors: dict[str, torch.Tensor]) -> rows.Rows:
    """Measure the rows of a pass."""
    return rows.measure(network, (), tensors, partial(once, network, inputs=tensors))


def kinds(found: rows.Rows) -> Counter[str]:
    """Count the rows of each kind."""
    counts: Counter[str] = Counter()
    for label, row in ((label, row) for sides in found.sites.values() for side in sides
                       for row, label in enumerate(rows.of_heads(side.flatten(0, -2)).tolist())):
        kind = "one" if label >= 0 else "none" if label == rows.NOTHING else "unclear"
        kind = "several" if label <= rows.SEVERAL or label == rows.DIFFERENT else kind
        counts[kind] += 1
        counts["moved"] += kind == "one" and all(label - first != row for first, _, _ in found.elements)
    return counts


def of_family(model_type: str) -> tuple[str, Counter[str], str]:
    """Return a type's rows by kind, and why they were not measured."""
    torch.set_num_threads(1)
    rows.LONGEST = sys.maxsize
    try:
        try:
            network = families_models.build(model_type, "sdpa")
        except (KeyError, ValueError):
            network = families_models.build(model_type, "eager")
        size, draw = network.config.get_text_config().vocab_size, torch.Generator().manual_seed(0)
        names = ("input_ids", "decoder_input_ids")[:1 + network.config.is_encoder_decoder]
        tensors = {name: torch.randint(min(16, size // 2), size, (1, length), generator=draw)
                   for name, length in zip(names, TOKENS)}
        found = measured(network, tensors)
    except Exception as error:   # a family that transformers cannot build or run here
        return model_type, Counter(), f"not run: {type(error).__name__}"
    return model_type, kinds(found), found.reason


def cost(name: str, length: int) -> str:
    """Return a row of the table of passes and seconds."""
    from transformers import LlamaConfig, LlamaForCausalLM

    width, layers, heads = DECODERS[name]
    torch.manual_seed(0)
    network = LlamaForCausalLM(LlamaConfig(vocab_size=512, hidden_size=width, intermediate_size=4 * width,
                                           num_hidden_layers=layers, num_attention_heads=heads)).eval()
    bound, rows.LONGEST = rows.LONGEST, sys.maxsize
    start = time.process_time()
    found = measured(network, {"input_ids": torch.randint(512, (1, length))})
    seconds, rows.LONGEST = time.process_time() - start, bound
    return f"| {name} | {length:,} | {found.passes} | {seconds:.1f} | {found.reason or 'measured'} |"


def main() -> None:
    """Print, and without types write, the tables."""
    families.prepare()
    wanted = sys.argv[1:]
    with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=4) as pool:
        found = sorted(pool.imap_unordered(of_family, wanted or families.counted("text", [])))
    cells = [f"| `{each}` | {' | '.join(str(counts[kind]) for kind in (*KINDS, 'moved'))} | {reason} |"
             for each, counts, reason in found]
    print("\n".join(cells))
    if wanted:
        return
    plain = [each for each, counts, _ in found if 0 < counts["one"] == sum(counts[kind] for kind in KINDS)]
    total = sum((counts for _, counts, _ in found), Counter())
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("torch", "transformers"))
    lines = [HEAD.format(versions=versions, machine=f"{os.cpu_count()} cores, {platform.machine()}",
                         today=datetime.date.today(), longest=rows.LONGEST),
             "| decoder | tokens | passes | seconds | |", "| --- | ---: | ---: | ---: | --- |",
             *(cost(name, length) for name in DECODERS for length in LENGTHS), "",
             f"All rows of {len(plain)} of {len(found)} types depend on one token each. In all types together: "
             + ", ".join(f"{kind} {total[kind]:,}" for kind in KINDS) + f"; moved {total['moved']:,}.", "",
             "| type | one | several | none | unclear | moved | not measured |",
             "| --- | ---: | ---: | ---: | ---: | ---: | --- |", *cells]
    write_file(TABLE, ("\n".join(lines) + "\n").encode("utf-8"))


if __name__ == "__main__":
    main()
