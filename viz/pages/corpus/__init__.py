"""The page Every head measured: over the shipped sentences as a map, over the reader's own texts, over one text, or by
a custom rule."""

from clearhead.model.core.record import AttentionRecord
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice
from clearhead.viz.pages.corpus import head_map, own_rule
from clearhead.viz.pages.corpus.one_text import draw_text
from clearhead.viz.pages.corpus.own_file import many_texts
from clearhead.viz.style.text import strings
from clearhead.viz.widgets.fields import choice_for
from clearhead.viz.widgets.head_picker import kind_choice
from clearhead.viz.widgets.layout import heading

WORDS = strings("corpus")

PAGE = Page("record", controls=(Choice("over", "set", ("set", "file", "text", "rule")), *head_map.CONTROLS,
                                 *own_rule.CONTROLS), pictures=True)


def render(page: PageContext) -> None:
    """Draw the page."""
    record = page.record()
    heading(WORDS["question"], 2)
    over = page["over"] if reads_texts(record) else "text"
    if reads_texts(record):
        choice_for(page, "over", WORDS["over"], WORDS["sets"])
    if over == "set":
        head_map.draw_map(page)
        return
    kind_choice(page, record, page.view())
    if over == "text":
        draw_text(page, record)
    elif over == "rule":
        own_rule.draw_rule(page)
    else:
        many_texts(page, record.query.model, record.query.revision, page.view().kind)


def reads_texts(record: AttentionRecord) -> bool:
    """Return whether a record's model can read other texts; imported files and vision models cannot."""
    return record.picture is None and record.verification.status not in ("imported", "recorded")
