"""What the page Compare says of two heads and of patched ones, on numbers whose truth is known; and of every head on
ten sentences, read a second time."""
import re
from dataclasses import replace

import numpy as np
import pytest

from model.core import heads
from model.core.query import Edit, Kind, Patch, Query, Silence, Temper
from model.core.record import AttentionRecord
from model.studies.alignment import Group
from model.studies.comparison import Alignment, AlignmentQuery, difference
from model.studies.patching import PatchEffects, PatchQuery
from tests.readings import MODELS, NUMBER, ask, matrices, printed, record_of, sentences
from viz.pages.compare.claims import alone_claim, change_claim, patching_claims, unchanged_why

FOUND = PatchEffects(("animal", "street"), False, 7, -10.0, 10.0, ((0, 0), (0, 1), (1, 0), (1, 1)),
                     np.array([8.0, -9.0, 0.5, -10.5]), {0: 9.0, 1: -2.0}, 10.0)


def test_heads_and_layers_that_turn_the_answer_are_named_with_their_share():
    said = patching_claims(FOUND)
    assert said[0].startswith("2 of 4 heads turn the answer to *street* alone") and said[0].endswith("**0·0** (90%), "
                                                                                                     "**1·0** (52%).")
    assert said[1] == "All heads of one layer together turn it in layer: 0."


def test_where_no_head_and_no_layer_turns_it_that_is_said():
    said = patching_claims(replace(FOUND, heads=((0, 0), (1, 0)), patched=np.array([-8.0, -9.0]),
                                   layers={0: -8.0, 1: -9.0}))
    assert said[0] == "No head of 2 turns the answer alone; none comes farther than **0·0**, 10% of the way."
    assert said[1].startswith("Not even all heads")


def test_a_sentence_vector_is_never_turned():
    said = patching_claims(replace(FOUND, words=None, place=None, plain=0.8, other=1.0,
                                   heads=((0, 0), (1, 0)), patched=np.array([0.85, 0.81])))
    assert said[0] == "Of 2 heads none alone comes farther than **0·0**, 25% of the way." and len(said) == 2


def effects(patched: list[float], plain: float = -10.0, other: float = 10.0, layer: float = -2.0,
            words: tuple[str, str] | None = ("animal", "street")) -> PatchEffects:
    heads = tuple((0, head) for head in range(len(patched)))
    return PatchEffects(words, False, 7 if words else None, plain, other, heads,
                        np.array(patched), {0: layer}, 10.0)


@pytest.mark.parametrize("made, words", [
    (effects([8.0, -9.0]), "1 of 2 heads turns the answer to *street* alone"),
    (effects([0.006, -9.0]), "1 of 2 heads turns"), (effects([0.004, -9.0]), "No head of 2 turns the answer alone"),
    (effects([8.0, -9.0], plain=-0.004), "none comes farther"),           # it stands at no side as it is
    (effects([float(n) for n in range(1, 9)]), "8 of 8 heads turn the answer to *street* alone. The 6 that come"),
    (effects([-10.0, -12.0]), "No head of 2 alone moves the answer towards"),
    (effects([-9.91, -12.0]), "No head of 2 alone moves"),                 # 0.45 % of the way prints 0 %
    (effects([-9.89, -12.0]), "farther than **0·0**, 1% of the way"),
    (effects([-11.0, -9.0], other=-10.004), "there is no way to go"), (effects([-11.0, -9.0], other=-10.0), "no way"),
    (effects([-14.0, -9.0], other=-20.0), "farther than **0·0**, 40% of the way"),   # the way leads down
    (effects([0.85, 0.81], 0.8, 1.0, words=None), "none alone comes farther than **0·0**, 25% of the way"),
    (effects([0.85, 0.81], 0.8, 0.80004, words=None), "there is no way to go"),
    (effects([0.79, 0.8], 0.8, 1.0, words=None), "alone moves the answer towards")])
def test_every_case_of_patched_heads_has_its_own_words(made, words):
    assert words in patching_claims(made)[0] and "nan" not in " ".join(patching_claims(made))


@pytest.mark.parametrize("patched, layer, words", [
    ([-9.0], 9.0, "together turn it in layer: 0."), ([-9.0], 0.004, "Not even all heads"),
    ([8.0], -2.0, "in no layer: what one head does alone"), ([8.0], 0.006, "together turn it in layer: 0.")])
