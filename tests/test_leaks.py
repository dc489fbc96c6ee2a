"""The search for answers that a page gives away can find them."""
import pytest

from tests.leaks import given_away

PROMPT = {"ask": "What is the largest weight at 512?", "right": 1,
          "answers": [{"text": "About 0.25.", "why": "No."},
                      {"text": "Nearly 0.998.", "why": "One key takes all of it, as the scores spread like 22.6."},
                      {"text": "It cannot be said.", "why": "It can."}]}


@pytest.mark.parametrize(("shown", "found"), [
    ("The weight of 0.25 at 512, and nothing else.", []),
    ("Of these, one key takes all.", ["one key takes all"]),
    ("key 0.998", ["0.998"]),
    ("a spread of 22.6 here", ["22.6"]),
    ("ONE KEY\ntakes **all** of it", ["key takes all of", "one key takes all", "takes all of it"])])
def test_words_in_a_row_and_numbers_of_the_right_answer_are_found_and_nothing_else(shown, found):
    assert given_away(PROMPT, shown) == found
