"""The page that follows one sentence through a real decoder to its next word, on one screen."""
import math

import numpy as np
import streamlit as st

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.lessons.story import (
    ShippedStoryQuery,
    Story,
    StoryQuery,
    clearest_head,
    lengths,
    looks_back,
    strongest_share,
)
from clearhead.viz.app.page import Page, PageContext, pages
from clearhead.viz.app.page_controls import Choice, Number, Steps, Words, counted
from clearhead.viz.components.story import CELLS, STEPS, Event, Scene, Step, story
from clearhead.viz.style.format import visible_token
from clearhead.viz.style.numbers import format_number
from clearhead.viz.style.text import Texts, escape_markdown, strings
from clearhead.viz.widgets.fields import bind, button_setting
from clearhead.viz.widgets.fragment import offer_smollm2
from clearhead.viz.widgets.layout import flex_row, split
from clearhead.viz.widgets.lesson import LETTERS, QUESTIONS, Lesson, Section

DECODERS = ("smollm2", "stories")   # in order of preference, unless another is chosen
LONGEST, WRITTEN = 160, 24          # most characters of a sentence; most pieces to generate
AUTO, MEAN = -2, -1                 # values of the open head: the clearest look back, or a block's mean head
CANDIDATES = 8                      # candidates shown for the next piece
# the lesson opened by each step
LESSONS = {"letters": "vectors", "pieces": "vectors", "vectors": "vectors", "places": "positions",
           "attention": "inside", "feed_forward": "block", "blocks": "block", "logits": "learning",
           "softmax": "softmax", "word": "since"}
PAGE = Page("nothing", controls=(
    *QUESTIONS, Words("say", "", LONGEST), Choice("by", "", DECODERS), Steps("wrote", 10**7, WRITTEN),
    counted("block", 1000), Number("at_head", AUTO, AUTO, 999, whole=True)))


def render(page: PageContext) -> None:
    """Draw the page."""
    lesson = Lesson(page)
    lesson.fragment(_decoder)
    lesson.end()


def _there() -> list[str]:
    """Return the decoders on this disk."""
    offers = sources.catalogue()
    return [name for name in DECODERS if name in offers and offers[name].on_disk]


def _decoder(page: PageContext, lesson: Lesson) -> None:
    """Draw the sentence, its way to the next piece, the question and the derivation.

    The question is beside the heading and sentence, because the figure fills the rest of the screen. Once answered,
    only the verdict stays there, and the explanations are below the figure.
    """
    words, present = lesson.prose["widgets"], page.present
    if present:
        lesson.header()
    else:
        left, right = split()
        with left:
            lesson.header()
            text, model = _sentence(page, words)
        with right:
            if page["guess"]:
                right_one = page["guess"] == LETTERS[lesson.prose["predict"]["right"]]
                st.caption(words["verdict"]["right" if right_one else "wrong"])
            elif not lesson.open():
                lesson.predict()
    with lesson.section("story") if present else st.container(key="section-story"):
        if present:
            text, model = _sentence(page, words)
        wrote, here = page["wrote"], model in _there()
        answer = (page.ask(StoryQuery(sources.open_query(model, text, continuation=wrote))) if here
                  else _recorded(model, text))
        ended = wrote[-1:] != () and wrote[-1] in answer.word.ends
        full = len(wrote) >= WRITTEN or len(answer.tokens) >= answer.card.max_tokens
        may_write = here and not full and not ended
        blocks, heads, _ = answer.rows.shape
        block, head = clearest_head(answer.rows)
        if page["at_head"] != AUTO:
            block, head = min(page["block"], blocks - 1), min(page["at_head"], heads - 1)
        revealed = lesson.open()
        drawn = scene(answer, text, (block, head), revealed, may_write)
        story(drawn, key="story", on_event=lambda event: _on_event(page, event))
        _notes(page, words, answer, words["ended"] if ended else words["full"] if full else "")
        if revealed:
            lesson.predict()
        Section(lesson, "story").explain(looks_back, clearest_head, lengths, strongest_share, heads=blocks * heads,
                                         right=desk.scores("stories")["right_test"])


def _sentence(page: PageContext, words: Texts) -> tuple[str, str]:
    """Draw the text field and the choice of decoder, each with its own default sentence. Return the text and the
    model, which reads only its default sentence if it is not on this disk."""
    said = page["say"].strip()
    model = page["by"] or DECODERS[0]
    if said and model not in _there():
        model = DECODERS[-1]
    text = said or words[f"default_{model}"]
    left, right = split(gap="small", vertical_alignment="bottom")
    with left:
        st.text_input(words["text"], max_chars=LONGEST,
                      **bind(lambda say: page.set(say=say, wrote=()), "say", text))
    right.segmented_control(words["by"], DECODERS, format_func=words["titles"].__getitem__, required=True, wrap=True,
                            **bind(lambda by: page.set(by=by, say="", wrote=(), block=0, at_head=AUTO), "by", model,
                                   initial="default"))
    return text, model


def _recorded(model: str, text: str) -> Story:
    """Return the shipped answer for a model that is not on this disk."""
    known = desk.shipped(ShippedStoryQuery(model, "", text))
    assert known is not None   # of the default sentence
    return known.answer


