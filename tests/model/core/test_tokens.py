"""Patches among tokens: where each lies, and its row and column."""
import pytest

from model.core.query import Box, UserError
from model.core.record import Tokens, patch_tokens


def test_patches_lie_row_by_row_between_the_special_tokens_and_know_their_place():
    tokens = patch_tokens(2, 3, before=("[CLS]", "[REG]0"), after=("[DET]",))
    assert tokens.texts == ("[CLS]", "[REG]0", "0,0", "0,1", "0,2", "1,0", "1,1", "1,2", "[DET]")
    assert tokens.special == (True, True, *[False] * 6, True) and tokens.patches == tuple(range(2, 8))
    assert tokens.grid == (2, 3)
    assert tokens.place(6) == (1, 1) and tokens.patch_at(1, 1) == 6
    assert tokens.place(0) is tokens.place(8) is tokens.patch_at(2, 0) is None
    assert tokens.boxes[6] == pytest.approx(Box(1 / 3, 1 / 2, 2 / 3, 1)) and tokens.boxes[0] is None


@pytest.mark.parametrize(("boxes", "sentence"), [
    ((Box(0, 0, 1, 1),), "as many entries"),
    ((Box(0, 0, 1, 1), Box(0, 0, 0.5, 0.5)), "same corner"),
    ((Box(0, 0, 224, 1), None), "divide by"),
    ((Box(0.5, 0, 0.5, 1), None), "divide by")])
def test_boxes_that_are_none_of_a_picture_are_refused(boxes, sentence):
    with pytest.raises(ValueError, match=sentence):
        Tokens(("a", "b"), (1, 2), (False, False), ((0, 1), (1, 2)), (0, 1), (0, 0), (False, False), boxes)


def test_a_token_is_chosen_by_position_text_or_occurrence():
    tokens = Tokens(("it", "is", "it", "7", "C#"), tuple(range(5)), (False,) * 5, ((0, 1),) * 5, tuple(range(5)),
                    (0,) * 5, (False,) * 5)
    assert [tokens.index(wanted) for wanted in (4, "is", "it#1", "it#2", "7", "0", "C#")] == [4, 1, 0, 2, 3, 0, 4]
    for wanted, said in (("it", "positions 0, 2; .*it#1 to it#2"), ("it#3", "choose from: it is it 7 C#"),
                         ("it#0", "choose from"), ("was", "choose from"), ("", "choose from"), ("5", "from 0 to 4"),
                         (5, "from 0 to 4"), (-1, "from 0 to 4"), (1.0, "not by '1.0'"), (True, "not by 'True'"),
                         (None, "not by 'None'")):
        with pytest.raises(UserError, match=said) as refused:
            tokens.index(wanted)
        assert str(refused.value).count("\n") == 0
