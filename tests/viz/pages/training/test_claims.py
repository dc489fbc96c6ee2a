"""What the page How heads form says of a film and of a decoder's habits, on numbers whose truth is known."""
import numpy as np
import pytest

from model.core.query import Kind
from model.studies.induction import InductionScores
from model.training.film import Film, HeadScores
from viz.pages.training.claims import Story, claims, habit_claims

STEPS = (0, 100, 200, 300)
HEADS = ((Kind.CAUSAL, 0, 0), (Kind.CAUSAL, 1, 0))
FALLING = np.linspace(4, 0, 31)


def story(prefix: list[float], previous: list[float] | None = None, loss: np.ndarray = FALLING,
          partner: int = 0) -> Story:
    """A film in which head 1·0 matches prefixes so, and the head of layer `partner` looks one token back so."""
    names, values = ("prefix",), np.zeros((4, 1 if previous is None else 2, 2), np.float32)
    values[:, 0, 1] = prefix
    if previous is not None:
        names, values[:, 1, partner] = ("prefix", "previous"), previous
    film = Film(STEPS, np.arange(len(loss)) * 10 + 5, loss, loss / 8, {"config": {"vocabulary": 64}})
    return Story(film, HeadScores(names, HEADS, values), STEPS)


@pytest.mark.parametrize("prefix, loss, words", [
    ([0.1, 0.2, 0.6, 0.9], FALLING, "**1·0** becomes an induction head between step 100 and step 200"),
    ([0.1, 0.494, 0.496, 0.9], FALLING, "between step 100 and step 200"),       # 0.49, then 0.50
    ([0.1, 0.6, 0.4, 0.9], FALLING, "between step 200 and step 300"),           # for good
    ([0.1, 0.2, 0.6, 0.9], FALLING[:5], "ends at 0.90."),
    ([0.1, 0.2, 0.3, 0.496], FALLING, "and ends at 0.50. The loss"),
    ([0.1, 0.2, 0.3, 0.494], FALLING,
     "No head is an induction head at the end: no prefix-matching score is above 0.49, that of 1·0."),
    ([0.9, 0.9, 0.9, 0.1], FALLING, "No head is an induction head at the end"),
    ([0.6, 0.7, 0.496, 0.9], FALLING, "of one half or more in every snapshot, and of 0.90 at the end")])
def test_a_head_forms_where_its_printed_score_reaches_one_half_for_good(prefix, loss, words):
    said = claims(story(prefix, loss=loss), 0)[0]
    assert words in said and ("half-way" in said) == (len(loss) > 10 and "becomes" in said)


@pytest.mark.parametrize("previous, partner, words", [
    ([0.1, 0.9, 0.9, 0.9], 0, "before the induction head's does. An induction head needs"),
    ([0.1, 0.2, 0.9, 0.9], 0, "in the same stretch"),
    ([0.1, 0.2, 0.494, 0.9], 0, "after the induction head's does: that"),
    ([0.1, 0.2, 0.496, 0.9], 0, "in the same stretch"),
    ([0.1, 0.9, 0.9, 0.9], 1, "is not in an earlier layer")])
def test_a_head_that_looks_back_is_called_a_partner_only_where_it_can_be_one(previous, partner, words):
    said = claims(story([0.1, 0.2, 0.6, 0.9], previous, partner=partner), 0)
    assert words in said[1] and ("needs" in said[1]) == ("before" in words or "stretch" in words)


@pytest.mark.parametrize("previous", [[0.1] * 4, [0.9] * 4])
def test_a_head_that_did_not_form_in_the_film_is_no_partner(previous):
    assert "looks one token back" not in " ".join(claims(story([0.1, 0.2, 0.6, 0.9], previous), 0))


@pytest.mark.parametrize("mark, words", [
    ([0.1, 0.2, 0.6, 0.9], "0·0 carries where the dot is: from between step 100 and step 200 on, where"),
    ([0.6, 0.7, 0.8, 0.496], "0·0 carries where the dot is: where the patches"),   # 0.50 at the end
    ([0.1, 0.2, 0.3, 0.494], "No head tells the patches with digits of the dot"),
    ([0.9, 0.9, 0.9, 0.1], "No head tells")])
def test_a_head_carries_the_dot_only_where_its_printed_score_reaches_one_half(mark, words):
    values = np.zeros((4, 2, 2), np.float32)
    values[:, 1, 0] = mark
    film = Film(STEPS, np.arange(31) * 10 + 5, FALLING, FALLING / 8, {"config": {"vocabulary": 64}})
    said = claims(Story(film, HeadScores(("fetch", "mark"), HEADS, values), STEPS), 0)[1]
    assert words in said and f"{mark[-1]:.0%}" in said


def test_the_loss_is_that_of_the_step_that_is_named():
    assert "At step 5 the loss of the batch was 4 nats, and 50% of its rows" in claims(story([0.1] * 4), 0)[-1]
    assert "At step 305 the loss of the batch was 0 nats" in claims(story([0.1] * 4), 9999)[-1]


@pytest.mark.parametrize("copying, words", [
    (0.9, "1·0 copies: its copying score is **0.90**"), (0.496, "1·0 copies: its"), (0.494, "copies in part"),
    (0.006, "copies in part"), (0.004, "does not copy: its copying score is **0.00**"),
    (-0.004, "does not copy: its copying score is **0.00**"), (-0.006, "the opposite of copying"),
    (-0.9, "the opposite of copying: its copying score is **−0.90**")])
def test_the_best_match_copies_as_far_as_its_score_says(copying, words):
    scores = InductionScores(((0, 0), (1, 0)), previous=np.array([0.8, 0.1]), prefix=np.array([0.1, 0.9]),
                             uniform=0.02, copying=np.array([1.0, copying]))
    said = habit_claims(scores, "ours")
    assert "matches prefixes better than 1·0, with **0.90**, and none looks more at the previous" in said[0]
    assert words in said[1]
