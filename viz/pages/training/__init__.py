"""The page How heads form: snapshots of a shipped training, and training a model of the reader's own."""
from functools import partial

import numpy as np
import streamlit as st

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.query import head_label
from clearhead.model.studies import induction
from clearhead.model.studies.induction import InductionMeanQuery, InductionScores
from clearhead.model.training import processes as films
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice, Number, Words, position
from clearhead.viz.figures.heads import induction_scatter
from clearhead.viz.pages.training.film import film_player
from clearhead.viz.pages.training.own_run import (
    HEADS,
    LAYERS,
    TRAINING,
    background_training,
    end_training,
    own_training,
    take_over,
)
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.fields import choice_for, segments
from clearhead.viz.widgets.fragment import PLAYING, folded_formula, offer_smollm2, pause, repeat, says_why
from clearhead.viz.widgets.head_table import plain_table
from clearhead.viz.widgets.layout import opening, split
from clearhead.viz.widgets.measured import measured_line
from clearhead.viz.widgets.part import Part

WORDS = strings("training")

OWN = "own"
NAMED = 2             # number of labelled heads per score
FRAME_SECONDS = 0.6   # seconds per snapshot while playing
PAGE = Page("nothing", leave=end_training, controls=(
    Words("film", "induction", 40), Words("run", "", 40), position("step", 10**6), Words("open", "", 20),
    Words("says", "", 300),
    Words("decoder", "induction", 200), Choice("task", "induction", ("induction", "resolver")),
    Choice("layers", "2", LAYERS), Choice("heads", "2", HEADS),
    Number("rate", 3e-3, 1e-4, 2e-2), Number("steps", 800, 50, 6000, whole=True)))


def render(page: PageContext) -> None:
    """Draw the page."""
    words = opening("training")
    take_over(page)
    chosen = _chosen(page)
    if chosen == OWN:
        own_training(page)
    else:
        if (training := TRAINING.value) is not None:
            background_training(training)
        film = desk.film(chosen)
        film_player(page, chosen, film, film.about["steps"], growing=False)
    _induction(page)
    folded_formula(words["source"], lambda: (induction.scores, films.emergence_interval, films.loss_drop_step),
                   key="training-formula")
    if chosen != OWN and PLAYING.value:
        repeat(FRAME_SECONDS, partial(_next, page, film.frames))


def _chosen(page: PageContext) -> str:
    """Return the training to show: a shipped one, or the reader's own."""
    known = desk.films() | {OWN: WORDS["own"]}
    chosen = page["film"] if page["film"] in known else next(iter(known))

    def change(film: str) -> None:
        pause()
        page.set(film=film, step=-1, open="", says="")

    segments(WORDS["film"], known, change, "film", chosen, quiet=False)
    return chosen


def _next(page: PageContext, frames: tuple[int, ...]) -> None:
    """Advance a playing animation to the next snapshot."""
    step = frames[-1] if page["step"] < 0 else page["step"]
    following = next((frame for frame in frames if frame > step), None)
    if following is None:
        pause()
    else:
        page.set(step=following, passing=True)


@says_why
def _induction(page: PageContext) -> None:
    """Draw the section on decoders: their choice, every head by both scores, what to notice, and the numbers."""
    words = Part(page, WORDS["habits"])
    words.opening(3)
    offers, chosen = sources.catalogue(), page["decoder"]
    # available decoders, the sidebar's model if its type is unknown, and a link's model
    ours = [model for model, offer in offers.items() if offer.writes and offer.on_disk]
    unlisted = [model for model in (page.model, chosen) if model not in offers or model == chosen]
    options = {model: sources.title_of(model) for model in (*ours, *unlisted)}
    choice_for(page, "decoder", words["decoder"], options)
    offer_smollm2("habits")
    question = InductionMeanQuery(chosen, sources.revision(chosen))
    scores = page.ask(question)
    measured_line(question, "habits", "induction")
    best = scores.prefix.argmax()
    loud = list(dict.fromkeys(int(place) for score in (scores.previous, scores.prefix)
                              for place in np.argsort(-score)[:NAMED]))
    words.tell(heads=len(scores.heads), head=scores.heads[best], prefix=scores.prefix[best],
               previous=scores.previous.max())
    left, right = split(6, 5, gap="large")
    with left:
        words.figure(induction_scatter, [head_label(*head) for head in scores.heads], scores.previous, scores.prefix,
                     loud, axes=(words["previous"], words["prefix"]), key="training-habits")
    with right:
        st.markdown("\n\n".join(habit_claims(scores, options[chosen])))
        title = words("table")
        with st.expander(title):
            plain_table(scores.frame().sort_values("prefix", ascending=False, kind="stable").round(3), title,
                        {name: words[name] for name in ("head", "prefix", "previous", "copying")},
                        key="training-habits-table")


def habit_claims(scores: InductionScores, model: str) -> list[str]:
    """Describe a decoder's heads on random tokens: the best scores, and how reliably the best matching head copies."""
    words, heads = WORDS["habits"], scores.heads
    back, match = scores.previous.argmax(), scores.prefix.argmax()
    sentences = [words("best", model=escape_markdown(model), match=heads[match], prefix=scores.prefix[match],
                       back=heads[back], previous=scores.previous[back], uniform=scores.uniform)]
    if scores.copying is not None and np.isfinite(scores.copying[match]):
        sentences.append(words("copies", head=heads[match], copying=scores.copying[match]))
    return sentences
