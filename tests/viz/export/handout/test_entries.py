"""My lesson in a link, and the list for a first lecture."""
from dataclasses import replace
from urllib.parse import urlencode

import pytest

from clearhead.model.core.query import UserError
from clearhead.viz.app.page import lessons, pages
from clearhead.viz.export.handout.entries import packed, ready, target, unpacked, without_answers
from clearhead.viz.export.handout.files import Handout, load, make_words, save
from clearhead.viz.style.text import strings
from clearhead.viz.widgets.lesson import screens
from clearhead.viz.widgets.lesson_questions import prompts
from tests.fabricate import items

BASE = "https://attention.example.org/"
SCREEN = f"{BASE}softmax?{urlencode({'t': '0.5', 'guess': 'c', 'check_1': 'a', 'screen': 'curves'})}"
WORDS = (make_words("text", "Look “here” & <there>.\nTwo lines."),
         make_words("question", "Why?", answer="So.", choices=("So.", "No.")),
         make_words("screen", "A note", link=without_answers(SCREEN), title="Softmax", minutes=8))


def without_ids(handout: Handout) -> Handout:
    return replace(handout, items=tuple(replace(item, id="") for item in handout.items))


def test_words_are_restored_from_link_and_file():
    made = Handout("A title", WORDS)
    assert without_ids(unpacked(packed(made), BASE)) == without_ids(made)
    assert load(save(made)) == made


def test_lesson_link_has_no_answers():
    head = replace(items.head(), link=SCREEN, about="Softmax · more")
    (brought,) = unpacked(packed(Handout("", (head,))), "http://elsewhere/").items
    assert (brought.kind, brought.caption, brought.said["title"]) == ("screen", head.caption, "Softmax")
    assert target(brought.link) == ("softmax", {"t": "0.5", "screen": "curves"})
    assert brought.link.startswith("http://elsewhere/softmax?")
    (drawn,) = unpacked(packed(Handout("", (head,))), BASE, lambda kind, link, caption: head).items
    assert drawn == head, "where its state can be drawn it is a figure again"


@pytest.mark.parametrize("text", ["", "x", "AAAA", "q1YqLsnPTVWyAgA"])
def test_damaged_link_is_refused_in_one_sentence(text):
    with pytest.raises(UserError, match="damaged"):
        unpacked(text, BASE)


def test_text_too_long_for_a_link_is_reported():
    texts = tuple(make_words("text", "".join(chr(0x4e00 + (7919 * at * (each + 1)) % 20000) for at in range(1900)))
                  for each in range(4))
    with pytest.raises(UserError, match="too long"):
        packed(Handout("", texts))


def test_first_lecture_has_ninety_minutes():
    made = ready(BASE)
    assert sum(item.minutes for item in made.items) == 90
    for item in made.items:
        if item.kind == "screen":
            page, params = target(item.link)
            assert page in pages()
            if "screen" in params:
                assert page in lessons() and params["screen"] in screens(page)
                asked = prompts(strings(f"lessons/{page}"))["guess"]["screen"]
                assert any(f"{page}?screen={asked}" in each.link for each in made.items), "its question is asked"
