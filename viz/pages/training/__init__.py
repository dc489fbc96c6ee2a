"""How does a head come to mean something? The film of a training, and a training of one's own."""
import inspect
from functools import partial

import streamlit as st

from model.ask import sources
from model.studies import induction
from model.training import processes as films
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number, Words
from viz.pages.training.film import film_stage
from viz.pages.training.induction_scores import induction_section
from viz.pages.training.own_run import HEADS, LAYERS, TRAINING, background_training, end_training, own_training
from viz.text import strings
from viz.theme import READABLE_WIDE
from viz.widgets.fragment import PLAYING, folded, pause, repeat

OWN = "own"
FRAME_SECONDS = 0.6   # of a film that plays
PAGE = Page("How heads form", "Test", 3, "nothing", leave=end_training, controls=(
    Words("film", "induction", 40), Number("step", -1, -1, 10**6, whole=True), Words("open", "", 20),
    Words("says", "", 300),
    Words("decoder", "", 200), Choice("task", "induction", ("induction", "resolver")), Choice("layers", "2", LAYERS),
    Choice("heads", "2", HEADS),
    Number("rate", 3e-3, 1e-4, 2e-2), Number("steps", 800, 50, 6000, whole=True)))


def render(page: PageContext) -> None:
    """Draws the page."""
    words = strings("training")
    st.markdown(f"## {words['question']}")
    st.markdown(words["lead"], width=READABLE_WIDE)
    chosen = _chosen(page)
    if chosen == OWN:
        own_training(page)
    else:
        if (training := TRAINING.value) is not None:
            background_training(training)
        film = sources.film(chosen)
        film_stage(page, chosen, film, film.about["steps"], growing=False)
    induction_section(page)
    folded(words["source"]["title"], partial(_sources, words["source"]), key="training-formula")
    if chosen != OWN and PLAYING.value:
        repeat(FRAME_SECONDS, partial(_next, page, film.frames))


def _sources(words: dict) -> None:
    """The formula of the scores, the functions, and the papers."""
    st.markdown(words["formula"])
    st.code("\n\n".join([inspect.getsource(induction.scores), inspect.getsource(films.emergence_interval),
                         inspect.getsource(films.loss_drop_step)]))
    st.markdown(words["sources"])


def _chosen(page: PageContext) -> str:
    """Which film is on: one of the shipped ones, or one's own training."""
    words = strings("training")
    known = sources.films() | {OWN: words["own"]}
    chosen = page.controls["film"] if page.controls["film"] in known else next(iter(known))

    def changed() -> None:
        pause()
        page.set(film=st.session_state["view_film"], step=-1, open="", says="")

    st.session_state["view_film"] = chosen
    st.segmented_control(words["film"], list(known), format_func=known.__getitem__, required=True, wrap=True,
                         key="view_film", on_change=changed)
    return chosen


def _next(page: PageContext, frames: tuple[int, ...]) -> None:
    """The next picture of a film that plays."""
    step = frames[-1] if page.controls["step"] < 0 else page.controls["step"]
    following = next((frame for frame in frames if frame > step), None)
    if following is None:
        pause()
    else:
        page.set(step=following, passing=True)
