"""What the page How heads form says of a film and of a decoder's habits, on numbers whose truth is known;
and the films of five models, their heads' scores computed anew."""
import io
import random
import re

import numpy as np
import pytest
from PIL import Image

from model.ask import small_models, sources
from model.core import pictures
from model.core.query import Kind, Query
from model.core.record import AttentionRecord
from model.scratch import grammar, head_scores
from model.scratch.tasks import marked_digit
from model.scratch.tokens import SPECIALS
from model.studies.induction import InductionMeanQuery, InductionScores
from model.training.film import Film, HeadScores, HeadScoresQuery
from tests.readings import MODELS, ask, matrices, printed
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


TWINS = 16    # that a film is told by here
LATEST = 6    # snapshots of a film that are looked at: the first, and the last ones but for every second


@pytest.mark.parametrize("model", [*MODELS[1:], "induction", "translator", "marked-digit"])
def test_a_film_is_told_by_scores_computed_anew(model, monkeypatch):
    """Which head, when, and how far: from the scores of every head in every snapshot, those of the last one anew."""
    monkeypatch.setattr(head_scores, "TWINS", TWINS)
    monkeypatch.setattr(head_scores, "MARKED_TWINS", TWINS)
    film = small_models.film(model)
    steps = tuple(dict.fromkeys((film.frames[0], *film.frames[-2 * LATEST::2], film.frames[-1])))
    traits = ask(HeadScoresQuery(model, sources.revision(f"{model}@{steps[-1]}"), steps))
    last = f"{model}@{steps[-1]}"
    anew = {"induction": lambda: repeats(last, film.about["config"]["vocabulary"])[::-1],
            "translator": lambda: [in_both(last, Kind.SELF, Kind.CROSS)],
            "marked-digit": lambda: [fetched(last)]}.get(model, lambda: [in_both(last, Kind.SELF)])()
    for name, scores in zip(traits.names, anew):   # what is patched is computed anew in test_marked_heads
        np.testing.assert_allclose(traits.of(name)[-1], scores, atol=1e-5)
    for step in steps:
        said = claims(Story(film, traits, steps), step)
        best = _checked_moment(said[0], traits, steps, film)
        if model == "marked-digit":
            _checked_carrier(said[1], traits, steps)
        if model == "induction":
            _checked_partner(said[1], traits, steps, best)
        at = min(range(len(film.step)), key=lambda place: abs(int(film.step[place]) - step))
        assert f"At step {int(film.step[at]):,} the loss of the batch was {film.loss[at]:.3g} nats, and " \
               f"{film.right[at]:.0%} of its rows were right." == said[-1]


def formed(scores: np.ndarray, steps: tuple[int, ...]) -> tuple[int, int] | None:
    """The last snapshot that prints less than one half and the one after it; None where none does, or the last one."""
    low = [place for place, score in enumerate(scores) if float(f"{score:.2f}") < 0.5]
    return (steps[low[-1]], steps[low[-1] + 1]) if low and low[-1] + 1 < len(steps) else None


