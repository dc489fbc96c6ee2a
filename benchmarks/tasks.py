"""Measure what the small models learned and how: `python -m benchmarks.tasks [--json FILE] [--weights FOLDER] [--small]
[--decoder ID ...]`.

Measures held-out accuracies by split, frame and role; what "it" attends to; the effect of silencing heads; where the
translator decides; and the circuits of induction and of the marked digit. Heads are named on validation sentences and
scored on test sentences. For the shipped weights, also writes the page `benchmarks/tasks.md`, except with --small.
"""
import argparse
import itertools
import json
import os
import platform
import random
from collections.abc import Callable, Iterable
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch

from benchmarks import baseline, task_heads, tasks_table
from clearhead.model.core.files import write as write_file
from clearhead.model.core.query import Kind, Query, Silence, quiet
from clearhead.model.core.torch_runs import one_thread
from clearhead.model.scratch import grammar, head_scores, models
from clearhead.model.scratch.source import WEIGHTS, locate
from clearhead.model.scratch.tasks import marked_digit, resolver, translator
from clearhead.model.scratch.transformer import Transformer, slots
from clearhead.model.studies import head_weights, induction

PAGE = Path(__file__).with_name("tasks.md")
MARKED = "marked-digit"
STRONGEST = 6  # number of heads of a large decoder to list for each score


def resolver_right(model: Transformer, sentences: list[grammar.WinogradSentence]) -> list[bool]:
    return resolver.correct_rows(model, resolver.batch(sentences)).tolist()


def pronoun_right(model: Transformer, sentences: list[grammar.WinogradSentence]) -> list[bool]:
    """Return whether the model chooses the correct pronoun, "il" or "elle", after the preceding French words."""
    batch = translator.batch(sentences)
    rows = torch.arange(len(sentences)), torch.tensor([sentence.french_pronoun for sentence in sentences])
    with torch.inference_mode():
        return (model(*batch.inputs).argmax(-1)[rows] == batch.targets[rows]).tolist()


def by_role(right: np.ndarray, sentences: list[grammar.WinogradSentence]) -> dict[str, dict[str, float]]:
    """Return the accuracy by frame and by the noun that is meant."""
    return {role: task_heads.by_frame(right[answer::2], sentences[answer::2])
            for answer, role in enumerate(tasks_table.ROLES)}


def positions(sentences: list[grammar.WinogradSentence]) -> dict[str, dict[str, float]]:
    """Return how often the nearest and the first noun is correct, by frame. Values should be near one half; otherwise
    the position reveals the answer."""
    nearest = [sentence.places[sentence.answer] == min(sentence.places, key=lambda at: abs(sentence.pronoun - at))
               for sentence in sentences]
    return {"nearest": task_heads.by_frame(nearest, sentences),
            "first": task_heads.by_frame([sentence.answer == 0 for sentence in sentences], sentences)}


def heads_named(model: Transformer, encode: head_scores.Encode, kind: Kind, row: Callable,
                splits: dict[str, list]) -> list[dict]:
    """Return one entry per head: its name, based on validation sentences, and its scores on test sentences."""
    seen = {split: task_heads.tabulate_pointing(head_scores.noun_weights(model, sentences, encode, kind, row),
                                                   sentences, kind)
            for split, sentences in splits.items()}
    return [{"name": judged.name, **asdict(figures)}
            for judged, figures in zip(seen["validation"], seen["test"], strict=True)]


def share(model: Transformer, sentences: list, right: Callable) -> Callable[[Iterable[Silence]], float]:
    return lambda silences: float(task_heads.judge(model, sentences, right, silences).mean())


