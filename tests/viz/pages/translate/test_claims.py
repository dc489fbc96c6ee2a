"""What the page Translate says of a decision, on numbers whose truth is known; and of ten sentences, whose heads are
silenced once more."""
import re

import numpy as np
import pytest

from model.ask import sources
from model.core.query import Kind, Silence
from model.studies.pronoun_choice import Decision, DecisionQuery, DecisionSet, DecisionSetQuery
from tests.readings import ask, printed, record_of, sentences
from viz.pages.translate.claims import decision_claims, set_claims

HEADS = ((Kind.SELF, 0, 0), (Kind.CROSS, 1, 1))


def decision(share: float = 0.9, alone: tuple[float, float] = (0.9, 0.9), patched: tuple[float, ...] = (),
             source: tuple[str, ...] = ("The", "cat", "it", ".")) -> Decision:
    return Decision("il", share, 0.1, HEADS, np.array(alone), np.array(alone[::-1]), ((Kind.SELF, 0), (Kind.CROSS, 1)),
                    np.array([0.8, 0.3]), source, np.array(patched))


@pytest.mark.parametrize("share, alone, words", [
    (0.9, (0.85, 0.4), "turns it: with **decoder, cross 1·1** silenced P(il) goes from 0.90 to **0.40**"),
    (0.6, (0.99, 0.49), "One head alone turns it"),                  # the larger change turns nothing
    (0.9, (0.85, 0.5), "No single head turns it: none changes it more than decoder, cross 1·1"),
    (0.9, (0.85, 0.496), "No single head turns it"), (0.9, (0.85, 0.494), "One head alone turns it"),
    (0.504, (0.6, 0.3), "No single head turns it: none changes it more than decoder, cross 1·1"),
    (0.9, (0.896, 0.904), "with any one of them silenced P(il) stays 0.90"),
    (0.9, (0.896, 0.906), "than decoder, cross 1·1, with which silenced P(il) goes from 0.90 to 0.91")])
def test_a_head_decides_only_where_the_lead_changes_sides(share, alone, words):
    assert words in decision_claims(decision(share, alone), "zero")[1]


def test_the_mode_chooses_the_numbers_and_the_layer_is_the_one_that_changes_most():
    said = decision_claims(decision(0.9, (0.2, 0.9)), "mean")
    assert "cross 1·1** silenced" in said[1] and "**decoder, cross 1** changes P(il) by −0.60, to 0.30" in said[2]
    assert "The twin, read with the same French words, gives *il* 0.100." in said[0]


@pytest.mark.parametrize("patched, source, words", [
    ((0.9, 0.2, 0.7, 0.9), ("The", "cat", "it", "."),
     "P(elle) becomes **0.80**, and no other word moves it further. At *it* itself it becomes 0.30."),
    ((0.9, 0.7, 0.2, 0.9), ("The", "cat", "it", "."), "*it* turns the pronoun: P(elle) becomes **0.80**, and no other"),
    ((0.9, 0.496, 0.9, 0.9), ("The", "cat", "it", "."), "No word exchanged alone turns the pronoun: none "
     "moves it further than *cat*"),
    ((0.9, 0.494, 0.9, 0.9), ("The", "cat", "it", "."), "*cat* turns the pronoun"),
    ((0.9, 0.904, 0.896, 0.9), ("The", "cat", "it", "."), "in these digits: P(elle) is 0.10 at most"),
    ((0.95, 0.99, 0.92, 0.93), ("The", "cat", "it", "."), "in these digits: P(elle) is 0.08 at most"),
    ((0.9, 0.2), ("The", "cat"), "*cat* turns the pronoun")])
def test_a_word_turns_the_pronoun_only_where_the_lead_changes_sides(patched, source, words):
    said = decision_claims(decision(patched=patched, source=source), "zero")[3]
    assert words in said and "nan" not in said and ("At *it*" in said) == ("it" in source and "*it* turns" not in said
                                                                            and int(np.argmin(patched)) != 2)


@pytest.mark.parametrize("it, adjective, words", [
    (0.9, 0.1, "does hand over the answer at *it*"), (0.5, 0.9, "does hand over"), (0.496, 0.9, "does hand over"),
    (0.494, 0.9, "The decoder fetches it elsewhere: *the adjective* alone changes 90%"),
    (0.1, 0.496, "fetches it elsewhere"), (0.1, 0.494, "no single word hands over"), (0.3, 0.1, "no single word")])
def test_where_the_answer_is_handed_over_is_told_from_both_shares(it, adjective, words):
    moved = {"it": it, "the adjective": adjective, "the first noun": 0.0, "both nouns": 1.0, "everything": 1.0}
    points = {Kind.SELF: (HEADS[0], 0.9, 0.8), Kind.CROSS: (HEADS[1], 0.4, 0.3)}
    assert words in set_claims(DecisionSet(moved, points, 20))[1]


