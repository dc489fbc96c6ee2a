"""The whole test against a second implementation in plain loops (plain.py), on small models with eager attention."""
import io
import random

import numpy as np
import pytest

from model.core.limits import Limits
from model.core.query import UserError, quiet
from model.pretrained import load
from model.studies.syntax import SyntaxQuery, read_treebank, run
from tests.model.studies.syntax import plain

FILE = plain.treebank()


@pytest.fixture(scope="module", params=["bert", "llama", "mistral"])
def both(request, tmp_path_factory):
    """(our report, the plain one, family) over the same file and model."""
    folder = plain.save(tmp_path_factory.mktemp(request.param), request.param)
    opened = load.open_model(str(folder), quiet)
    question = SyntaxQuery(str(folder), opened.card.revision, sentences(FILE))
    return run(question, opened, quiet), plain.syntax_test(folder, request.param, FILE), request.param


def sentences(text):
    return read_treebank(io.BytesIO(text.encode()), "mine.conllu")


def test_every_exact_number_is_that_of_the_plain_loops(both):
    ours, theirs, _ = both
    assert ours.counts.sentences == theirs["sentences"] == 34
    assert {score.name for score in ours.relations} == set(theirs["relations"]) == {"nsubj", "obj", "det", "amod",
                                                                                   "punct", "obl"}
    heads = ours.counts.heads
    for score in ours.relations:
        expected = theirs["relations"][score.name]
        assert score.n == expected["n"]
        assert score.held_out.value == pytest.approx(expected["held_out"])
        assert score.offset == pytest.approx(expected["offset"])
        assert score.accuracy == pytest.approx(expected["accuracy"])
        assert score.possible == pytest.approx(expected["possible"])
        assert [(each.direction, heads.index((each.layer, each.head))) for each in (*score.chosen, score.best)] == [
            *expected["chosen"], expected["best"]]


def test_the_exceptions_are_counted(both):
    ours, _, family = both
    counts = ours.counts
    assert (counts.not_found, counts.too_long) == (1, 1)
    assert counts.unplaced == 2   # of "du", whose words have no place: de and le; the root has no relation to be asked
    assert (counts.possible.sum() < 2 * counts.n.sum()) == (family != "bert")


def test_intervals_are_those_of_drawing_sentences_again(both):
    """Within what a few draws of few sentences leave open; ours are somewhat wider, as for few sentences they must
    be."""
    ours, theirs, _ = both
    rng = random.Random(1)
    for score in ours.relations:
        by_sentence = {}
        for number, right in theirs["relations"][score.name]["answers"]:
            by_sentence.setdefault(number, []).append(right)
        groups, means = list(by_sentence.values()), []
        for _ in range(500):
            drawn = [right for _ in groups for right in rng.choice(groups)]
            means.append(sum(drawn) / len(drawn))
        low, high = sorted(means)[12], sorted(means)[487]
        assert low - 0.1 < score.held_out.low <= low + 0.03 and high - 0.03 <= score.held_out.high < high + 0.1


def test_the_table_has_a_row_a_relation_and_a_row_a_head(both):
    ours = both[0]
    frame = ours.frame()
    assert frame.index.tolist() == [score.name for score in ours.relations] and frame["n"].is_monotonic_decreasing
    assert np.allclose(frame["held_out"], [score.held_out.value for score in ours.relations])
    heads = ours.heads("obj")
    assert heads.shape == (len(ours.counts.heads), 2) and heads.max().max() == ours.named("obj").accuracy
    with pytest.raises(KeyError):
        ours.heads("nobody")


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return load.open_model(str(plain.save(tmp_path_factory.mktemp("one"), "llama")), quiet)


def question(model, text, *relations):
    return SyntaxQuery(model.card.id, model.card.revision, sentences(text), relations)


def test_only_the_relations_that_are_asked_are_in_it_and_have_the_same_numbers(llama):
    some, everything = (run(question(llama, FILE, *names), llama, quiet) for names in (("obj", "det"), ()))
    assert {score.name for score in some.relations} == {"obj", "det"}
    for score in some.relations:
        other = everything.named(score.name)
        assert (score.n, score.held_out, score.offset, score.chosen, score.best) == (
            other.n, other.held_out, other.offset, other.chosen, other.best)


def test_a_relation_in_one_half_only_has_a_best_head_and_no_accuracy_elsewhere(llama):
    odd = "# text = the cat\n1\tthe\t_\t_\t_\t_\t2\tdet\t_\t_\n2\tcat\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    score = run(question(llama, odd), llama, quiet).named("det")
    assert (score.held_out, score.offset, score.chosen, score.n, score.accuracy) == (None, None, (), 1, 1.0)
    assert np.isnan(run(question(llama, odd), llama, quiet).frame().loc["det", "held_out"])


def test_what_cannot_be_tested_is_one_sentence(llama):
    with pytest.raises(UserError, match=r"No tree has the relation iobj; the trees have amod, det"):
        run(question(llama, FILE, "iobj"), llama, quiet)
    lost = "# text = x\n1\ty\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    with pytest.raises(UserError, match="None of the 1 sentences can be tested: in 1 a form"):
        run(question(llama, lost), llama, quiet)
    with pytest.raises(UserError, match="the trees have none"):
        run(question(llama, lost.replace("y", "x")), llama, quiet)


def test_choices_are_held_against_their_limit(llama, monkeypatch):
    monkeypatch.setattr("model.studies.syntax.LIMITS", Limits(choices_bytes=100))
    with pytest.raises(UserError, match=r"the answer has .* bytes .*; take fewer sentences"):
        run(question(llama, FILE), llama, quiet)


def test_a_run_ends_where_nobody_waits_for_it(llama):
    def stop(fraction, text):
        seen.append((fraction, text))
        if fraction > 0.2:
            raise KeyboardInterrupt

    seen = []
    with pytest.raises(KeyboardInterrupt):
        run(question(llama, FILE), llama, stop)
    assert seen[0] == (0.0, "sentence 1 of 36") and len(seen) < 20
