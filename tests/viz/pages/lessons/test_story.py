"""The page From letters to words, compared with the decoder's layers run separately."""
import re

import numpy as np
import pytest

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.lessons.story import StoryQuery
from clearhead.viz.components.story import STEPS
from clearhead.viz.pages.lessons import story as story_page
from clearhead.viz.pages.lessons.story import MEAN, line, percent, scene
from tests.lesson_pages import shown

TEXTS = ("The rabbit near the houses hears the dogs. It is hungry and eats", "The", "wombat  wombat", "Then the dogs .")


def asked(text: str, wrote: tuple[int, ...] = ()):
    return desk.ask(StoryQuery(sources.open_query("stories", text, continuation=wrote)), "test").result(120)


@pytest.mark.parametrize(("text", "opened"), [(TEXTS[0], (0, 0)), (TEXTS[0], (3, 3)), (TEXTS[2], (2, MEAN))])
def test_steps_state_the_numbers_of_the_pass(text, opened):
    story = asked(text)
    drawn = scene(story, text, opened, revealed=True, may_write=True)
    said = dict(zip(STEPS, (step.say for step in drawn.steps), strict=True))
    row = story.rows[opened[0]].mean(0) if opened[1] == MEAN else story.rows[opened]
    assert f" {percent(float(row.max()))}, from “{story.tokens.texts[int(row.argmax())]}”." in said["attention"]
    sizes = np.sort(np.abs(story.hidden[opened[0]]))
    assert f"have {100 * sizes[-26:].sum() / sizes.sum():.0f}% of" in said["feed_forward"]
    assert said["letters"].startswith(f"{len(text)} character")
    order = np.argsort(-story.word.logits)
    lead, ratio = re.search(r"lead of ([\d.]+) over .* makes .* ([\d,.]+) times", said["softmax"]).groups()
    assert float(lead) == pytest.approx(float(story.word.logits[order[0]] - story.word.logits[order[1]]), abs=0.006)
    assert float(ratio.replace(",", "")) == pytest.approx(np.exp(float(lead)), rel=0.01)
    assert drawn.numbers[0] == order[0] and sum(drawn.chances) < 1


@pytest.mark.parametrize("text", [*TEXTS, "The  dogs,\n run"])
def test_line_is_the_text_with_its_continuation(text):
    assert "".join(part for part, _ in line(asked(text), text)) == text
    number = desk.ask(sources.open_query("stories", "dogs"), "test").result(60).maps[0].queries.ids[1]
    written = line(asked(text, (number,)), text)
    assert "".join(part for part, _ in written) == f"{text} dogs" and written[-1] == ("dogs", True)


def test_number_of_pieces_waits_for_the_answer():
    story = asked(TEXTS[0])
    covered = scene(story, TEXTS[0], (0, 0), revealed=False, may_write=True)
    words = " ".join([covered.rest, covered.alt, *(step.say for step in covered.steps)])
    assert str(len(story.word.logits)) not in words
    assert "188" not in " ".join(shown("story", by="stories").words)
    open_scene = scene(story, TEXTS[0], (0, 0), revealed=True, may_write=True)
    assert int(open_scene.rest.split()[0]) + len(open_scene.words) == len(story.word.logits)


def test_without_smollm2_its_lecture_is_shown_and_other_texts_are_read_by_the_small_decoder(monkeypatch):
    monkeypatch.setattr(sources, "catalogue", lambda: {
        "smollm2": sources.Offer("smollm2", "SmolLM2", "", on_disk=False),
        "stories": sources.Offer("stories", "Stories", "")})
    drawn = []
    monkeypatch.setattr(story_page, "story", lambda scene, **_: drawn.append(scene))
    assert any("python -m clearhead fetch smollm2" in each for each in shown("story", by="smollm2").words)
    shown("story", by="smollm2", say="The dogs")
    assert [len(each.rows) for each in drawn] == [30, 4] and "cross the street" in drawn[0].alt and not drawn[0].again