def test_what_whole_layers_do_is_told_beside_what_a_head_does_alone(patched, layer, words):
    assert words in patching_claims(effects(patched, layer=layer))[1]


def aligned(*both: bool) -> Alignment:
    groups = tuple(Group(f"t{place}", (place,), (place,) if is_both else ()) for place, is_both in enumerate(both))
    return Alignment(rows=groups, columns=groups)


@pytest.mark.parametrize("second, words", [
    (0.7, "**t0 → t0**, from 0.500 to 0.700"), (0.5006, "**t0 → t0**, from 0.500 to 0.501"),
    (0.5004, "No difference in these digits: the largest, of t0 → t0, is 4.0e-04"),
    (0.5, "No weight of this head differs"), (0.5000005, "No weight of this head differs")])
def test_a_change_that_no_digit_shows_is_not_called_one(second, words):
    first = np.array([[0.5, np.nan], [0.5, 0.5]])
    other = np.where(np.arange(4).reshape(2, 2) == 0, second, first)
    assert words in change_claim(first, other, aligned(True, True))


@pytest.mark.parametrize("only, words", [
    (None, "No change is larger than that of **t1 → t0**, from 0.100 to 0.900."),
    (0, "Of this token's row no change is larger than that of **t0 → t1**, from 0.500 to 0.700.")])
def test_where_one_row_is_shown_the_change_is_one_of_that_row(only, words):
    first, second = np.array([[0.5, 0.5], [0.1, 0.9]]), np.array([[0.4, 0.7], [0.9, 0.1]])
    assert change_claim(first, second, aligned(True, True), only) == words
    assert "this token's row" in change_claim(first, np.array([first[0], second[1]]), aligned(True, True), 0)


@pytest.mark.parametrize("edit, words", [
    (Silence(Kind.SELF, 1, 0), "looks where it looked"), (Silence(Kind.SELF, 1, 1), "made in layer 1"),
    (Silence(Kind.SELF, 2, 0), "made in layer 2"), (Silence(Kind.SELF, 0, 0), ""),
    (Patch(Kind.SELF, 1, 0, Query("m", "0", "a")), "looks where it looked"), (Temper(Kind.SELF, 1, 0, 1.0), "")])
def test_why_a_head_did_not_change_is_said_where_it_is_known(edit, words):
    why = unchanged_why(frozenset([edit]), (1, 0))
    assert (words in why) if words else why == ""


def test_what_stands_on_one_side_is_counted_in_rows_and_columns():
    assert alone_claim(aligned(True, True)) == ""
    assert alone_claim(aligned(True, False)).startswith("1 of 2 rows and 1 of 2 columns stand on one side only")
    rows = replace(aligned(True, False), rows=aligned(True).rows)
    assert alone_claim(rows).startswith("0 of 1 row and 1 of 2 columns")


@pytest.mark.parametrize("model", MODELS)
def test_of_every_head_the_largest_change_is_named_with_its_weights(model):
    """A twin differs in one word of one token, so that token stands for token: nothing is left to align."""
    for text, twin, _, (old, new) in sentences(model):
        here, there = record_of(model, text), record_of(model, twin)
        names = [one if one == other else f"{old} ⇄ {new}" for one, other in zip(
            *(record.maps[0].queries.texts for record in (here, there)), strict=True)]
        assert sum("⇄" in name for name in names) == 1
        found = ask(AlignmentQuery(here.query, there.query, (Kind.SELF, Kind.SELF)))
        assert alone_claim(found) == ""
        weights = matrices(here), matrices(there)
        for layer, head in np.ndindex(weights[0].shape[:2]):
            maps = [heads.weights(record.maps[0].layers[layer], head) for record in (here, there)]
            claim = change_claim(*difference(*maps, found.rows, found.columns)[:2], found)
            _checked_change(claim, names, *(each[layer, head] for each in weights))


