"""Does attention explain? `python -m benchmarks.explain [--model ID ...] [--set SET ...] [--json FILE]` writes the page
benchmarks/explain.md.

For each model and the texts of assets/cases, measures how well each attribution method ranks words compared with the
effects of removing them in three ways, with intervals; how well these ways agree; and the best head, chosen on the
other half of the texts. Results that are not requested are taken from FILE, if it exists. Skips models that are not on
this disk.
"""
import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from importlib.metadata import version
from pathlib import Path

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.ask.desk import text_set
from clearhead.model.core.files import write as write_file
from clearhead.model.core.query import UserError
from clearhead.model.studies.faithfulness import COLUMNS, SETS, by_layer, questions, report, texts

PAGE = Path(__file__).with_name("explain.md")
MODELS = {"minilm": "vector", "smollm2": "next", "resolver-narrow": "label", "resolver-wide": "label",
          "translator": "target", "induction": "next"}
HEADED = ("weight_head", "norm_head")   # methods that need a selected head, left out here
NAMES = {"weight_layer": "attention, mean of the last layer's heads", "norm": "‖αf(x)‖, last layer",
         "norm_residual": "… with residual",
         "norm_layernorm": "… with residual and normalisation", "rollout": "rollout",
         "rollout_even": "rollout of a model that looks evenly",
         "flow": "attention flow", "flow_even": "flow of a model that looks evenly", "gradient": "gradient × input"}
INTRODUCTION = """# Does attention explain?

Written by `python -m benchmarks.explain`. Each number is Spearman's ρ between the size of a measure and the size of the
measured effect of removing a token: the mean over texts, with a 95% bootstrap interval over groups of similar texts
(2,000 draws). Special tokens, the token that answers, and a decoder's first token, which cannot be hidden from itself,
are left out. *Deleted*: the token is removed. *Replaced*: a mask or a neutral token takes its place. *Hidden*: no token
may attend to it. The *ceiling* is the agreement of each definition with the two others. Rollout and flow with uniform
attention reflect only position; without a mask they are the same for every token, and are not listed. A head is chosen
on one half of the texts and scored on the other.

- `sentences`: the last word of 60 sentences (its ln P; for a sentence vector, the cosine with a paraphrase).
  `agreement`: *was* against *were* in 128 sentences of 16 frames (the difference of both ln P; for a sentence vector,
  the cosine with the twin).
- `resolver`: "it" in 60 test sentences, the noun against the runner-up; for the translator, *il* or *elle* in its own
  translation, over the words of the English text, which cross-attention attends to. `induction`: the next character in
  60 random repeats.
"""


def measured(model: str, kind: str, which: str) -> dict:
    """Measure one model over one set."""
    print(f"{model}, {which}", flush=True)
    start, found, groups, left_out = time.perf_counter(), [], [], 0
    for question, text in zip(questions(model, sources.revision(model), kind, which), texts(which), strict=True):
        try:
            found.append(desk.ask(question).result())
            groups.append(text.group)
        except UserError as error:
            left_out += 1
            print(f"  left out: {error}", file=sys.stderr)
    last = found[0].layers[-1]
    return {"report": asdict(report(found, groups, last, 0)), "left_out": left_out,
            "seconds": time.perf_counter() - start,
            "layers": {measure: by_layer(found, measure) for measure in ("weight", "norm")}}


def cell(mean: dict) -> str:
    return "–" if not mean["texts"] else f"{mean['value']:.2f} ({mean['low']:.2f} to {mean['high']:.2f})"


def table(found: dict) -> str:
    """Format the methods' results for one model and set as a table, with the ceiling as its last row."""
    said: dict = found["report"]
    rows = [(NAMES[name], each) for name, each in said["methods"].items() if name not in HEADED and each[-1]["texts"]]
    rows.append(("**ceiling: the definitions among one another**", said["ceiling"]))
    lines = ["| measure | " + " | ".join((*COLUMNS[:-1], "mean of the three")) + " |", "|---|" + "---|" * len(COLUMNS)]
    lines += [f"| {name} | {' | '.join(map(cell, each))} |" for name, each in rows]
    heads = " and ".join(f"{layer}·{head}" for layer, head in said["chosen"])
    used = said["ceiling"][-1]["texts"]
    lines += ["",
              f"The best head ({heads}, each scored on the other half): {cell(said['best'])}. {said['texts']} texts, "
              f"{said['words']:.1f} ranked tokens per text, {used} texts with at least five, which a correlation "
              f"needs; {found['left_out']} left out; {found['seconds']:.0f} s."]
    for measure, name in (("weight", "attention"), ("norm", "‖αf(x)‖")):
        lines += ["", f"By layer from 0, {name}: " + " ".join(f"{value:.2f}" for value in found["layers"][measure])]
    return "\n".join(lines)


def page(figures: dict) -> str:
    parts = [INTRODUCTION, figures["machine"]]
    for model, sets in figures["models"].items():
        parts.append(f"\n## {model}")
        parts += [f"\n### {which}\n\n{table(found)}" for which, found in sets.items()]
    return "\n".join(parts) + "\n"


def write(models: dict, target: Path, file: Path | None) -> None:
    """Write the page, and the results to a JSON file if requested."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "numpy"))
    figures = {"machine": f"{date.today()}, {os.cpu_count()} cores, {platform.system()}, Python "
                          f"{platform.python_version()}, {versions}.",
               "models": {model: models[model] for model in MODELS if model in models}}
    write_file(target, page(figures).encode("utf-8"))
    if file:
        write_file(file, json.dumps(figures, indent=1, ensure_ascii=False).encode("utf-8"))


def main(arguments: Sequence[str] | None = None, target: Path = PAGE) -> None:
    """Measure the requested models and sets, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.explain", description=__doc__.splitlines()[0])
    parser.add_argument("--model", action="append", choices=MODELS, help="only this model; may be repeated")
    parser.add_argument("--set", action="append", choices=SETS, help="only this set of those for pretrained models")
    parser.add_argument("--json", type=Path, help="write the figures to this file too; other figures in it are kept")
    given = parser.parse_args(arguments)
    models = json.loads(given.json.read_text(encoding="utf-8"))["models"] if given.json and given.json.is_file() else {}
    here = {offer.id for offer in sources.catalogue().values() if offer.on_disk}
    for model in (each for each in given.model or MODELS if each in here):
        for which in dict.fromkeys(text_set(model, MODELS[model], each) for each in given.set or SETS):
            models.setdefault(model, {})[which] = measured(model, MODELS[model], which)
            write(models, target, given.json)   # save results in case of an interruption
    print(target.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