def look_at_resolver(name: str, folder: Path, size: int) -> dict:
    model, about = models.load(folder / f"{name}.safetensors")
    splits = {split: resolver.test_sentences(split, size) for split in grammar.SPLITS[1:]}
    named = heads_named(model, resolver.batch, Kind.SELF, lambda sentence: sentence.pronoun, splits)
    pointers = [(Kind.SELF, each["layer"], each["head"]) for each in named if each["name"]]
    right = task_heads.judge(model, splits["test"], resolver_right)
    accuracy = {split: float(task_heads.judge(model, each, resolver_right).mean())
                for split, each in splits.items()}
    return {"command": models.command(about), "accuracy": accuracy, "by_role": by_role(right, splits["test"]),
            "heads": named,
            "silenced": task_heads.silencing_table(model, share(model, splits["test"], resolver_right), pointers)}


def look_at_translator(folder: Path, size: int) -> dict:
    model, about = models.load(folder / "translator.safetensors")
    splits = {split: translator.test_sentences(split, size) for split in ("validation", "test")}
    test = splits["test"]
    exact, validation = (np.array(translator.exact(model, splits[split])) for split in ("test", "validation"))
    mixed = [sentence for sentence in test if sentence.nouns[0].feminine != sentence.nouns[1].feminine]
    encoder = heads_named(model, translator.batch, Kind.SELF, lambda sentence: sentence.pronoun, splits)
    decoder = heads_named(model, translator.batch, Kind.CROSS, lambda sentence: sentence.french_pronoun, splits)
    pointers = [(each["kind"], each["layer"], each["head"]) for each in encoder + decoder if each["name"]]
    pronoun = share(model, mixed, pronoun_right)
    return {"command": models.command(about), "exact": float(exact.mean()), "validation": float(validation.mean()),
            "by_role": by_role(exact, test), "mixed": len(mixed), "pronoun": pronoun(()), "heads": encoder + decoder,
            "silenced": task_heads.silencing_table(model, pronoun, pointers), "stages": stages(model, pronoun),
            "swapped": {name: head_scores.flip_rate(model, test, translator.batch, words)
                        for name, words in SWAPS.items()}}


SWAPS: dict[str, Callable[[grammar.WinogradSentence], list[int]]] = {
    "it": lambda sentence: [sentence.pronoun],
    "the adjective": lambda sentence: [sentence.adjective],
    "the first noun": lambda sentence: [sentence.places[0]],
    "the second noun": lambda sentence: [sentence.places[1]],
    "both nouns": lambda sentence: list(sentence.places),
    "neither noun": lambda sentence: [i for i in range(len(sentence.english)) if i not in sentence.places],
    "every word": lambda sentence: list(range(len(sentence.english))),
}


def stages(model: Transformer, right: Callable[[Iterable[Silence]], float]) -> dict[str, float]:
    """Return the accuracy on pronouns with all heads of one layer and kind set to their mean, for each layer and
    kind."""
    return {f"{slot.kind} {slot.index}": right([Silence(slot.kind, slot.index, head, "mean")
                                                for head in range(model.config.heads)])
            for slot in slots(model.config)}


def look_at_induction(folder: Path) -> dict:
    opened = locate("induction", folder=folder).open()
    about = models.read_metadata(folder / "induction.safetensors")
    plain = induction.mean_scores(opened)
    trace = opened.trace(Query(opened.card.id, opened.card.revision, induction.FIRST), quiet)
    copying = head_weights.copying(opened, trace, head_weights.head_weights(trace, Kind.CAUSAL), Kind.CAUSAL)
    assert copying is not None   # it has an unembedding
    strongest = int(plain.prefix.argmax())
    costs = {}
    for layer, head in plain.heads:
        if layer == 0:
            after = induction.mean_scores(opened, frozenset({Silence(Kind.CAUSAL, layer, head)}))
            costs[f"{layer}·{head}"] = float(plain.prefix[strongest] - after.prefix[strongest])
    return {"command": models.command(about), **about["scores"], "uniform": plain.uniform,
            "silencing_lowers_prefix_by": costs,
            "heads": [{"layer": layer, "head": head, "previous": float(plain.previous[i]),
                       "prefix": float(plain.prefix[i]),
                       "copying": float(copying[i])}
                      for i, (layer, head) in enumerate(plain.heads)]}


