"""How sure should a softmax be? One row of logits at every temperature: a row that one drags, or a row of a real
head."""
import math
from collections.abc import Callable

import numpy as np
import streamlit as st

from model.core import heads
from model.core.record import Layer
from model.core.statistics import entropy, x_log_x
from model.lessons import softmax
from viz.components.handles import HandleSet, handles
from viz.figures.bars import bars
from viz.figures.drawing import Markup, plain
from viz.figures.lines import Line, lines
from viz.format import token_markdown, true_minus
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number, Numbers, Places, Switch
from viz.pages.softmax.inside import inside_section
from viz.pages.softmax.reaction import ends_section, slope_section
from viz.pages.softmax.row import GRID, Row
from viz.widgets.control_widgets import button_setting, choice_for, log_steps, pills_for, slider_for
from viz.widgets.figure import figure
from viz.widgets.handout_button import picture_button
from viz.widgets.head_picker import real_head
from viz.widgets.lesson import QUESTIONS, Lesson, computing, drawn_control

LOGITS = Numbers("z", (3.0, 2.0, 1.0, 0.0, -1.0), -10, 10, 5, 5)
PAGE = Page("Softmax and temperature", "Learn", 3, "head", asks_at=(("row", "head"), ("inside", True)),
            asks_after="guess", controls=(
    *QUESTIONS, Number("t", 1.0, 0.01, 100), LOGITS, Choice("row", "own", ("own", "head")), Places("masked", 5, 4),
    Switch("inside"), Choice("scope", "head", ("head", "layer", "all")), drawn_control()))
STOPS = log_steps(0.01, 100, 20)         # temperatures of the slider
NAMED = 8                                # curves that get a colour and a name; the others are one grey line each
PRESETS = {"apart": (3.0, 2.0, 1.0, 0.0, -1.0), "tie": (2.0, 2.0, 1.0, 0.0, -1.0), "equal": (1.0, 1.0, 1.0, 1.0, 1.0),
           "far": (10.0, 9.0, 0.0, -5.0, -10.0)}


def render(page: PageContext) -> None:
    """Draws the page."""
    lesson = Lesson(page, "softmax")
    lesson.header()
    if not page.controls["guess"]:
        _asked(lesson)
        for name in ("spread", "slope", "ends"):
            with lesson.section(name):
                lesson.placeholder(name, height=90)
        return
    # the row is chosen below the curves that it makes
    see = st.container(key="see")
    row = _spread(page, lesson)
    with see:
        _see(page, lesson, row)
    lesson.fragment(slope_section, row)
    ends_section(page, lesson, row)
    lesson.fragment(inside_section)
    lesson.end()


def _asked(lesson: Lesson) -> None:
    """The question beside the weights that it asks about."""
    with lesson.section("curves"):
        left, right = st.columns([3, 2], gap="medium")
        with left, computing():
            names, weights = _own_names(), softmax.softmax_rows(np.array(LOGITS.start), [1.0])[0]
            shown = [Markup(f"{plain(name)}<br>z = {true_minus(f'{logit:g}')}")
                     for name, logit in zip(names, LOGITS.start, strict=True)]
            figure(lambda theme: bars(theme, shown, {"weight": weights}, axes=("", "weight p at T = 1"),
                                      y_range=(0, 1), height=340),
                   key="softmax-asked", alt=lesson.prose["curves"]["alt_asked"].format(
                       weights=", ".join(f"{weight:z.3f}" for weight in weights)))
        with right:
            lesson.predict()


def _see(page: PageContext, lesson: Lesson, row: Row) -> None:
    """The row's curves over the temperature, with the answered question beside them."""
    temperature = page.controls["t"]
    with lesson.section("curves"):
        left, right = st.columns([3, 2], gap="medium")
        with left, computing():
            weights = softmax.softmax_rows(row.logits, GRID, row.allowed)
            here = softmax.softmax_rows(row.logits, [temperature], row.allowed)[0]
            _curves(lesson, row, weights, here, temperature)
            slider_for(page, "t", lesson.prose["widgets"]["t"], STOPS, help=lesson.prose["widgets"]["t_help"])
        with right:
            lesson.predict()
        lesson.explanation("curves", shown=(softmax.softmax_rows, _equation(), lines), notices_in=left,
                           shapes={"logits": row.logits, "temperatures": GRID, "weights": weights}, t=temperature,
                           name=row.best_names(), top=float(here.max()), tied=len(row.best()),
                           keys=int(row.allowed.sum()), uniform=1 / int(row.allowed.sum()))


