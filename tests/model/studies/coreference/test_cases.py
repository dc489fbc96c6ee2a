"""Cases from CSV, twins, and the sets that come with the project."""
import re
from collections import Counter

import pytest

from model.core.query import UserError
from model.studies.coreference import make_case, pair_twins, read_csv, shipped_cases

HEAD = "sentence,pronoun,correct,wrong\n"
TIRED = "The animal didn't cross the street because it was too tired."
WIDE = "The animal didn't cross the street because it was too wide."


def test_the_pronoun_is_the_first_one_behind_both_candidates_unless_told():
    text = "It rained, so the cat left the yard, and it dried while it shone."
    assert make_case(text, "it", "cat", "yard").pronoun[0] == text.index("it dried")
    assert make_case(text, "it", "cat", "yard", start=text.index("it shone")).pronoun[0] == text.index("it shone")


def test_a_candidate_said_twice_is_the_last_one_before_the_pronoun():
    text = "The dog saw the cat, the dog barked, and it ran from the dog."
    assert make_case(text, "it", "dog", "cat").correct[0] == text.index("dog barked")


@pytest.mark.parametrize(("row", "says"), [
    ("The cat sat.,it,cat,mat", "wrong word 'mat'"), ("The cat saw the dog.,it,cat,dog", "pronoun word 'it'"),
    ("The cat saw it.,it,cat,cat", "three different words"), ("The cat saw a dog as it ran.,it,,dog", "correct word"),
])
def test_a_bad_row_is_named_and_left_out(row, says):
    found = read_csv(HEAD + f"{TIRED},it,animal,street\n{row}\n{WIDE},it,street,animal\n", "mine.csv")
    assert [case.sentence for case in found.cases] == [TIRED, WIDE] and len({case.pair for case in found.cases}) == 1
    assert len(found.left_out) == 1 and re.match(f"Row 3 of mine.csv: .*{re.escape(says)}", found.left_out[0])
    with pytest.raises(UserError, match=f"Row 2 of mine.csv: .*{re.escape(says)}"):
        read_csv(HEAD + f"{row}\n", "mine.csv")


def test_twins_are_recognised_without_a_column():
    text = HEAD + f"{TIRED},it,animal,street\nThe cat saw the dog when it ran.,it,cat,dog\n{WIDE},it,street,animal\n"
    pairs = [case.pair for case in read_csv("\ufeff" + text).cases]
    assert pairs[0] == pairs[2] != pairs[1]


def test_the_shipped_twins_have_the_same_words_up_to_one_stretch_and_opposite_answers():
    cases = shipped_cases("coreference")
    pairs = {name: [case for case in cases if case.pair == name] for name in {case.pair for case in cases}}
    assert len(pairs) >= 100 and len({case.frame for case in cases}) >= 20
    assert len({case.sentence for case in cases}) == len(cases)
    for name, twins in pairs.items():
        assert len(twins) == 2, name
        one, other = twins
        assert (one.word("correct"), one.word("wrong"), one.frame) == (other.word("wrong"), other.word("correct"),
                                                                       other.frame)
        assert all(max(case.correct[1], case.wrong[1]) < case.pronoun[0] for case in twins)
    assert len({case.pair
                for case in pair_twins([make_case(case.sentence, case.word("pronoun"), case.word("correct"),
                                              case.word("wrong"))
                                    for case in cases])}) == len(pairs)


def test_agreement_is_read_at_the_word_before_the_verb_and_position_tells_nothing():
    cases = shipped_cases("agreement")
    assert Counter(case.answer for case in cases) == {"was": len(cases) / 2, "were": len(cases) / 2}
    assert sum(case.correct < case.wrong for case in cases) == len(cases) / 2
    for case in cases:
        assert case.sentence[case.pronoun[1]:].startswith(f" {case.answer} ")
        assert {case.answer, case.other} == {"was", "were"}