def look_at_marked(folder: Path, size: int) -> dict:
    """Measure the marked-digit model: accuracy by split, what each head attends to in twins, and what transmits the
    position of the dot."""
    model, about = models.load(folder / f"{MARKED}.safetensors")
    splits = {split: marked_digit.test_canvases(split, size) for split in ("validation", "test")}
    right = {split: marked_digit.right(model, canvases) for split, canvases in splits.items()}
    test, named = splits["test"], task_heads.looking(model, splits["validation"])
    silenced = task_heads.silencing(model, test)
    places = [(layer, head) for layer in range(model.config.encoder_layers) for head in range(model.config.heads)]
    exchanged = [(where, task_heads.rows_at(test, where, model.config.max_length)) for where in task_heads.WHERE]
    return {"command": models.command(about), "parameters": sum(each.numel() for each in model.parameters()),
            "accuracy": {split: float(each.mean()) for split, each in right.items()},
            "twins": {split: marked_digit.both(each) for split, each in right.items()},
            "heads": [asdict(judged) | {"named": name.named}
                      for name, judged in zip(named, task_heads.looking(model, test), strict=True)],
            "circuit": [{"layer": layer, "head": head, **silenced[layer, head],
                         **{where: head_scores.turned(model, test, layer, head, rows) for where, rows in exchanged}}
                        for layer, head in places]}


def look_at_decoder(model_id: str) -> list[dict]:
    """Return the highest-scoring heads of a pretrained decoder: previous-token heads, then induction heads."""
    from clearhead.model.pretrained import load

    found = induction.mean_scores(load.locate(model_id).open(quiet))
    chosen = dict.fromkeys(int(i) for figures in (found.previous, found.prefix)
                           for i in np.argsort(-figures)[:STRONGEST])
    return [{"head": "·".join(map(str, found.heads[i])), "previous": float(found.previous[i]),
             "prefix": float(found.prefix[i])} for i in chosen]


def look_at_baseline(size: int, steps: int) -> dict:
    words = baseline.train(steps)
    return {split: baseline.accuracy(words, resolver.test_sentences(split, size)) for split in grammar.SPLITS[1:]}


def content(folder: Path, size: int, steps: int, decoders: list[str]) -> dict:
    """Return all results, with the machine and package versions."""
    machine = {"cores": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()}
    source = grammar.sentences(random.Random("positions"))
    found = {"machine": machine, "versions": {name: version(name) for name in ("torch", "numpy")}, "size": 10 * size,
             "positions": positions(list(itertools.islice(source, 10 * size))),
             "bag of words": look_at_baseline(size, steps)}
    found |= {name: look_at_resolver(name, folder, size) for name in tasks_table.RESOLVERS}
    return found | {"translator": look_at_translator(folder, size // 2), "induction": look_at_induction(folder),
                    MARKED: look_at_marked(folder, size),
                    "decoders": {each: look_at_decoder(each) for each in decoders}}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tasks", description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="write the figures to this file, with machine and versions")
    parser.add_argument("--weights", type=Path, default=WEIGHTS, help="folder of the trained models")
    parser.add_argument("--small", action="store_true", help="fewer sentences, for a first look")
    parser.add_argument("--decoder", action="append", default=[],
                        help="a fetched decoder to score beside ours, such as smollm2; may be repeated")
    given = parser.parse_args()
    size, steps = (200, 200) if given.small else (2_000, 2_000)
    with one_thread():
        found = content(given.weights, size, steps, given.decoder)
    print(tasks_table.page(found))
    if given.json:
        write_file(Path(given.json), json.dumps(found, indent=1, ensure_ascii=False).encode("utf-8"))
    if given.weights == WEIGHTS and not given.small:
        write_file(PAGE, tasks_table.page(found).encode("utf-8"))


if __name__ == "__main__":
    main()
