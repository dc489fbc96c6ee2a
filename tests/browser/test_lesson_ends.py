"""Every lesson by links that turn its controls to their ends, one by one and all at once: each gives a page, not an
error."""
import pytest

from tests import links
from viz.page import pages
from viz.page_controls import Choice, Number
from viz.widgets.lesson import lessons


def ends(name: str) -> list[dict[str, str]]:
    """What links to a lesson may say: every number at its low and high end, alone and with all others; every option of
    every choice."""
    controls = [each for each in pages()[name][0].controls if isinstance(each, Choice | Number)]
    numbers = [each for each in controls if isinstance(each, Number)]
    together = [{each.name: each.write(getattr(each, end)) for each in numbers} for end in ("low", "high")]
    alone = [{each.name: link[each.name]} for link in together for each in numbers]
    return [*together, *alone,
            *({each.name: option} for each in controls if isinstance(each, Choice) for option in each.options)]


@pytest.mark.parametrize("name", lessons())
def test_a_lesson_stands_at_every_end_of_its_controls(app, name):
    for link, page in zip(ends(name), links.opened(app.address, *ends(name), name=name), strict=True):
        assert page.wrong == [], link
        assert any(words.startswith("## ") for words in page.said) and len(page.said) > 12, link
