"""The stage of the page How heads form: the curves of a training with the step on screen, every head at that step,
one of them open."""
from dataclasses import replace

import numpy as np
import streamlit as st

from model.ask import sources
from model.core import pictures
from model.core.heads import OverviewQuery
from model.core.pictures import Shipped
from model.core.query import Kind, Query
from model.core.record import AttentionRecord
from model.core.types import KindHeadId
from model.core.view import View, displayed_head
from model.training.processes import Film, HeadScores, HeadScoresQuery
from viz.components.head_grid import GridState, head_grid
from viz.components.head_view import head_view
from viz.components.slider import slider
from viz.figures.lines import training
from viz.figures.matrix import tiles
from viz.format import token_markdown
from viz.page import PageContext
from viz.pages.training.claims import Story, claims, head_name, pair_of
from viz.text import escape_markdown, strings
from viz.widgets.fields import bind, segments, select
from viz.widgets.figure import figure
from viz.widgets.fragment import PLAYING, pause
from viz.widgets.handout_button import picture_button

ANSWERS = 3      # of a snapshot that are told


def film_stage(page: PageContext, model: str, film: Film, last: int, growing: bool) -> None:
    """Draws a film. last: the step at which its axis ends. growing: it is being made, so its snapshots are looked at
    one by one."""
    words = strings("training")
    chosen = page.controls["step"]
    step = film.frames[-1] if chosen < 0 else min(film.frames, key=lambda frame: abs(frame - chosen))
    story = Story(film, _traits(page, model, film.frames, growing), film.frames)
    left, right = st.columns([6, 5], gap="large")
    with left:
        _steps(page, film.frames, step, growing)
        _curves(story, step, last)
        st.markdown(f"**{words['claims']['title']}**\n" + "\n".join(f"- {claim}" for claim in claims(story, step)))
    with right:
        _heads(page, model, story, step)


def _traits(page: PageContext, model: str, steps: tuple[int, ...], growing: bool) -> HeadScores:
    revision = sources.revision(f"{model}@{steps[-1]}")
    if not growing:
        return page.ask(HeadScoresQuery(model, revision, steps))
    parts = list(page.ask_each(HeadScoresQuery(model, revision, (step,)) for step in steps))
    return replace(parts[0], values=np.concatenate([part.values for part in parts]))


def _steps(page: PageContext, frames: tuple[int, ...], step: int, growing: bool) -> None:
    """The slider over the snapshots, and the film running by itself."""
    words = strings("training")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if len(frames) > 1:
            slider(words["step"], frames, step, say=lambda value: f"{value:,}", key="slider-step",
                   # its end is the newest, also of one that grows
                   turn=lambda chosen: page.set(step=-1 if chosen == frames[-1] else chosen))
        if growing:
            if page.controls["step"] >= 0:
                st.button(words["newest"], key="newest", on_click=lambda: page.set(step=-1))
        elif PLAYING.value:
            st.button(words["pause"], key="pause", on_click=pause)
        else:
            st.button(words["play"], key="play", icon=":material/play_arrow:", on_click=_play,
                      args=(page, frames, step))


def _play(page: PageContext, frames: tuple[int, ...], step: int) -> None:
    PLAYING.value = True
    if step == frames[-1]:
        page.set(step=frames[0])


def _curves(story: Story, step: int, last: int) -> None:
    words, film = strings("training"), story.film
    panels = words["panels"]
    drawn, bold = story.lines()
    moment = None if story.moment is None else (*story.moment, words["formed"][story.main])
    guessing = (film.guessing, words["guessing"].format(words=film.about["config"]["vocabulary"], loss=film.guessing))
    best = story.best(story.main)
    figure(lambda theme: training(theme, (film.step, film.loss, film.right), (story.steps, drawn, bold),
                                  titles=(panels["loss"], panels["right"], panels["heads"]),
                                  at=(step, words["at"].format(step=step)),
                                  formed=moment, guessing=guessing, last=last),
           key="training", alt=words["alt"].format(steps=last, loss=_end(film.loss), right=_end(film.right),
                                                   head=head_name(story.traits.heads[best]),
                                                   score=float(story.traits.of(story.main)[-1, best])))
    st.caption(words["grey"][story.main])