def _spread(page: PageContext, lesson: Lesson) -> Row:
    """The row, what it is worth, and its numbers at this temperature."""
    words, temperature = lesson.prose["widgets"], page.controls["t"]
    with lesson.section("spread"):
        left, others = st.columns([2, 3], gap="medium")
        with left:
            row = _choice(page, words)
        with others:
            middle, right = st.columns(2, gap="medium")
        with computing():
            weights = softmax.softmax_rows(row.logits, GRID, row.allowed)
            here = softmax.softmax_rows(row.logits, [temperature], row.allowed)[0]
        keys, worth = int(row.allowed.sum()), float(softmax.effective_tokens(here))
        with middle:
            figure(lambda theme: bars(theme, row.names, {"weight": here}, axes=("", f"weight p at T = {temperature:g}"),
                                      y_range=(0, 1), height=300),
                   key="softmax-weights",
                   alt=lesson.prose["spread"]["alt_weights"].format(t=temperature, keys=keys, top=here.max()))
        with right:
            figure(lambda theme: lines(theme, GRID, [Line("2^H", softmax.effective_tokens(weights), 1)],
                                       axes=("temperature T", "effective tokens 2^H"), log="x",
                                       marks=[(temperature, f"T = {temperature:g}")], bounds=[(keys, f"all {keys}")],
                                       height=300),
                   key="softmax-effective", alt=lesson.alt("spread", t=temperature, keys=keys, effective=worth))
        with others:
            _numbers(lesson, row, here)
        lesson.explanation("spread", shown=(x_log_x, entropy, softmax.effective_tokens), shapes={"weights": weights},
                           keys=keys, bits=float(np.log2(keys)), nats=float(np.log(keys)), effective=worth,
                           t=temperature)
    return row


def _choice(page: PageContext, words: dict) -> Row:
    choice_for(page, "row", words["row"], words["rows"])
    return _real_row(page, words) if page.controls["row"] == "head" else _own_row(page, words)


def _own_names() -> list[str]:
    return [f"key {place}" for place in range(len(LOGITS.start))]


def _own_row(page: PageContext, words: dict) -> Row:
    names = _own_names()
    picture_button(handles(LOGITS, page.controls["z"], HandleSet(names, words["logits"], words["logits"]),
                           faint=page.controls["masked"], key="logits", turn=page.set))
    with st.container(horizontal=True, gap="small"):
        for preset, values in PRESETS.items():
            button_setting(page, words["presets"][preset], f"preset-{preset}", z=values)
    pills_for(page, "masked", words["masked"], dict(enumerate(names)))
    allowed = np.array([place not in page.controls["masked"] for place in range(len(names))])
    return Row(names, np.array(page.controls["z"], np.float64), allowed)


def _real_row(page: PageContext, words: dict) -> Row:
    """A head's row: its scores as the softmax gets them. Of a model that only reported its weights the logarithms of
    these, which give them back."""
    record, view = real_head(page)
    layer = record[view.kind].layer(view.layer)
    names = list(record[view.kind].keys.texts)
    token = view.token or 0
    here = slice(token, token + 1)
    scores = heads.scores(layer, view.head, here)
    if scores is None:
        st.caption(words["reported"])
        with np.errstate(divide="ignore"):
            scores = np.log(heads.weights(layer, view.head, here).astype(np.float64))
    logits = scores[0].astype(np.float64)
    if isinstance(layer, Layer) and layer.sink is not None:
        logits, names = np.append(logits, float(layer.sink[view.head])), [*names, words["sink"]]
    allowed = np.isfinite(logits)
    st.caption(words["from"].format(token=token_markdown(record[view.kind].queries.texts[token]), layer=view.layer,
                                    head=view.head, allowed=int(allowed.sum()), keys=len(allowed)))
    return Row(names, np.where(allowed, logits, 0.0), allowed)


def _curves(lesson: Lesson, row: Row, weights: np.ndarray, here: np.ndarray, temperature: float) -> None:
    order = [int(place) for place in np.argsort(-row.logits, kind="stable") if row.allowed[place]]
    colour = {place: rank
              for rank, place in enumerate(sorted(order[:NAMED]) if len(row.names) <= NAMED else order[:NAMED])}
    if len(row.names) <= NAMED:
        colour = {place: place for place in order}
    drawn = [Line(row.named(place), weights[:, place], colour[place]) for place in order[:NAMED]]
    if order[NAMED:]:
        drawn.append(Line(lesson.prose["widgets"]["rest"].format(count=len(order) - NAMED),
                          weights[:, order[NAMED:]].sum(-1), None, "dot"))
    keys = int(row.allowed.sum())
    figure(lambda theme: lines(theme, GRID, drawn, axes=("temperature T", "weight p"), log="x",
                               marks=[(temperature, f"T = {temperature:g}")],
                               bounds=[(1 / keys, f"uniform: 1/{keys}")], y_range=(0, 1.02), height=340),
           key="softmax-curves",
           alt=lesson.alt("curves", t=temperature, name=row.names[int(here.argmax())], top=here.max(), keys=keys))


def _equation() -> Callable:
    from model.core import attention

    return attention.softmax


def _numbers(lesson: Lesson, row: Row, here: np.ndarray) -> None:
    """The row at this temperature in four numbers."""
    words, keys, nats = lesson.prose["numbers"], int(row.allowed.sum()), float(entropy(here, base=math.e))
    shown = [(words["bits"], f"{nats / np.log(2):z.3f}", words["of"].format(most=f"{np.log2(keys):z.3f}")),
             (words["nats"], f"{nats:z.3f}", words["of"].format(most=f"{np.log(keys):z.3f}")),
             (words["effective"], f"{float(softmax.effective_tokens(here)):z.2f}", words["of"].format(most=keys)),
             (words["largest"], f"{here.max():.4g}", words["at_least"].format(least=f"{1 / keys:.3g}"))]
    with st.container(horizontal=True, gap="large", key="numbers"):
        for label, value, about in shown:
            with st.container(width="content", gap=None):
                st.metric(label, value)
                st.caption(about)
