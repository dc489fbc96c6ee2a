"""Cases, the weights on their nouns, a model's answers, and the evaluation."""
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core import heads
from clearhead.model.core.query import Kind, Silence, UserError, quiet
from clearhead.model.core.record import AttentionRecord, Prediction
from clearhead.model.studies import coreference
from clearhead.model.studies.coreference import Case, CasePositions, CasesQuery, make_case
from tests import headline
from tests.fabricate import record
from tests.headline import TIRED, WIDE
from tests.model.only import CardQuery

HEAD = "sentence,pronoun,correct,wrong\n"


def read_csv(text):
    return coreference.read_cases(text.encode(), "mine.csv")


def test_pronoun_is_the_first_after_both_candidates():
    text = "It rained, so the cat left the yard, and it dried while it shone."
    assert make_case(text, "it", "cat", "yard").pronoun[0] == text.index("it dried")
    assert make_case(text, "it", "cat", "yard", start=text.index("it shone")).pronoun[0] == text.index("it shone")


def test_candidate_is_the_last_noun_before_the_pronoun():
    text = "The dog saw the cat, the dog barked, and it ran from the dog."
    assert make_case(text, "it", "dog", "cat").correct[0] == text.index("dog barked")


@pytest.mark.parametrize(("row", "says"), [
    ("The cat sat.,it,cat,mat", "wrong word 'mat'"), ("The cat saw the dog.,it,cat,dog", "pronoun word 'it'"),
    ("The cat saw it.,it,cat,cat", "three different words"), ("The cat saw a dog as it ran.,it,,dog", "correct word"),
])
def test_bad_row_is_skipped_and_reported(row, says):
    found = read_csv(HEAD + f"{TIRED},it,animal,street\n{row}\n{WIDE},it,street,animal\n")
    assert [case.sentence for case in found.cases] == [TIRED, WIDE] and len({case.pair for case in found.cases}) == 1
    assert len(found.left_out) == 1 and re.match(f"mine.csv, line 3: .*{re.escape(says)}", found.left_out[0])
    with pytest.raises(UserError, match=f"mine.csv, line 2: .*{re.escape(says)}"):
        read_csv(HEAD + f"{row}\n")


def test_twins_are_recognised_without_a_column():
    text = HEAD + f"{TIRED},it,animal,street\nThe cat saw the dog when it ran.,it,cat,dog\n{WIDE},it,street,animal\n"
    pairs = [case.pair for case in read_csv("\ufeff" + text).cases]
    assert pairs[0] == pairs[2] != pairs[1]


def test_shipped_twins_have_opposite_answers():
    cases = coreference.shipped_cases("coreference")
    pairs = {name: [case for case in cases if case.pair == name] for name in {case.pair for case in cases}}
    assert len(pairs) >= 100 and len({case.frame for case in cases}) >= 20
    assert len({case.sentence for case in cases}) == len(cases)
    for twins in pairs.values():
        one, other = twins
        assert coreference.twin_of(one) == other and coreference.twin_of(other) == one
        assert (one.word("correct"), one.word("wrong"), one.frame) == (other.word("wrong"), other.word("correct"),
                                                                       other.frame)
        assert all(max(case.correct[1], case.wrong[1]) < case.pronoun[0] for case in twins)
    unpaired = [make_case(case.sentence, *map(case.word, ("pronoun", "correct", "wrong"))) for case in cases]
    assert len({case.pair for case in coreference.pair_twins(unpaired)}) == len(pairs)


@pytest.mark.parametrize(("sentence", "prefer", "words"), [
    (WIDE, (), ("it", "animal", "street")),
    ("Mary told Jane that she had won.", (), ("she", "Mary", "Jane")),
    ("When it rained, the dog left my garden because it was wet.", (), ("it", "dog", "garden")),
    ("When it rained, the dog left my garden because it was wet.", ("", "", "dog"), ("it", "garden", "dog")),
    ("He put the zarf on a gromp and it broke.", (), ("it", "zarf", "gromp"))])
def test_own_sentence_gets_pronoun_and_nouns(sentence, prefer, words):
    case = coreference.guess(sentence, prefer)
    assert tuple(case.word(name) for name in ("pronoun", "correct", "wrong")) == words