def _end(curve: np.ndarray) -> float:
    return float(curve[-1]) if len(curve) else float("nan")


def _heads(page: PageContext, model: str, story: Story, step: int) -> None:
    """All heads of the snapshot, one of them open, and what the snapshot answers."""
    words = strings("training")
    query = _query(page, model, step)
    record: AttentionRecord = page.ask(query)
    kind, layer, head = open_head_id(page, record, story)
    _says(page, model, record)
    if len(record.kinds) > 1:
        segments(words["kind"], {name: words["kinds"][name] for name in record.kinds},
                 lambda which: page.set(open=f"{which}.0.0"), "which", kind)
    st.markdown(f"##### {words['grid'].format(step=step)}", help=words["grid_help"])
    drawn = head_grid(page.ask(OverviewQuery(query, kind)), GridState((layer, head)), height=190, key="film_grid",
                      on_event=lambda event: page.set(open=f"{kind}.{event.layer}.{event.head}"))
    picture_button(drawn, (record,))
    st.markdown(f"##### {words['head'].format(layer=layer, head=head, step=step)}")
    row, pair = pair_of(record, kind)
    view = View(kind, layer, head, row, pair)
    picture_button(head_view(displayed_head(record, view), view, height=400, key="film_head"), (record,))
    _answer(record, row)


def _text(page: PageContext, model: str) -> str:
    """The text that the snapshots read."""
    return str(page.controls["says"] or strings("training")["texts"][model.split("-")[0]])


def _picture(page: PageContext, model: str) -> Shipped:
    """The picture that the snapshots read."""
    known = pictures.examples()[model]
    return next((entry for entry in known if entry.key == page.controls["says"]), known[0])


def _query(page: PageContext, model: str, step: int) -> Query:
    """The snapshot, put to its text or its picture."""
    if model in pictures.examples():
        return sources.open_query(f"{model}@{step}", "", image=_picture(page, model).sha256)
    return sources.open_query(f"{model}@{step}", _text(page, model))


def _says(page: PageContext, model: str, record: AttentionRecord) -> None:
    """What the snapshots read, to be changed."""
    words = strings("training")
    if record.picture is None:
        st.text_input(words["text"], help=words["text_help"], placeholder=words["texts"][model.split("-")[0]],
                      **bind(page.set, "says", _text(page, model)))
        return
    titles, now = {entry.key: entry.name for entry in pictures.examples()[model]}, _picture(page, model)
    select(words["picture"], titles, page.set, "says", now.key)
    ink = 1 - record.picture[..., 0] / 127.5   # paper −1, ink 1
    figure(lambda theme: tiles(theme, [[(now.name, ink)]], height=180), key="film-picture",
           alt=words["picture_alt"].format(name=now.name))


def open_head_id(page: PageContext, record: AttentionRecord, story: Story) -> KindHeadId:
    """The head that was chosen; without a choice the one with the best score at the film's end."""
    parts = page.controls["open"].split(".")
    if len(parts) == 3 and parts[0] in record.kinds and all(part.isdecimal() for part in parts[1:]):
        kind, layer, head = Kind(parts[0]), int(parts[1]), int(parts[2])
        if record[kind].has(layer, head):
            return kind, layer, head
    return story.traits.heads[story.best(story.main)]


def _answer(record: AttentionRecord, row: int | None) -> None:
    """What the snapshot says at the row in focus."""
    prediction = record.prediction
    if prediction is None or row not in prediction.positions:
        return
    place = prediction.positions.index(row)
    answers = ", ".join(f"**{escape_markdown(text)}** {probability:z.3f}" for text, probability in
                        zip(prediction.texts[place][:ANSWERS], prediction.probabilities[place]))
    tokens = record.maps[-1].queries
    words = strings("training")["predicted" if record.picture is None else "predicted_at"]
    st.markdown(words.format(token=f"*{token_markdown(tokens.texts[row])}*", answers=answers))