def _checked_change(claim: str, names: list[str], first: np.ndarray, second: np.ndarray) -> None:
    """The two tokens that are named have the weights that are printed, and no two others differ by more."""
    changes = np.abs(second - first)
    if claim.startswith("No weight of this head differs"):
        assert changes.max() < 2e-6
        return
    pattern = (rf"larger than that of \*\*(.+) → (.+)\*\*, from {NUMBER} to {NUMBER}\." if "larger than" in claim else
               rf"No difference in these digits: the largest, of (.+) → (.+), is {NUMBER}\.")
    row, column, *numbers = re.fullmatch(f".*{pattern}", claim).groups()
    named = [re.sub(r"\\(.)", r"\1", name) for name in (row, column)]
    place = max((place for place in np.ndindex(changes.shape) if [names[at] for at in place] == named),
                key=lambda place: changes[place])
    assert changes[place] > changes.max() - 2e-6, (claim, changes.max())
    one, other = (printed(each[place], ".3f") for each in (first, second))
    if len(numbers) == 2:
        assert numbers[0] != numbers[1] and numbers[0] in one and numbers[1] in other, (claim, one, other)
    else:
        assert one & other and float(numbers[0]) == pytest.approx(changes.max(), rel=0.06), (claim, one, other)


@pytest.mark.parametrize("model", MODELS)
def test_how_far_each_head_turns_an_answer_is_said_by_the_numbers(model):
    """The sentences about patched heads; both answers and that of the head that is named first are asked for anew."""
    for text, twin, *_ in sentences(model):
        here, there = record_of(model, text), record_of(model, twin)
        found = ask(PatchQuery(here.query, there.query, Kind.SELF))
        said = patching_claims(found)
        first = re.search(r"\*\*(\d+)·(\d+)\*\*", said[0])
        named = (int(first[1]), int(first[2])) if first else found.heads[0]
        once_more = ask(replace(here.query, edits=frozenset[Edit]([Patch(Kind.SELF, *named, there.query)])))
        for record, number in ((here, found.plain), (there, found.other),
                               (once_more, found.patched[found.heads.index(named)])):
            anew = _number(record, there, found.words)
            assert anew is None or anew == pytest.approx(number, abs=1e-3)
        _checked_turns(said, found) if found.words else _checked_way(said[0], found)


def _number(record: AttentionRecord, twin: AttentionRecord, words: tuple[str, str] | None) -> float | None:
    """How far an answer is the twin's: the cosine of both vectors, or ln P of its word over P of the other, where both
    are among the twenty best."""
    if words is None:
        one, other = (np.float64(each.prediction.vector) for each in (record, twin))
        return float(one @ other / np.sqrt((one @ one) * (other @ other)))
    chances = dict(zip(record.prediction.texts[0], record.prediction.probabilities[0], strict=True))
    return float(np.log(chances[words[1]] / chances[words[0]])) if set(words) <= set(chances) else None


def _checked_way(claim: str, found: PatchEffects) -> None:
    """A vector's way: the head that is named comes farthest, by so many per cent; none where none comes 1 %."""
    way = [100 * (number - found.plain) / (found.other - found.plain) for number in found.patched]
    if "farther" not in claim:
        assert max(way) < 0.5001 and "No head of" in claim, claim
        return
    layer, head, share = re.search(r"than \*\*(\d+)·(\d+)\*\*, (\d+)% of the way", claim).groups()
    assert way[found.heads.index((int(layer), int(head)))] == max(way) > 0.4999, claim
    assert share in printed(max(way), ".0f") and f"Of {len(way)} heads" in claim


def _checked_turns(said: list[str], found: PatchEffects) -> None:
    """A word's: who turns it, in order; how far each comes; whether whole layers do."""
    turning = sorted((-number, head) for head, number in zip(found.heads, found.patched, strict=True)
                     if float(f"{number:.2f}") > 0 > float(f"{found.plain:.2f}"))
    named = re.findall(r"\*\*(\d+)·(\d+)\*\*", said[0])
    if turning:
        assert said[0].startswith(f"{len(turning)} of {len(found.heads)} head") and f"*{found.words[1]}*" in said[0]
        assert [(int(layer), int(head)) for layer, head in named] == [head for _, head in turning]
        shares = re.findall(r"\((\d+)%\)", said[0])
        assert all(share in printed(100 * (-number - found.plain) / (found.other - found.plain), ".0f")
                   for share, (number, _) in zip(shares, turning, strict=True))
    else:
        assert said[0].startswith("No head of"), said[0]
        best = max(range(len(found.patched)), key=found.patched.__getitem__)
        assert not named or [tuple(map(int, named[0]))] == [found.heads[best]]
    layers = [str(layer) for layer, number in found.layers.items() if number > 0.005 and found.plain < -0.005]
    assert (f"turn it in layer: {', '.join(layers)}." in said[1]) == bool(layers)
    assert ("Not even all heads" in said[1]) == (not layers and not turning)
