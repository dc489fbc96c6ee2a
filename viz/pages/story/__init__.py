"""How does a text become its next word? One sentence through a real decoder, on one screen."""
from functools import cache

import streamlit as st

from model.ask import sources
from model.lessons.story import Story, StoryQuery, clearest_head, lengths, looks_back, strongest_share
from viz.components.story import Event, story
from viz.page import Page, PageContext, pages
from viz.page_controls import Choice, Number, Steps, Words
from viz.pages.story.claims import LESSONS, Shown, percent, scene
from viz.text import escape_markdown
from viz.widgets.control_widgets import button_setting
from viz.widgets.fields import bind
from viz.widgets.handout_button import picture_button
from viz.widgets.lesson import LETTERS, QUESTIONS, Lesson

DECODERS = ("smollm2", "stories")   # the first that is on this disk reads, unless another is chosen
LONGEST, WRITTEN = 160, 24          # characters of a sentence; pieces that are written behind it
AUTO, MEAN = -2, -1                 # of the head that is opened: the clearest look back; the mean of a block's heads
PAGE = Page("From letters to the next word", "Learn", 1, "nothing", controls=(
    *QUESTIONS, Words("say", "", LONGEST), Choice("by", "", DECODERS), Steps("wrote", 10**7, WRITTEN),
    Number("block", 0, 0, 999, whole=True), Number("at_head", AUTO, AUTO, 999, whole=True)))


def render(page: PageContext) -> None:
    """Draws the page."""
    lesson = Lesson(page, "story")
    lesson.fragment(_stage)
    lesson.end()


def decoder(page: PageContext) -> str:
    """The model that reads."""
    there = [name for name in DECODERS if name in _on_disk()]
    return page.controls["by"] if page.controls["by"] in there else there[0]


def _on_disk() -> set[str]:
    return {offer.id for offer in sources.catalogue() if offer.on_disk}


def _stage(page: PageContext, lesson: Lesson) -> None:
    """The sentence, its way to the next piece, the question, and what proves it."""
    page.follow()   # a part of the picture may have chosen a lesson
    words, model, hall = lesson.prose["widgets"], decoder(page), page.state.present
    if hall:   # a screen for the picture, and one for the question
        lesson.header()
    else:
        text = _opening(page, lesson, words, model)
    with st.container(key="section-story"):
        if hall:
            text = _sentence(page, words, model)
        answer: Story = page.ask(StoryQuery(sources.open_query(model, text, continuation=page.controls["wrote"])))
        shown = Shown(text, _opened(page, answer), page.controls["guess"] != "", _room(page, answer),
                      {name: pages()[name][0].title for name in LESSONS.values()})
        drawn = scene(answer, shown)
        picture_button(story(drawn, key="story", on_event=lambda event: _on_event(page, event)),
                       beside=lambda: _notes(page, words, answer))
        if hall or lesson.answered:
            lesson.predict()
        block, added = shown.opened[0], answer.lengths
        both = added.attention[block] + added.feed_forward[block]
        lesson.explanation(
            "story", shown=(looks_back, clearest_head, lengths, strongest_share),
            shapes={"embedded": answer.embedded, "rows": answer.rows, "hidden": answer.hidden[block]}
            | ({"logits": answer.word.logits} if shown.revealed else {}),
            heads=answer.rows.shape[0] * answer.rows.shape[1], attention_share=percent(added.attention[block] / both),
            feed_forward_share=percent(added.feed_forward[block] / both), right=_scores()["right_test"])


def _opening(page: PageContext, lesson: Lesson, words: dict, model: str) -> str:
    """Heading and sentence, beside them the question, since the picture fills the rest of a screen; the text. Once it
    is answered, only the verdict, as what is true of every answer takes more room and stands below the picture."""
    left, right = st.columns(2, gap="medium")
    with left:
        lesson.header()
        text = _sentence(page, words, model)
    with right:
        if lesson.answered:
            right_one = LETTERS[lesson.prose["predict"]["right"]]
            st.caption(words["verdict"]["right" if page.controls["guess"] == right_one else "wrong"])
        else:
            lesson.predict()
    return text


def _sentence(page: PageContext, words: dict, model: str) -> str:
    """The text field and the choice of the decoder; the text that is read."""
    there = [name for name in DECODERS if name in _on_disk()]
    text = page.controls["say"].strip() or words[f"default_{model}"]
    left, right = st.columns(2, gap="small", vertical_alignment="bottom") if len(there) > 1 else (st.container(), None)
    with left:
        st.text_input(words["text"], max_chars=LONGEST,
                      **bind(lambda say: page.set(say=say, wrote=()), "say", text))
    if right is not None:
        with right:
            _choose(page, words, model, there)
    return text


def _choose(page: PageContext, words: dict, model: str, there: list[str]) -> None:
    """Which decoder reads: each begins with a sentence of its own."""
    st.segmented_control(words["by"], there, format_func=words["titles"].__getitem__, required=True, wrap=True,
                         **bind(lambda by: page.set(by=by, say="", wrote=(), block=0, at_head=AUTO), "by",
                                model))


def _opened(page: PageContext, answer: Story) -> tuple[int, int]:
    """The block and head that are opened: those chosen, as far as there are any."""
    if page.controls["at_head"] == AUTO:
        return clearest_head(answer.rows)
    blocks, heads, _ = answer.rows.shape
    return min(page.controls["block"], blocks - 1), min(page.controls["at_head"], heads - 1)


def _room(page: PageContext, answer: Story) -> bool:
    """Whether another piece may be written."""
    return len(page.controls["wrote"]) < WRITTEN and len(answer.tokens) < answer.card.max_tokens and not _ended(
        page, answer)


def _ended(page: PageContext, answer: Story) -> bool:
    return page.controls["wrote"][-1:] != () and page.controls["wrote"][-1] in answer.word.ends


def _on_event(page: PageContext, event: Event) -> None:
    """A lesson is opened, a piece is written, or another head is looked at."""
    if event.lesson is not None:
        page.open_next(event.lesson)
    if event.write is not None:
        page.set(wrote=(*page.controls["wrote"], event.write))
    if event.opened is not None:
        page.set(block=event.opened[0], at_head=event.opened[1])


def _notes(page: PageContext, words: dict, answer: Story) -> None:
    """What is to be said of this text and model, and the way back to one's sentence."""
    notes = []
    if "smollm2" not in _on_disk():
        notes.append(words["missing"].format(words=len(answer.word.logits) - 4))
    missing = dict.fromkeys(text for text, unknown in zip(answer.tokens.texts, answer.tokens.unknown, strict=True)
                            if unknown)
    if missing:
        notes.append(words["unknown"].format(missing=escape_markdown(", ".join(missing)),
                                             example=words["default_stories"]))
    if _ended(page, answer):
        notes.append(words["ended"])
    elif not _room(page, answer):
        notes.append(words["full"])
    with st.container(horizontal=True, vertical_alignment="center"):
        if page.controls["wrote"]:
            button_setting(page, words["restart"], "restart", wrote=())
        if notes:
            st.caption(" ".join(notes))


@cache
def _scores() -> dict[str, float]:
    """What the small decoder reached in stories that it was not trained on."""
    return sources.scores("stories")
