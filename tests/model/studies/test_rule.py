"""A user's rule compared with a slow count, and its baselines on fabricated records."""
import re

import numpy as np
import pytest

import clearhead
from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.query import UserError
from clearhead.model.studies import rule, syntax
from clearhead.model.studies.syntax import looked_at
from tests.model import tiny

TEXTS = ["the animal was too tired", "a cat sat on mat", "because it was wide the cat sat", "two in garden sat"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(tiny.save(tmp_path_factory.mktemp("rule") / "bert", "bert"))


def counted(model, text, pairs):
    """Return (whether it is right, its weight on the targets) of each head for each pair of words, one token per word,
    by the plain definition."""
    record = clearhead.open(model)(text)
    weights = record.weights()[:, :, 1:-1, 1:-1].copy()      # the words alone, without [CLS] and [SEP]
    for place in range(weights.shape[-1]):
        weights[..., place, place] = -1
    flat = weights.reshape(-1, *weights.shape[-2:])
    return [[(int(row[looking].argmax()) in wanted, row[looking, list(wanted)].clip(0).sum()) for row in flat]
            for looking, wanted in pairs]


def test_accuracy_of_a_rule(model):
    find = (["cat", "animal", "it"], re.compile("sat|was|tired"))
    marked = rule.mark(TEXTS, find)
    report = desk.ask(rule.RuleQuery(model, sources.revision(model), marked)).result()
    expected = np.array([each for case in marked if case.pairs for each in counted(model, case.text, case.pairs)])
    assert report.pairs == len(expected) == 4
    np.testing.assert_allclose([each.value for each in report.accuracy], expected[..., 0].mean(0))
    np.testing.assert_allclose(report.weight, expected[..., 1].mean(0), rtol=1e-5)
    assert report.frame().accuracy.is_monotonic_decreasing
    assert len(report.frame()) == 12


def test_equal_weights_look_at_no_word():
    assert looked_at(np.float32([[[-1, 0.5, 0.5], [0.2, -1, 0.8], [-1, -1, -1]]])).tolist() == [[-1, 2, -1]]


def test_offset_is_the_best_baseline_of_itself():
    more = (f"the {word} was too wide" for word in ("cat", "mat", "animal", "street", "garden"))
    marked = rule.mark([*TEXTS, *more], -1)
    assert all(wanted == (place - 1,) for case in marked for place, wanted in case.pairs)
    report = desk.ask(rule.RuleQuery("minilm", sources.revision("minilm"), marked)).result()
    assert report.offset == (-1, 1.0)
    assert report.null.mean == pytest.approx(report.null.best, abs=0.05)   # position alone is all there is to it
    assert report.null.p_value > 0.2


def test_typed_sides():
    trees = syntax.shipped_treebank("en")
    assert rule.read_side(" VERB ", trees) == "VERB" and rule.read_side("nsubj", trees) == "nsubj"
    assert rule.read_side("it, he", trees) == ["it", "he"] and rule.read_side("nsubj", TEXTS) == ["nsubj"]
    assert rule.read_side("verb", [{"text": "a cat", "verb": "cat"}]) == "verb"
    assert rule.read_side("5", TEXTS) == ["5"] and rule.read_side("+5", TEXTS) == 5
    for name, place in (("it#2", 2), (" saw", 1), ("5", 3)):
        marked, = rule.mark([{"text": "it saw it 5", "one": name, "all": ["saw", "it#1"]}], ("one", "all"))
        assert {source for source, _ in marked.pairs} == {place}
    assert rule.mark(["it saw 5"], ([" saw"], ["5"]))[0].pairs == ((1, (2,)),)
    assert rule.read_side("−1", TEXTS) == -1 and rule.read_side("/c.t/", TEXTS) == re.compile("c.t")
    for typed in (" ", "/(/"):
        with pytest.raises(UserError):
            rule.read_side(typed, TEXTS)


def test_rule_with_too_many_pairs_is_refused_in_advance():
    for texts in (["a cat " * 50_000], ["a cat " * 150] * 4):
        with pytest.raises(UserError, match="limit"):
            rule.mark(texts, ("word", "word"))


def test_marks_in_the_cases_select_words_or_spans():
    cases = [{"text": "Old friends never really meet.", "verb": "meet", "subject": (4, 11)},
             {"text": "She sings and he sings.", "verb": ["sings"], "subject": "he"},
             {"text": "The cat sat.", "verb": (8, 11),
              "subject": tuple(np.array([3, 8]))}]   # the span ends where the verb begins
    first, second, third = rule.mark(cases, ("verb", "subject"))
    assert third.pairs == ((2, (1,)),) and rule.mark(cases, ("subject", "verb"))[2].pairs == ((1, (2,)),)
    assert first.pairs == ((4, (1,)),)
    assert second.pairs == ((1, (3,)), (4, (3,)))
    table = [{"text": "A cat sat.", "verb": "6:9", "subject": "cat"}, {"text": "A dog.", "verb": "", "subject": "dog"}]
    assert [case.pairs for case in rule.mark(table, ("verb", "subject"))] == [((2, (1,)),), ()]


def sentence_tests(pairs, looked):
    """Build the tests of one sentence. pairs: [(place, wanted)]; looked: (word, head)."""
    places = np.array([place for place, _ in pairs])
    right = np.array([looked[place] == wanted for place, wanted in pairs])
    heads = tuple((0, head) for head in range(looked.shape[1]))
    return rule._Tests(heads, right, right * 0.5, looked, places, [(wanted,) for _, wanted in pairs], len(looked), 0)


@pytest.mark.parametrize("offset", [-11, -10, -1, 1, 10, 11])
def test_baselines_are_offsets_of_up_to_ten_words(offset):
    """The word itself is none of them."""
    places, looked = range(max(0, -offset), 24 - max(0, offset)), np.zeros((24, 2), int)
    report = rule.summary([sentence_tests([(place, place + offset) for place in places], looked)] * 2, ["a", "b"], 0)
    assert report.offset == (offset, 1.0) if abs(offset) <= 10 else report.offset[1] == 0
    same = [sentence_tests([(place, place) for place in places], looked)] * 2
    assert rule.summary(same, ["a", "b"], 0).offset[1] == 0


def test_head_made_for_a_rule_beats_its_null():
    """One of three heads always looks at the wanted word, wherever it is; the others look at random."""
    rng, tests = np.random.default_rng(5), []
    for _ in range(60):
        wanted = int(rng.choice([place for place in range(9) if place != 4]))
        looked = rng.integers(0, 9, (9, 3))
        looked[4, 0] = wanted
        tests.append(sentence_tests([(4, wanted)], looked))
    report = rule.summary(tests, [str(number) for number in range(60)], 0)
    assert report.best == (0, 0) and report.held_out.accuracy.value == 1 and report.units == 60
    assert report.null.p_value < 0.01 and report.null.mean < 0.5
    assert report.offset[1] < 0.4


def test_null_keeps_the_pairs_of_a_sentence_and_of_a_document_together():
    """In a document all words belong to one word, and a head that knows nothing looks at one from everywhere."""
    rng, values = np.random.default_rng(11), {"sentence": [], "document": []}
    for _ in range(60):
        tests, units = [], []
        for document in range(12):
            wanted, there = rng.integers(0, 6, 2)
            for _ in range(4):
                pairs = [(place, wanted) for place in range(6) if place != wanted]
                tests.append(sentence_tests(pairs, np.full((6, 1), there)))
                units.append(str(document))
        values["document"].append(rule.summary(tests, units, 0).null.p_value)
        values["sentence"].append(rule.summary(tests[::4], units[::4], 0).null.p_value)
    for found in values.values():
        assert np.mean(np.array(found) <= 0.05) <= 0.12 and np.mean(np.array(found) <= 0.5) > 0.15


def test_equal_sentences_and_frames_are_one_unit(model):
    cases = [{"text": text, "frame": frame} for frame in (0, 1) for text in TEXTS]
    for given, units in ((TEXTS * 5, 4), (cases, 2), ([{"text": text, "frame": np.nan} for text in TEXTS * 2], 4)):
        marked = rule.mark(given, (["sat", "was"], -1))
        report = desk.ask(rule.RuleQuery(model, sources.revision(model), marked)).result()
        assert report.units == units and np.isnan(report.frame()["low"]).all() and np.isnan(report.null.p_value)
        assert f"{units} independent sentences, fewer than 8" in repr(report) and "nan" not in repr(report)
        assert ("held out" in repr(report)) == (report.held_out is not None)