def answer_of(frames: int, rng: np.random.Generator, named: bool = True) -> coreference.SetAnswer:
    """Fabricate a set of eight sentences a frame on which four heads know nothing, but are right or wrong in whole
    frames."""
    cases = tuple(Case(f"{frame} {number}", (0, 1), (2, 3), (4, 5), frame=str(frame) if named else "",
                       pair=f"{frame} {number // 2}" if named else str(frame))
                  for frame in range(frames) for number in range(8))
    right = np.repeat(rng.integers(0, 2, (frames, 4)), 8, 0)
    weights = np.stack([right, 1 - right], -1).astype(np.float32)
    return coreference.SetAnswer(CasesQuery("a", "b", cases), tuple((Kind.SELF, 0, head) for head in range(4)),
                                 weights, weights, weights, 0)


@pytest.mark.parametrize("named", [True, False])
def test_null_swaps_whole_frames(named):
    rng = np.random.default_rng(3)
    reports = [coreference.report(answer_of(20, rng, named)) for _ in range(60)]
    assert sum(each.luck.p_value <= 0.05 for each in reports) <= 6       # by pair it was nearly all
    inside = [head.accuracy.low <= 0.5 <= head.accuracy.high for each in reports for head in each.heads]
    assert np.mean(inside) > 0.85


def test_two_frames_give_neither_interval_nor_p():
    found = coreference.report(answer_of(2, np.random.default_rng(3)))
    assert np.isnan([found.luck.p_value, found.luck.high, found.best.accuracy.low]).all()
    assert "2 independent frames, fewer than 8" in repr(found) and "nan" not in repr(found)


def test_repeated_rows_are_one_frame():
    text = HEAD + f"{TIRED},it,animal,street\n{WIDE},it,street,animal\n" * 9
    assert coreference.frames_of(read_csv(text).cases).max() == 0


def by_hand(attention_map, place: CasePositions):
    """Every head with its whole matrix, token by token."""
    kept = {"pronoun": [], "later": [], "received": []}
    for layer in attention_map.layers:
        for head in range(layer.heads):
            matrix = heads.weights(layer, head).astype(np.float64)
            behind = range(max(place.pronoun) + 1, place.last + 1)
            for name, rows in (("pronoun", place.pronoun), ("later", behind)):
                kept[name].append([np.mean([sum(matrix[row, key] for key in noun) for row in rows])
                                   for noun in (place.correct, place.wrong)])
            others = [[row for row in range(len(matrix)) if row not in (*place.pronoun, *noun) and
                       (attention_map.kind is Kind.SELF or row > max(noun))] for noun in (place.correct, place.wrong)]
            kept["received"].append([np.mean([sum(matrix[row, key] for key in noun) for row in rows])
                                     for noun, rows in zip((place.correct, place.wrong), others)])
    return {name: np.array(values) for name, values in kept.items()}


@pytest.mark.parametrize("kind", [Kind.SELF, Kind.CAUSAL])
@pytest.mark.parametrize("place", [CasePositions((7,), (1,), (4,), 10), CasePositions((7, 8), (2, 3), (5,), 10)])
def test_noun_weights_equal_sums_by_hand(kind, place):
    attention_map = record(11, kind)[kind]
    found, wanted = coreference.noun_weights(attention_map, place), by_hand(attention_map, place)
    for name, numbers in wanted.items():
        np.testing.assert_allclose(found[name], numbers, atol=1e-6, err_msg=name)


def test_famous_head_of_minilm():
    case = make_case(TIRED, "it", "animal", "street")
    ids = ("minilm", sources.untrained("minilm"))
    trained, untrained = (desk.ask(CasesQuery(each, sources.revision(each), (case,))).result() for each in ids)
    head = trained.heads.index((Kind.SELF, 3, 1))
    np.testing.assert_allclose(trained.pronoun[0, head], [float(headline.ANIMAL), 0.050], atol=2e-3)
    assert untrained.heads == trained.heads and np.abs(untrained.pronoun - 1 / 17).max() < 0.03
    card = desk.ask(CardQuery(ids[1], sources.revision(ids[1]))).result()
    assert "untrained" in card.title and sources.revision(ids[0]) != sources.revision(ids[1])


AFTER = "The animal didn't cross the street because the {} was too tired."
LAMP = "Tom put the letter beside the lamp before he lit {}."


@pytest.mark.parametrize(("sentence", "nouns", "way", "text", "scored"), [
    (TIRED, ("animal", "street"), "next", AFTER, " was too tired."), (TIRED, ("animal", "street"), "mask", AFTER, "{}"),
    (LAMP.format("it"), ("lamp", "letter"), "next", LAMP.format("the {}"), "{}")])