def _checked_moment(claim: str, traits: HeadScores, steps: tuple[int, ...], film: Film) -> int:
    """Who has the largest score at the end; the last time that it printed less than one half; the loss, half-way."""
    scores = traits.of(traits.names[0])
    cross, layer, head, start, end, value, fall = re.search(
        r"\*\*(cross )?(\d)·(\d)\*\* becomes .* between step ([\d,]+) and step ([\d,]+): .* ends at (\d\.\d\d)\."
        r".*half-way down at step \*\*([\d,]+)\*\*", claim).groups()
    kind = Kind.CROSS if cross else traits.heads[0][0]
    best = traits.heads.index((kind, int(layer), int(head)))
    assert scores[-1, best] == scores[-1].max() and value in printed(scores[-1, best], ".2f")
    assert (int(start.replace(",", "")), int(end.replace(",", ""))) == formed(scores[:, best], steps), claim
    width = 5   # points of the curve: one batch is a noisy witness
    smooth = [float(np.mean(film.loss[place:place + width])) for place in range(len(film.loss) - width + 1)]
    half = next(place for place, loss in enumerate(smooth) if loss < (smooth[0] + smooth[-1]) / 2)
    assert int(fall.replace(",", "")) == int(film.step[half + width // 2])
    return best


def _checked_partner(claim: str, traits: HeadScores, steps: tuple[int, ...], best: int) -> None:
    """Which head looks back most at the end, when it began to, and whether an induction head can read it."""
    scores = traits.of("previous")
    layer, head, start, end = re.match(r"(\d)·(\d) looks one token back: .* between step ([\d,]+) and step ([\d,]+), ",
                                       claim).groups()
    back = traits.heads.index((Kind.CAUSAL, int(layer), int(head)))
    own, other = formed(scores[:, back], steps), formed(traits.of("prefix")[:, best], steps)
    assert scores[-1, back] == scores[-1].max() and int(layer) < traits.heads[best][1]
    assert (int(start.replace(",", "")), int(end.replace(",", ""))) == own
    assert ("before the induction" in claim, "in the same stretch" in claim) == (own < other, own == other)


def _checked_carrier(claim: str, traits: HeadScores, steps: tuple[int, ...]) -> None:
    """Which head has the largest share at the end, since when, and how much."""
    scores = traits.of("mark")
    layer, head, start, end, share = re.match(r"(\d)·(\d) carries .* between step ([\d,]+) and step ([\d,]+) on, .* "
                                              r"(\d+)% of the canvases", claim).groups()
    best = traits.heads.index((Kind.SELF, int(layer), int(head)))
    assert scores[-1, best] == scores[-1].max() and share in printed(100 * scores[-1, best], ".0f")
    assert (int(start.replace(",", "")), int(end.replace(",", ""))) == formed(scores[:, best], steps), claim


def fetched(model: str) -> np.ndarray:
    """The share of twins in whose both canvases [CLS] gives the marked digit's patch most weight, (head); every canvas
    as a file that somebody opens."""
    right = []
    for each in marked_digit.test_canvases("validation", 2 * TWINS):
        file = io.BytesIO()
        Image.fromarray(each.pixels()).save(file, "PNG")
        image = pictures.keep(file.getvalue(), "canvas.png", "film").sha256
        rows = matrices(ask(Query(model, sources.revision(model), "", image=image)))[:, :, 0]
        right.append((rows.argmax(-1) == 1 + each.digit).ravel())
    return np.array(right).reshape(TWINS, 2, -1).all(1).mean(0)


def in_both(model: str, *kinds: Kind) -> np.ndarray:
    """The share of twins in whose both sentences a head's row of “it”, and the row that writes il or elle, gives the
    right noun more weight, (head)."""
    drawn, right = random.Random("film"), []
    for _ in range(TWINS):
        for sentence in grammar.twins(drawn, "validation"):
            french = " ".join(sentence.french) if Kind.CROSS in kinds else None
            record: AttentionRecord = ask(sources.open_query(model, " ".join(sentence.english), target=french))
            rows = np.concatenate([matrices(record, kind)[:, :, sentence.pronoun if kind is Kind.SELF
                                                          else sentence.french_pronoun] for kind in kinds])
            nouns = rows[..., list(sentence.places)].reshape(-1, 2)
            right.append(nouns[:, sentence.answer] > nouns[:, 1 - sentence.answer])
    return np.array(right).reshape(TWINS, 2, -1).all(1).mean(0)


def repeats(model: str, words: int) -> np.ndarray:
    """Mean weights of 25 random signs twice over, in eight draws: from each to the one before it, and from a sign's
    second place to what followed its first; (2, head). words: of its vocabulary."""
    found = []
    for seed in range(8):
        asked = sources.open_query(model, "a")
        signs = random.Random(seed).sample(list(range(len(SPECIALS), words)), 25)
        record = ask(Query(model, asked.revision, "a", continuation=(*signs, *signs)))
        weights = matrices(record)
        weights = weights.reshape(-1, *weights.shape[2:])
        begin = weights.shape[1] - 50
        back = np.mean([weights[:, row, row - 1] for row in range(begin, begin + 50)], axis=0)
        match = np.mean([weights[:, row, row - 24] for row in range(begin + 25, begin + 49)], axis=0)
        found.append([back, match])
    return np.mean(found, axis=0)


def test_what_a_decoder_does_with_random_signs_is_told_by_weights_computed_anew():
    film = small_models.film("induction")
    previous, prefix = repeats("induction", film.about["config"]["vocabulary"])
    found = ask(InductionMeanQuery("induction", sources.revision("induction")))
    said = habit_claims(found, "ours")
    match, value, back, other = re.search(r"better than (\d·\d), with \*\*(.+?)\*\*, .* token than (\d·\d), with "
                                          r"\*\*(.+?)\*\*", said[0]).groups()
    best = [f"{layer}·{head}" for layer, head in found.heads].index(match)
    looks = [f"{layer}·{head}" for layer, head in found.heads].index(back)
    assert prefix[best] == prefix.max() and value in printed(prefix.max(), ".2f")
    assert previous[looks] == previous.max() and other in printed(previous.max(), ".2f")
    copying = float(found.copying[best])
    assert (("copies: its" in said[1]) == (round(copying, 2) >= 0.5)) and f"{copying:.2f}" in said[1]