def _on_event(page: PageContext, event: Event) -> None:
    """Handle an event of the figure: open a lesson, write a piece, or open another head."""
    if event.lesson is not None:
        page.open_next(event.lesson)
    if event.write is not None:
        page.set(wrote=(*page["wrote"], event.write))
    if event.opened is not None:
        page.set(block=event.opened[0], at_head=event.opened[1])


def _notes(page: PageContext, words: Texts, answer: Story, end: str) -> None:
    """Draw notes on this text and model, and a button back to the user's sentence. end: why no piece can follow, or
    ""."""
    notes = []
    if not page.present and "smollm2" not in _there():
        notes.append(words["missing"])
    missing = dict.fromkeys(text for text, unknown in zip(answer.tokens.texts, answer.tokens.unknown, strict=True)
                            if unknown)
    if missing:
        notes.append(words("unknown", missing=escape_markdown(", ".join(missing)), example=words["default_stories"]))
    if end:
        notes.append(end)
    with flex_row("center"):
        if page["wrote"]:
            button_setting(page, words["restart"], "restart", wrote=())
        if notes:
            st.caption(" ".join(notes))
        offer_smollm2("story")


def percent(share: float) -> str:
    """Format a share as in the figure."""
    if share >= 0.9995:
        return "100%" if share > 1 - 1e-6 else ">99.9%"
    if share >= 0.0995:
        return f"{100 * share:.0f}%"
    return f"{100 * share:z.1f}%" if share >= 0.0005 else "<0.1%"


def line(story: Story, text: str) -> tuple[tuple[str, bool], ...]:
    """Return the text including its generated part as (characters, whether they belong to a piece)."""
    parts: list[tuple[str, bool]] = []
    end, tokens = 0, story.tokens
    for piece, special, (start, stop) in zip(tokens.texts, tokens.special, tokens.spans, strict=True):
        if special:
            continue
        written = stop > len(text) or start == stop
        gap = " " * max(0, start - end) if written else text[end:start]
        if start == stop and parts and piece not in (".", ","):
            gap = " "   # our own models generate words without spaces
        parts += [(gap, False)] * bool(gap)
        parts.append((piece if written else text[max(start, end):stop] or piece, True))
        end = max(end, stop)
    return tuple(parts)


def scene(answer: Story, text: str, opened: tuple[int, int], revealed: bool, may_write: bool) -> Scene:
    """Return the figure of a forward pass. text: as typed. opened: block, and head or MEAN. revealed: whether the
    question is answered. may_write: whether another piece may be generated."""
    prose, word, chances, numbers = strings("lessons/story"), answer.word, answer.probabilities, _numbers(
        answer, text, opened)
    ids, words = word.ids[:CANDIDATES], prose["story"]
    rest = max(0.0, 1 - chances[list(ids)].sum())
    ends = ids[0] in word.ends
    chosen = {"places": "places_added" if answer.positions_added else "places_inside",
              "attention": "attention_mean" if opened[1] == MEAN else "attention_head",
              "word": "word_ends" if ends else "word"}
    steps = tuple(Step(prose["steps"]["titles"][step], prose["steps"](chosen.get(step, step), **numbers),
                       LESSONS[step], pages()[LESSONS[step]][0].title) for step in STEPS)
    return Scene(
        line(answer, text), tuple(map(visible_token, answer.tokens.texts)), answer.tokens.ids,
        answer.embedded[:, :CELLS], answer.placed[:, :CELLS], answer.rows, opened, percent, looks_back(answer.rows),
        np.array([answer.lengths.attention, answer.lengths.feed_forward], np.float32).T,
        answer.hidden[opened[0]], word.texts[:CANDIDATES], ids, tuple(word.logits[[*ids]].tolist()),
        tuple(chances[[*ids]].tolist()),
        words("rest", n=len(chances) - len(ids), share=percent(rest)) if revealed else "",
        answer.card.d_model, words("again", first=word.texts[0]) if may_write and not ends else "",
        steps, words("alt", title=answer.card.title, text=text, **numbers))


def _numbers(answer: Story, text: str, opened: tuple[int, int]) -> dict:
    """Return all numbers used in the steps' sentences."""
    tokens, (block, head), word = answer.tokens, opened, answer.word
    weights = answer.rows[block].mean(0) if head == MEAN else answer.rows[block, head]
    source = weights.argmax()
    most = max((place for place in tokens.words if place >= 0), key=tokens.words.count, default=-1)
    count, part = strongest_share(answer.hidden[block])
    gap = word.logits[word.ids[0]] - word.logits[word.ids[1]]
    return {"answer": answer, "characters": sum(len(letters) for letters, _ in line(answer, text)),
            "pieces": sum(not special for special in tokens.special), "parts": tokens.words.count(most),
            "word": tokens.word([token for token, place in enumerate(tokens.words) if place == most]),
            "last": visible_token(tokens.texts[-1]), "share": percent(weights[source]),
            "source": visible_token(tokens.texts[source]), "neurons": len(answer.hidden[block]), "count": count,
            "part": percent(part), "blocks": len(answer.rows), "after": answer.lengths.after[-1],
            "logit": word.logits[word.ids[0]], "lead": gap, "chance": percent(answer.probabilities[word.ids[0]]),
            "ratio": format_number(math.exp(gap)) if gap < 6 else f"{math.exp(gap):,.0f}"}
