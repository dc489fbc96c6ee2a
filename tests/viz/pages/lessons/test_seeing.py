"""The page From the picture to the answer, compared with the library's record of the same question."""
import pytest

import clearhead
from clearhead.model.core.pictures import examples
from clearhead.model.lessons.picture_answers import FIRST, MODEL, question
from tests.lesson_pages import shown


def test_page_shows_the_record_and_what_hiding_changes():
    plain, hidden = (shown("seeing", guess="b", hide=case, side="above", picture=2).numbers
                     for case in ("nothing", "found"))
    asked, model, image = question(2, "above"), clearhead.open(MODEL), examples()[MODEL][2].path
    record, without = model(asked.question, image=image), model(asked.question, image=image, hide=[FIRST + asked.found])
    for role, cell in (("asked", asked.cell), ("found", asked.found)):
        layer, head = map(int, plain["look"]["heads"][role].split("·"))
        assert plain["look"]["weights"][role] == pytest.approx(record.weights(layer, head)[-1, FIRST + cell], abs=1e-5)
    for said, prediction in (((plain["hide"]["said"], plain["hide"]["p"]), record.prediction),
                             ((hidden["hide"]["other"], hidden["hide"]["p_other"]), without.prediction)):
        assert str(said[0]) == prediction.texts[-1][0] and said[1] == pytest.approx(prediction.probabilities[-1][0])
    assert plain["hide"]["other"] == plain["hide"]["said"] == int(asked.answer) != hidden["hide"]["other"]