@pytest.mark.parametrize("mode", ["zero", "mean"])
def test_of_ten_sentences_is_said_what_silencing_once_more_shows(mode):
    """The pronoun's share as the record of the sentence has it, that of the head that is named by silencing it anew."""
    for text, twin, *_ in sentences("translator"):
        found = ask(DecisionQuery("translator", sources.revision("translator"), text, twin))
        said, alone = decision_claims(found, mode), getattr(found, mode)
        record = record_of("translator", text)
        french = [texts[0] for texts in record.prediction.texts]
        row = max(place for place, word in enumerate(french) if word in ("il", "elle"))
        assert french[row] == found.said
        share = re.search(r"\*\*P\((?:il|elle)\) = (.+?)\*\*", said[0])[1]
        assert float(share) == pytest.approx(_share(record, row, found.said), abs=1e-3)
        _checked_head(said[1], found, alone)
        number = int(np.abs(alone - found.share).argmax())
        again = ask(sources.open_query("translator", text, target=" ".join(french[:row]),
                                       edits=[Silence(*found.heads[number], mode)]))
        assert alone[number] == pytest.approx(_share(again, row, found.said), abs=2e-3)
        change, after = re.search(r"by ([+−]\d\.\d\d), to (\d\.\d\d), and no other layer", said[2]).groups()
        most = max(range(len(found.whole)), key=lambda place: abs(found.whole[place] - found.share))
        assert change in printed(float(found.whole[most] - found.share), ".2f") | {
            f"+{number}" for number in printed(float(found.whole[most] - found.share), ".2f")}
        assert after in printed(float(found.whole[most]), ".2f")
        _checked_word(said[3], found)


def _share(record, row: int, said: str) -> float:
    """P of the pronoun that is said, of the two; one that is not among the twenty best has next to none."""
    chances = dict(zip(record.prediction.texts[row], record.prediction.probabilities[row], strict=True))
    return chances.get(said, 0) / (chances.get("il", 0) + chances.get("elle", 0))


def _name(head: tuple[Kind, int, int]) -> str:
    kind, layer, number = head
    return {"self": "encoder", "causal": "decoder, self", "cross": "decoder, cross"}[kind] + f" {layer}·{number}"


def _checked_head(claim: str, found: Decision, alone: np.ndarray) -> None:
    """One head turns the pronoun where two digits show it on the other side; else none is said to."""
    before, numbers = float(f"{found.share:.2f}"), [float(f"{share:.2f}") for share in alone]
    turned = before > 0.5 > min(numbers)
    assert turned == claim.startswith("One head alone turns it")
    if "in these digits" in claim:
        assert set(numbers) == {before}
        return
    name, after = re.search(r"(?:with \*\*(?=.*silenced)|more than )(.+?)(?:\*\*| silenced|, with which)", claim)[1], \
        re.search(r"to \*{0,2}(\d\.\d\d)", claim)[1]
    at = [_name(head) for head in found.heads].index(name)
    assert after in printed(float(alone[at]), ".2f"), claim
    assert alone[at] == alone.min() if turned else abs(alone[at] - found.share) == np.abs(alone - found.share).max()


def _checked_word(claim: str, found: Decision) -> None:
    """The word that is named moves it furthest, and turns it where two digits show that."""
    moved = [1 - float(share) for share in found.patched]
    best = max(range(len(moved)), key=moved.__getitem__)
    assert any(number in claim for number in printed(moved[best], ".2f"))
    turns = float(f"{moved[best]:.2f}") > 0.5
    assert ("turns the pronoun: P(" in claim) == turns
    if "in these digits" not in claim:
        assert f"*{found.source[best]}*" in claim
    if "At *it* itself" in claim:
        assert re.search(r"At \*it\* itself it becomes (\d\.\d\d)", claim)[1] in printed(
            moved[len(moved) - 1 - found.source[::-1].index("it")], ".2f")


def test_over_a_set_of_sentences_is_said_what_its_shares_show():
    found = ask(DecisionSetQuery("translator", sources.revision("translator"), 10))
    points, where, _ = set_claims(found)
    shares = [f"{100 * found.points[kind][1]:.0f}%" for kind in (Kind.SELF, Kind.CROSS)]
    assert re.findall(r"\*\*(\d+%)\*\*", points) == shares
    whole = {name: round(100 * share) for name, share in found.moved.items()}
    one = max(whole[name] for name in ("the adjective", "the first noun", "the second noun"))
    case = "does hand over" if whole["it"] >= 50 else "fetches it elsewhere" if one >= 50 else "no single word"
    assert case in where and f"{whole['it']}%" in where
