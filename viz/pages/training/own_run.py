"""The reader's own training on the page How heads form: four settings, a separate process, and snapshots as they
appear."""
from typing import Any

import numpy as np
import streamlit as st

from clearhead.model.ask import desk
from clearhead.model.core.limits import LIMITS
from clearhead.model.core.models import Question
from clearhead.model.core.query import UserError
from clearhead.model.training import processes
from clearhead.model.training.processes import Film, Settings, Status, Training
from clearhead.viz.app.page import PageContext
from clearhead.viz.app.session import Kept
from clearhead.viz.pages.training.film import film_player
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.fields import choice_for, slider_for
from clearhead.viz.widgets.layout import flex_row, note, prose
from clearhead.viz.widgets.part import Part

WORDS = strings("training")

LAYERS, HEADS = ("1", "2", "3", "4"), ("1", "2", "4", "8")
RATES = (2e-4, 5e-4, 1e-3, 2e-3, 3e-3, 4e-3, 6e-3, 1e-2, 2e-2)
STEPS = (100, 200, 400, 600, 800, 1000, 1500, 2000, 3000, 4000, 6000)
LOOK = 1.0       # seconds between polls of a running training
TRAINING = Kept[Training | None](None)   # the training that this session watches
_STARTED = Kept("")                      # name of the training that this session started
ERROR = Kept("")                         # error of the last attempt to start one
REST = 5.0       # seconds between polls of a finished training, which keep it from expiring


def end_training() -> None:
    """Stop the training when the reader leaves the page. One taken over from an address may have other viewers, so it
    ends when nobody renews its lease."""
    training, TRAINING.value = TRAINING.value, None
    if training is not None and training.name == _STARTED.value:
        processes.end(training)


def take_over(page: PageContext) -> None:
    """Go on with the training in the address, which the page started before it was reloaded."""
    if TRAINING.value is None:
        TRAINING.value = processes.find(page["run"])


def own_training(page: PageContext) -> None:
    """Draw the settings, start and stop, and the snapshots so far."""
    words = WORDS["settings"]
    prose(words["lead"])
    training = TRAINING.value
    running = training is not None and training.running
    _settings(page, running)
    if ERROR.value:
        st.warning(escape_markdown(ERROR.value))
        ERROR.value = ""
    if page["run"] and training is None:
        note(words["gone"])
    with st.container(key="own-training"):   # a stable placeholder, however often its content is redrawn
        if training is not None:
            st.fragment(_watch, run_every=LOOK if running else REST)(page, training, running)


def _settings(page: PageContext, running: bool) -> None:
    words = Part(page, WORDS["settings"])
    with flex_row("bottom", gap="medium"):
        words.choice("task", "tasks")
        for field, options in (("layers", LAYERS), ("heads", HEADS)):
            choice_for(page, field, words[field], {option: option for option in options})
    with flex_row("bottom", gap="medium"):
        slider_for(page, "rate", words["rate"], RATES, width=260)
        slider_for(page, "steps", words["steps"], STEPS, say="{:,}".format, width=260)
        if not running:
            st.button(words["start" if TRAINING.value is None else "again"], type="primary", key="train",
                      on_click=_start, args=(page,))
    note(f"{words['about'][page['task']]} {words('limit', most=LIMITS.trainings)}")


def _start(page: PageContext) -> None:
    end_training()
    chosen = page.controls
    try:
        TRAINING.value = training = processes.start(Settings(
            chosen["task"], int(chosen["layers"]), int(chosen["heads"]), chosen["rate"], chosen["steps"]))
        _STARTED.value = training.name
        page.set(step=-1, open="", says="", run=training.name)
    except UserError as error:
        ERROR.value = str(error)


def _watch(page: PageContext, training: Training, was_running: bool) -> None:
    """Poll the training, renew its lease, and draw its progress. Reruns the whole page when the training ends."""
    if TRAINING.value is not training:
        st.rerun()
    training.renew()
    news = training.status()
    if was_running and news.state in ("done", "stopped", "failed"):
        st.rerun()
    _progress(training, news)
    try:
        film = desk.film(training.name)
    except UserError:
        return   # no snapshot yet
    try:
        film_player(_LeasedPage(page, training), training.name, _with_news(film, news), news.steps, growing=True)
    except UserError as error:
        st.error(escape_markdown(error))


class _LeasedPage(PageContext):
    """A page context that renews the lease during long waits for an answer."""

    def __init__(self, page: PageContext, training: Training) -> None:
        super().__init__(page.name, page.about, page.menu)
        self.training = training

    def ask(self, question: Question[Any], height: int = 420) -> Any:
        """Return the answer, renewing the lease before and after."""
        self.training.renew()
        answer = super().ask(question, height)
        self.training.renew()
        return answer


def _progress(training: Training, news: Status) -> None:
    words = WORDS["settings"]
    if news.state == "failed":
        st.error(escape_markdown(news.failure))
    elif news.state in ("done", "stopped"):
        st.success(words(news.state, news=news))
    else:
        _, loss, right = news.curves[-1] if news.curves else (0, 0.0, 0.0)
        state = words["waiting"] if news.state == "starting" else words("running", news=news, loss=loss, right=right)
        with flex_row("center"):
            st.progress(news.step / news.steps, text=state)
            st.button(words["stop"], key="stop_training", on_click=training.stop)


def _with_news(film: Film, news: Status) -> Film:
    """Return the snapshots with the current curves; the file's curves end at the last snapshot."""
    if not news.curves:
        return film
    step, loss, right = np.array(news.curves, np.float32).T
    return Film(film.frames, step, loss, right, film.about)


def background_training(training: Training) -> None:
    """Draw one line on a training that continues while another is shown, and renew its lease."""
    words = WORDS["settings"]

    def look() -> None:
        training.renew()
        st.caption(words("beside", news=training.status()) if training.running else words["beside_done"])

    st.fragment(look, run_every=LOOK if training.running else REST)()
