"""Do heads follow grammar? `python -m benchmarks.syntax FILE.conllu … [--model ID] [--most N] [--json FILE]`

Tests MiniLM and SmolLM2 on the treebanks and writes the page `benchmarks/syntax.md`. With `--most`, the models only
read the first N sentences of each file, and the page says how many.
"""
import argparse
import json
import os
import platform
import time
from collections.abc import Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

from benchmarks.tasks_table import table
from clearhead.model import sources
from clearhead.model.ask.desk import models
from clearhead.model.core.files import write as write_file
from clearhead.model.core.query import quiet
from clearhead.model.core.torch_runs import one_thread
from clearhead.model.studies.syntax import SyntaxQuery, read_treebank

PAGE = Path(__file__).with_name("syntax.md")
MODELS = ("minilm", "smollm2")
FEWEST = 20                # minimum number of tests for a relation on the page
INTRODUCTION = """# Do heads follow grammar?

Written by `python -m benchmarks.syntax en_ewt-ud-dev.conllu zh_gsdsimp-ud-dev.conllu`; for one treebank:
`clearhead syntax en_ewt-ud-dev.conllu --model minilm`. The treebanks are development sets of Universal
Dependencies (UD_English-EWT and UD_Chinese-GSDSimp, CC BY-SA 4.0), which are not part of this repository.

A head is right about a relation if the word that it looks at most, apart from the word itself and special tokens, is
the one to which the tree links the word. Weights are summed over the pieces looked at and averaged over the pieces that
look (Clark et al. 2019). *Held out*: the best of all heads and both directions, chosen on the even-numbered documents
and tested on the odd ones, and vice versa, with a 95% bootstrap interval over documents; over sentences if the file
marks no documents. *Offset*: the best fixed offset from −10 to 10 words, chosen and tested in the same way. *Chance*:
what the best of all heads and directions reaches on average over all sentences when sentences of equal length exchange
their trees. *Chosen*: layer·head from 0 and the word that looks, in the even and the odd half. *Possible*: the share of
tests that the model's mask allows, from the dependent and from the head; what it forbids counts as wrong. Relations
with fewer than {fewest} tests are left out.
"""


def measured(file: Path, model: str, most: int | None = None) -> dict:
    """Test one model on a treebank or its first `most` sentences. Return the result as in the command line's JSON, with
    the duration in seconds and the number of sentences in the file."""
    with file.open("rb") as opened:
        sentences = read_treebank(opened, file.name)
    question = SyntaxQuery(model, sources.revision(model), sentences[:most])
    opened_model, begun = models.open(question, quiet), time.perf_counter()
    found = question.answer(SimpleNamespace(open=lambda *_: opened_model), quiet).as_object()
    return found | {"of": len(sentences), "seconds": round(time.perf_counter() - begun)}


def row(name: str, relation: dict) -> list[str]:
    """Return one row of a table."""
    def share(number: float | None) -> str:
        return "–" if number is None else f"{number:.1%}"

    held = relation["held_out"] or {"value": None, "low": None}
    interval = "" if held["low"] is None else f" ({share(held['low'])} to {share(held['high'])})"
    chosen = [f"{each['layer']}·{each['head']} from the {each['direction']}" for each in relation["chosen"]]
    return [name, f"{relation['n']:,}", share(held["value"]) + interval, share(relation["offset"]),
            share(relation["luck"]["mean"]), ", ".join(dict.fromkeys(chosen)) or "–",
            ", ".join(f"{each:.0%}" for each in relation["possible"])]


def page(figures: dict) -> str:
    """Format the page as Markdown."""
    parts = [INTRODUCTION.format(fewest=FEWEST), figures["machine"]]
    for place, found in figures["answers"].items():
        shown = {name: each for name, each in found["relations"].items() if each["n"] >= FEWEST}
        above = [name for name, each in shown.items() if each["held_out"]
                 and (each["held_out"]["low"] or 0) > max(each["offset"], each["luck"]["high"])]
        parts += [f"\n## {place}\n",
                  f"{found['sentences']:,} of {found['of']:,} sentences, {found['seconds']:,} s. Left out: "
                  f"{found['not_found']} with a form that is not in the text, {found['too_long']} longer than the "
                  f"model reads. {found['alone']} have a unique length and keep their trees. In "
                  f"{len(above)} of {len(shown)} relations the whole interval is above the offset and above the 95th "
                  f"percentile of chance: {', '.join(above) or 'none'}.",
                  table(["relation", "n", "held out (interval)", "offset", "chance", "chosen", "possible"],
                        [row(name, each) for name, each in shown.items()])]
    return "\n".join(parts) + "\n"


def main(arguments: Sequence[str] | None = None, target: Path = PAGE) -> None:
    """Test the requested files and models, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.syntax", description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="+", type=Path, help="a treebank in CoNLL-U")
    parser.add_argument("--model", action="append", choices=MODELS, help="only this model; may be repeated")
    parser.add_argument("--most", type=int, help="only the first N sentences of each file")
    parser.add_argument("--json", type=Path, help="write the figures to this file too; other figures in it are kept")
    given = parser.parse_args(arguments)
    answers = (json.loads(given.json.read_text(encoding="utf-8"))["answers"]
               if given.json and given.json.is_file() else {})
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "numpy"))
    machine = (f"{date.today()}, one thread on {os.cpu_count()} cores, {platform.system()}, Python "
               f"{platform.python_version()}, {packages}.")
    with one_thread():
        for model in given.model or MODELS:
            for file in given.file:
                answers[f"{model}, {file.stem}"] = measured(file, model, given.most)
                figures = {"machine": machine, "answers": answers}
                write_file(target, page(figures).encode("utf-8"))
                if given.json:
                    write_file(given.json, json.dumps(figures, indent=1, ensure_ascii=False).encode("utf-8"))
    print(target.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
