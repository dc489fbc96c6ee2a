"""The shipped weights reach their stated accuracy."""
import random

import numpy as np
import pytest

from benchmarks import task_heads
from benchmarks.task_heads import looking, rows_at
from clearhead.model.core import heads
from clearhead.model.core.pictures import keep
from clearhead.model.core.query import Kind, Query, quiet
from clearhead.model.scratch import grammar, head_scores, models, story_grammar
from clearhead.model.scratch.source import NAMES, WEIGHTS, film_path, locate, network_of, weights_file
from clearhead.model.scratch.tasks import marked_digit, resolver, stories
from tests.uploads import png

TRAINED = sorted(set(NAMES) - {"scratch"})


def fresh(count: int) -> list[grammar.WinogradSentence]:
    """Draw twins with held-out pairs of nouns, other than those of the stored scores."""
    rng = random.Random("shipped")
    return [sentence for _ in range(count) for sentence in grammar.twins(rng, "test")]


@pytest.mark.parametrize("name", TRAINED)
def test_each_file_is_small_and_names_its_command(name):
    path, _ = weights_file(name)
    film, told = film_path(path), models.read_metadata(path)
    assert path.stat().st_size < 2_000_000
    assert models.command(told) == f"python -m clearhead train {name} --steps {told['steps']} --seed 1"
    assert film.exists() == (name not in ("stories", "picture-questions"))   # no page is about their training
    if film.exists():
        snapshots = models.read_metadata(film)["frames"]
        assert film.stat().st_size < 2_000_000
        assert len(snapshots) >= 4 and (snapshots[0], snapshots[-1]) == (0, told["steps"])


@pytest.mark.parametrize("name", [name for name in TRAINED if name.startswith("resolver")])
def test_resolvers_reach_their_stated_accuracy(name):
    model, told = models.load(weights_file(name)[0])
    assert told["scores"]["test"] >= 0.995
    assert resolver.accuracy(model, fresh(200)) >= 0.99


def test_narrow_resolver_has_a_resolving_head():
    model, _ = models.load(WEIGHTS / "resolver-narrow.safetensors")
    sentences = fresh(200)
    seen = head_scores.noun_weights(model, sentences, resolver.batch, Kind.SELF, lambda sentence: sentence.pronoun)
    best = max(task_heads.tabulate_pointing(seen, sentences, Kind.SELF), key=lambda head: head.both)
    assert best.name == "resolving" and best.mass > 0.9
    assert sum(share >= 0.95 for share in best.by_frame.values()) >= len(best.by_frame) / 2


def test_story_decoder_matches_the_grammar():
    """For stories drawn here, about animals that never met in its training, including those on which it is worst."""
    model, told = models.load(weights_file("stories")[0])
    rng = random.Random("shipped")
    texts = [story_grammar.draw(rng, "test").words for _ in range(150)]
    judged = stories.judge(model, texts)
    of_the_animal = {word for animal in story_grammar.ANIMALS for word in (animal.food, animal.home, *animal.action)}
    far = [right for right, word in zip(judged.determined, judged.words, strict=True) if word in of_the_animal]
    agreeing = [right for right, word in zip(judged.determined, judged.words, strict=True)
                if word in ("is", "are", "eat", "eats", "sleep", "sleeps")]
    assert len(far) == 150 and np.mean(far) >= 0.99 and len(agreeing) > 150 and np.mean(agreeing) >= 0.99
    assert judged.determined.mean() >= 0.995 and told["scores"]["right_test"] >= 0.995
    assert judged.distance.mean() < 0.02 and judged.loss - judged.entropy < 0.01


MODEL = "marked-digit"


@pytest.fixture(scope="module")
def canvases():
    return marked_digit.test_canvases("test", 400)


@pytest.fixture(scope="module")
def model():
    return network_of(MODEL)


def record(canvas, edits=frozenset()):
    picture = keep(png(canvas.pixels()), "canvas")
    return locate(MODEL).open().record(Query(MODEL, "r", "", image=picture.sha256, edits=edits), quiet)


def by(found, role, layer):
    return next(each for each in found if (each.role, each.layer) == (role, layer))


def test_rows_equal_the_record(model, canvases):
    found = head_scores.row_weights(model, marked_digit.batch(canvases[:4]).inputs,
                                    [1 + canvas.marker for canvas in canvases[:4]])
    for number, canvas in enumerate(canvases[:4]):
        for layer in record(canvas)[Kind.SELF].layers:
            expected = heads.row_weights(layer, 1 + canvas.marker)
            np.testing.assert_allclose(found[Kind.SELF, layer.index][number], expected, atol=1e-5)


def test_marked_digit_circuit(model, canvases):
    def turned(layer, where):
        return head_scores.turned(model, canvases, layer, 0, rows_at(canvases, where, 26))

    found = looking(model, canvases)
    fetch = by(found, "digit", 1)
    assert fetch.named and fetch.weight > 0.9 and fetch.elsewhere < 0.05
    assert not by(found, "marker", 0).named and not by(found, "digit", 0).named
    assert turned(0, "digits") > 0.9   # through the digits' own patches
    assert turned(0, "cls") < 0.1      # and not through [CLS]
    assert turned(1, "cls") > 0.9 > 0.1 > turned(1, "digits")