def test_both_nouns_are_scored_in_place_of_the_pronoun(sentence, nouns, way, text, scored):
    found = coreference.scored_texts(make_case(sentence, "it", *nouns), way)
    assert [(said, said[slice(*span)]) for said, span in found] == [
        (text.format(noun), scored.format(noun)) for noun in nouns]


def test_scored_texts_of_agreement():
    case = coreference.shipped_cases("agreement")[0]
    (right, at), (wrong, other) = coreference.scored_texts(case, "next")
    assert (right[slice(*at)], wrong[slice(*other)]) == (case.answer, case.other) and right == case.sentence
    assert right[:at[0]] == wrong[:other[0]]


@pytest.mark.parametrize(("sentence", "words", "said"), [
    ("Anna lent Maria money because she was kind.", ("she", "Anna", "Maria"), "Anna"),
    ("The dog lost a bone. It was old.", ("It", "dog", "bone"), "The dog"),
    ("The dog hid the bone in its bed.", ("its", "dog", "bone"), "the dog's"),
])
def test_candidate_replaces_the_pronoun(sentence, words, said):
    assert coreference.substitute(make_case(sentence, *words), "correct") == said


def labelled(**probabilities: float) -> Prediction:
    return Prediction("label", (5,), ((1, 2),), (tuple(probabilities),), (tuple(probabilities.values()),), (0.0,))


def test_resolver_answers_at_the_pronoun():
    case = make_case("aa bb cc dd ee it gg", "it", "bb", "cc")
    seen = []

    def record_of(query, report):
        seen.append(query.edits)
        plain = record(7)
        said = labelled(bb=0.7, cc=0.2) if not query.edits else labelled(cc=0.6, dd=0.1)
        return AttentionRecord(query, plain.card, plain.maps, plain.verification, said)

    models = SimpleNamespace(open=lambda asked, report: SimpleNamespace(ours=True, record=record_of))
    edits = frozenset({Silence(Kind.SELF, 1, 3)})
    plain, silenced = (coreference.AnswersQuery("fake", "0", (case,), each).answer(models, quiet)
                       for each in (frozenset(), edits))
    assert seen == [frozenset(), edits] and plain.way == "label"
    np.testing.assert_allclose(plain.scores, [[math.log(0.7), math.log(0.2)]])
    np.testing.assert_allclose(plain.share, [0.7 / 0.9])
    # not among the best: as probable as the last of them at most
    np.testing.assert_allclose(silenced.scores, [[math.log(0.1), math.log(0.6)]])


def test_halves_keep_frames_whole_and_are_of_one_size():
    frame, names = np.repeat(np.arange(139), 2) % 29, [f"frame {number}" for number in range(29)]
    half = coreference.split_halves(frame, names)
    assert all(len(set(half[frame == each])) == 1 for each in range(29))
    assert abs(half.mean() - 0.5) < 0.04
    order = np.random.default_rng(0).permutation(len(frame))
    np.testing.assert_array_equal(coreference.split_halves(frame[order], names), half[order])


def test_baselines_by_hand():
    text = "The cat saw a dog near us before it ran."
    first, second, pronoun = (4, 7), (14, 17), (33, 35)
    cases = (Case(text, pronoun, first, second), Case(text, pronoun, second, first))
    np.testing.assert_array_equal(coreference.first_noun_baseline(cases), [1, 0])
    np.testing.assert_array_equal(coreference.nearest_noun_baseline(cases), [0, 1])
    np.testing.assert_array_equal(coreference.nearest_noun_baseline((Case(text, (8, 11), first, second),)), [1])


def test_equal_weights_count_one_half_and_a_pair_needs_both():
    weights = np.array([[[0.2, 0.1]], [[0.1, 0.2]], [[0.3, 0.3]]], np.float32)
    np.testing.assert_array_equal(coreference.correctness(weights)[:, 0], [1, 0, 0.5])
    pairs = np.array([0, 1, 0, 1, 2])   # the last one has no twin
    correct = np.array([[1, 1, 0.5], [1, 0, 1], [1, 1, 1], [1, 1, 1], [0, 0, 0]])
    np.testing.assert_array_equal(coreference.both_right(correct, pairs), [1, 0.5, 0.5])
    assert np.isnan(coreference.both_right(correct, np.arange(5))).all()
