"""What the page Coreference says, on numbers whose truth is known."""
import numpy as np

from model.core.query import Kind
from model.studies.coreference import statistics
from model.studies.coreference.cases import Case
from model.studies.coreference.heads import CasesQuery, SetAnswer
from model.studies.coreference.report import report
from viz.pages.coreference.claims import Twins, sentence_claims, set_claims, verdict

HEADS = tuple((Kind.SELF, layer, head) for layer in range(3) for head in range(5))


def twins(there: bool = True) -> Twins:
    """Head 0·0 flips, 0·1 always looks at A, 0·2 at B, 0·3 is wrong in both, 0·4 and all others look at neither."""
    here, other = np.full((15, 2), 0.01, np.float32), np.full((15, 2), 0.01, np.float32)
    here[:4], other[:4] = [[0.5, 0.2], [0.7, 0.1], [0.1, 0.6],
                           [0.2, 0.4]], [[0.1, 0.4], [0.3, 0.2], [0.0, 0.5], [0.4, 0.2]]
    return Twins(HEADS, here, other if there else None, 0.125, ("animal", "street", "it"))


def answer(seed: int, accuracy: float) -> SetAnswer:
    """Fourteen heads that know nothing and one, 1·2, that is right in this share of 140 cases."""
    draw, count = np.random.default_rng(seed), 140
    weights = draw.random((count, 15, 2), np.float32) / 2
    hit = draw.permutation(count) < accuracy * count
    weights[:, 7] = np.where(hit[:, None], [0.4, 0.1], [0.1, 0.4])
    cases = tuple(Case("a b c", (4, 5), *((0, 1), (2, 3))[:: 1 - 2 * (number % 2)], frame=f"frame {number % 35}",
                       pair=f"pair {number // 2}")
                  for number in range(count))
    return SetAnswer(CasesQuery("fake", "0", cases), HEADS, weights, weights, draw.random((count, 15, 2), np.float32),
                     0)


def test_every_head_has_its_verdict():
    assert twins().verdicts() == ["flips", "a", "b", "against"] + ["faint"] * 11
    assert twins(there=False).verdicts() == []
    np.testing.assert_array_equal(twins().order[:2], [1, 0])


def test_the_inference_of_tutorials_is_put_to_the_twin():
    inference, counts = sentence_claims(twins())
    assert "0·1" in inference[0] and "0.700" in inference[0] and "highest weight is the referent" in inference[0]
    assert "the inference fails" in inference[1] and "0.300" in inference[1]
    assert "**1** are right in both sentences, 1 always prefer *animal*, 1 always prefer *street*, " in counts[0]
    assert "1 are wrong in both, and 11 hardly" in counts[0]
    assert "0·0" in counts[1] and "0.700" in counts[1] and "0.500" in counts[1]
    alone, nothing = sentence_claims(twins(there=False))
    assert len(alone) == 1 and nothing == []


def test_the_inference_can_hold():
    known = twins()
    held = Twins(known.heads, known.here[:1], known.there[:1], known.uniform, known.words)
    assert "the inference holds for this pair" in sentence_claims(held)[0][1]


def test_chance_is_called_chance_and_a_head_that_knows_is_called_so():
    assert verdict(report(answer(5, 0.5))) == "chance"
    assert set_claims(report(answer(5, 0.5)))[0].startswith("**This is chance.**")
    knows = report(answer(5, 0.95))
    assert verdict(knows) == "resolves" and (knows.best.layer, knows.best.head) == (1, 2)
    assert verdict(report(answer(5, 0.7))) == "weak"


def test_a_report_agrees_with_its_parts():
    found = answer(11, 0.8)
    ours, correct = report(found), statistics.correctness(found.pronoun)
    assert [head.accuracy.value for head in ours.heads] == correct.mean(0).tolist()
    assert ours.best.mass == np.float32(found.pronoun[:,
                                                      7].sum(-1).mean(dtype=np.float32)) or abs(
                                                          ours.best.mass - 0.5) < 1e-5
    both = np.mean([correct[2 * pair, 7] == 1 and correct[2 * pair + 1, 7] == 1 for pair in range(70)])
    assert ours.best.both == both
    assert ours.baselines == {"chance": 0.5, "nearest": 0.5, "first": 0.5,
                              "received": statistics.correctness(found.received).mean(0)[7]}


def test_a_head_may_be_chosen_on_another_set():
    ours = report(answer(5, 0.9), select=answer(6, 0.8))
    assert ours.held_out.chosen == (7,) and ours.held_out.accuracy.value == 0.9
