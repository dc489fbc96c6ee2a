"""Find the heads that change the answer when patched: `python -m benchmarks.patching [--json FILE] [--small]`.

Tests our resolvers and the translator, over test sentences and their twins, and for the sentence with *tired* and
*wide*. Also writes the page `benchmarks/patching.md`, except with --small.
"""
import argparse
import json
import platform
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from benchmarks.tasks_table import table
from clearhead.model.core.files import write as write_file
from clearhead.model.core.query import Kind, Query, UserError, quiet
from clearhead.model.core.torch_runs import one_thread
from clearhead.model.scratch.source import locate
from clearhead.model.scratch.tasks import resolver, translator
from clearhead.model.studies.patching import PatchEffects, PatchQuery

PAGE = Path(__file__).with_name("patching.md")
MODELS = {"resolver-narrow": (Kind.SELF,), "resolver-wide": (Kind.SELF,), "translator": tuple(Kind)}
TWINS = ("The animal didn't cross the street because it was too tired.",
         "The animal didn't cross the street because it was too wide.")
INTRODUCTION = """# Which heads flip the answer

Written by `python -m benchmarks.patching` from the weights in `assets/weights`. Layers and heads count from 0. In the
pass of a sentence, a head's output is replaced by that from its twin, whose adjective makes "it" the other noun;
everything after it is recomputed. *Flipped* is the share of twins in which the twin's answer becomes the more probable
of the two. *Way* is how far ln P(twin's answer) − ln P(own answer) moves from the sentence's own value (0) to the
twin's (1), averaged over the twins; *tired and wide* is the same for that one sentence. Patching all heads of all
layers gives the twin's answer at every word that both share, so the last row of an encoder is 1 by construction.
"""


def pairs(name: str, count: int) -> list[tuple[str, str]]:
    """Return test sentences and their twins as texts; for the translator, only those whose nouns differ in gender."""
    task = translator if name == "translator" else resolver
    sentences = task.test_sentences("test", 2 * count)
    twins = zip(sentences[::2], sentences[1::2], strict=True)
    mixed = [each for each in twins if name != "translator" or each[0].nouns[0].feminine != each[0].nouns[1].feminine]
    return [(" ".join(first.english), " ".join(second.english)) for first, second in mixed]


def ask(opened, kind: Kind, texts: tuple[str, str]) -> PatchEffects:
    first, second = (Query(opened.card.id, opened.card.revision, text) for text in texts)
    return PatchQuery(first, second, kind).answer(SimpleNamespace(open=lambda *_: opened), quiet)


def parts(found: PatchEffects) -> dict[str, float]:
    """Return {patched part: metric} for each head, each layer, and all heads."""
    return ({f"{layer}·{head}": float(number) for (layer, head), number in zip(found.heads, found.patched, strict=True)}
            | {f"layer {layer}": number for layer, number in found.layers.items()} | {"all": found.whole})


def look_at(name: str, kind: Kind, count: int) -> dict:
    """Return the share of answers that change and the mean effect of each patch, over twins with different answers."""
    opened, turned, ways, left_out = locate(name).open(), [], [], 0
    for texts in pairs(name, count):
        try:
            found = ask(opened, kind, texts)
        except UserError:   # translations of different lengths
            left_out += 1
            continue
        if found.same or not found.plain < 0 < found.other:
            left_out += 1
            continue
        turned.append([found.turns(number) for number in parts(found).values()])
        ways.append([found.share(number) for number in parts(found).values()])
    example = ask(opened, kind, TWINS)
    rows = [{"patched": part, "turned": float(share), "way": float(way), "example": example.share(number),
             "example turned": example.turns(number)}
            for (part, number), share, way in zip(parts(example).items(), np.mean(turned, 0), np.mean(ways, 0),
                                                  strict=True)]
    return {"twins": len(turned), "left out": left_out, "words": example.words, "plain": example.plain,
            "other": example.other, "rows": rows}


def page(found: dict) -> str:
    lines = [INTRODUCTION, ", ".join(f"{name} {number}" for name, number in found["versions"].items()) + ".\n"]
    for name, kinds in found["models"].items():
        for kind, figures in kinds.items():
            own, other = figures["words"]
            lines += [f"## {name}, {kind}\n",
                      f"{figures['twins']} twins; {figures['left out']} left out, as both get one answer or differ in "
                      f"length. "
                      f"*tired* and *wide*: ln P({other}) − ln P({own}) is {figures['plain']:.1f} and "
                      f"{figures['other']:.1f} nats.",
                      table(("patched", "flipped", "way", "tired and wide"),
                            [(row["patched"], row["turned"], row["way"],
                              f"{row['example']:.3f}{' flipped' * row['example turned']}")
                             for row in figures["rows"]])]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.patching", description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="write the figures to this file, with versions")
    parser.add_argument("--small", action="store_true", help="fewer sentences, for a first look")
    given = parser.parse_args()
    versions = {"python": platform.python_version()} | {each: version(each) for each in ("torch", "numpy")}
    with one_thread():
        found = {"versions": versions,
                 "models": {name: {str(kind): look_at(name, kind, 20 if given.small else 200) for kind in kinds}
                            for name, kinds in MODELS.items()}}
    print(page(found))
    if given.json:
        write_file(Path(given.json), json.dumps(found, indent=1, ensure_ascii=False).encode("utf-8"))
    if not given.small:
        write_file(PAGE, page(found).encode("utf-8"))


if __name__ == "__main__":
    main()
