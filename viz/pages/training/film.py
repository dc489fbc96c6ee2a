"""The centre of the page How heads form: a training's curves with the current step marked, all heads at that step, and
one head open."""
from dataclasses import replace

import numpy as np
import streamlit as st

from clearhead.model import sources
from clearhead.model.core import pictures
from clearhead.model.core.heads import OverviewQuery
from clearhead.model.core.pictures import ShippedPicture
from clearhead.model.core.query import Kind, KindHeadId, head_label, with_arrays
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import View
from clearhead.model.training.processes import Film, HeadScores, HeadScoresQuery, emergence_interval, loss_drop_step
from clearhead.viz.app.page import PageContext
from clearhead.viz.components.from_record import head_of
from clearhead.viz.components.head_grid import head_grid
from clearhead.viz.components.head_view import head_view
from clearhead.viz.components.picture import Grid
from clearhead.viz.components.slider import slider
from clearhead.viz.figures.lines import training
from clearhead.viz.figures.matrix import tiles
from clearhead.viz.style.format import token_markdown
from clearhead.viz.style.text import strings
from clearhead.viz.widgets.fields import bind, segments, select
from clearhead.viz.widgets.figure import figure
from clearhead.viz.widgets.fragment import PLAYING, pause
from clearhead.viz.widgets.handout_button import offer_picture
from clearhead.viz.widgets.layout import bullets, flex_row, heading, split

WORDS = strings("training")

ANSWERS = 3      # most answers listed per snapshot


def head_name(head: KindHeadId) -> str:
    """Return layer and head, with the kind if the model has more than one."""
    kind, layer, number = head
    return ("cross " if kind is Kind.CROSS else "") + head_label(layer, number)


@with_arrays
class Story:
    """The heads' scores at the snapshots `steps`, as far as computed."""

    film: Film
    traits: HeadScores
    steps: tuple[int, ...]

    @property
    def main(self) -> str:
        """This training's main score."""
        return self.traits.names[0]

    def best(self, trait: str) -> int:
        """Return the head with the highest final score."""
        return int(self.traits.of(trait)[-1].argmax())

    def formed(self, trait: str) -> tuple[int, int] | None:
        """Return the two snapshots between which the score's best head formed; None if it did not."""
        return emergence_interval(self.steps, self.traits.of(trait)[:, self.best(trait)])

    def lines(self) -> tuple[dict[str, np.ndarray], list[str]]:
        """Return the third panel's lines (each head's main score, and the best head's for each other score) and the
        names of the highlighted ones."""
        words = WORDS["traits"]
        drawn = {words(self.main, head=head_name(head)): scores
                 for head, scores in zip(self.traits.heads, self.traits.of(self.main).T)}
        bold = []
        for trait in self.traits.names:
            best = self.best(trait)
            bold.append(words(trait, head=head_name(self.traits.heads[best])))
            drawn[bold[-1]] = self.traits.of(trait)[:, best]
        return drawn, bold


def claims(story: Story, step: int) -> list[str]:
    """Return Markdown sentences: when the main head formed, the heads that support it, and the current loss and
    accuracy."""
    words, traits = WORDS["claims"], story.traits

    def facts(trait: str) -> dict[str, object]:
        best = story.best(trait)
        return {"head": head_name(traits.heads[best]), "value": traits.of(trait)[-1, best],
                "formed": story.formed(trait)}

    first = [words("best", what=words["roles"][story.main], score=words["scores"][story.main], **facts(story.main))]
    if story.formed(story.main):
        first.append(words("formed", **facts(story.main)))
    if (half := loss_drop_step(story.film)) is not None:
        first.append(words("fall", fall=half))
    sentences = [" ".join(first)]
    for trait, name in (("previous", "partner"), ("mark", "carrier")):
        if trait in traits.names and story.formed(trait):
            sentences.append(words(name, **facts(trait)))
    if len(story.film.step):
        at = np.abs(story.film.step - step).argmin()
        sentences.append(words("now", step=step, loss=story.film.loss[at], right=story.film.right[at]))
    return sentences


def pair_of(record: AttentionRecord, kind: Kind) -> tuple[int | None, tuple[int, int] | None]:
    """Return the row to focus, and in it the pair that an ideal head attends to. For a decoder, this is the token after
    the first occurrence of a repeated token; otherwise the row of "it", of il or elle, or of [CLS], without a pair."""
    texts = record[kind].queries.texts
    if record.picture is not None:
        return 0, None
    if kind is Kind.CAUSAL and kind == record.kinds[0]:
        for row in range(len(texts) - 2, 0, -1):
            if texts[row] in texts[:row]:
                return row, (row, texts.index(texts[row]) + 1)
        return None, None
    wanted = ("it",) if kind is Kind.SELF else ("il", "elle")
    places = [place for place, text in enumerate(texts) if text.lower() in wanted]
    return (places[-1] - (kind is Kind.CROSS) if places else None), None


def film_player(page: PageContext, model: str, film: Film, last: int, growing: bool) -> None:
    """Draw a training's snapshots. last: the axis's last step. growing: whether the training is still running, so that
    snapshots are scored one by one."""
    chosen = page["step"]
    step = film.frames[-1] if chosen < 0 else min(film.frames, key=lambda frame: abs(frame - chosen))
    story = Story(film, _traits(page, model, film.frames, growing), film.frames)
    left, right = split(6, 5, gap="large")
    with left:
        _steps(page, film.frames, step, growing)
        _curves(story, step, last)
        st.markdown(f"**{WORDS['claims']['title']}**\n" + bullets(claims(story, step)))
    with right:
        _heads(page, model, story, step)


def _traits(page: PageContext, model: str, steps: tuple[int, ...], growing: bool) -> HeadScores:
    revision = sources.revision(f"{model}@{steps[-1]}")
    if not growing:
        return page.ask(HeadScoresQuery(model, revision, steps))
    parts = list(page.ask_each(HeadScoresQuery(model, revision, (step,)) for step in steps))
    return replace(parts[0], values=np.concatenate([part.values for part in parts]))


def _steps(page: PageContext, frames: tuple[int, ...], step: int, growing: bool) -> None:
    """Draw the slider over the snapshots and the play button."""
    with flex_row("bottom"):
        if len(frames) > 1:
            slider(WORDS["step"], frames, step, say="{:,}".format, key="slider-step",
                   # selecting the last snapshot follows the newest one of a running training
                   turn=lambda chosen: page.set(step=-1 if chosen == frames[-1] else chosen))
        if growing:
            if page["step"] >= 0:
                st.button(WORDS["newest"], key="newest", on_click=lambda: page.set(step=-1))
        elif PLAYING.value:
            st.button(WORDS["pause"], key="pause", on_click=pause)
        else:
            st.button(WORDS["play"], key="play", icon=":material/play_arrow:", on_click=_play,
                      args=(page, frames, step))


def _play(page: PageContext, frames: tuple[int, ...], step: int) -> None:
    PLAYING.value = True
    if step == frames[-1]:
        page.set(step=frames[0])


def _curves(story: Story, step: int, last: int) -> None:
    film, formed, best = story.film, story.formed(story.main), story.best(story.main)
    figure(training, (film.step, film.loss, film.right), (story.steps, *story.lines()),
           titles=tuple(WORDS["panels"].values()), at=(step, WORDS("at", step=step)),
           formed=None if formed is None else (*formed, WORDS["formed"][story.main]),
           guessing=(film.guessing, WORDS("guessing", film=film)), last=last, key="training",
           alt=WORDS("alt", steps=last, ends=[curve[-1] if len(curve) else np.nan for curve in (film.loss, film.right)],
                     head=head_name(story.traits.heads[best]), score=story.traits.of(story.main)[-1, best]))
    st.caption(WORDS["grey"][story.main])


def _heads(page: PageContext, model: str, story: Story, step: int) -> None:
    """Draw all heads at the snapshot with one of them open, and the snapshot's answer."""
    picture = _picture(page, model)
    start = WORDS["texts"].get(model.split("-")[0])
    text = "" if picture else page["says"] or start
    query = sources.open_query(f"{model}@{step}", text, image=picture and picture.sha256)
    if picture is None:   # show the field even if the model does not know the text's words
        st.text_input(WORDS["text"], help=WORDS["text_help"], placeholder=start,
                      **bind(page.set, "says", text))
    record = page.ask(query)
    kind, layer, head = open_head_id(page, record, story)
    if picture is not None and record.picture is not None:
        select(WORDS["picture"], {entry.key: entry.name for entry in pictures.examples()[model]}, page.set, "says",
               picture.key)
        ink = 1 - record.picture[..., 0] / 127.5   # paper is −1, ink is 1
        figure(tiles, [[(picture.name, ink)]], height=180, key="film-picture",
               alt=WORDS("picture_alt", name=picture.name))
    if len(record.kinds) > 1:
        segments(WORDS["kind"], {name: WORDS["kinds"][name] for name in record.kinds},
                 lambda which: page.set(open=f"{which}.0.0"), "which", kind)
    heading(WORDS("grid", step=step), help=WORDS["grid_help"])
    grid = Grid(page.ask(OverviewQuery(query, kind)), (layer, head))
    head_grid(grid, height=190, key="film_grid",
              on_event=lambda event: page.set(open=f"{kind}.{event.head[0]}.{event.head[1]}"))
    offer_picture("film_grid", grid, (record,))
    heading(WORDS("head", layer=layer, head=head, step=step))
    row, pair = pair_of(record, kind)
    view = View(kind, layer, head, row, pair)
    shown = head_of(record, view)
    head_view(shown, height=400, key="film_head")
    offer_picture("film_head", shown, (record,), view)
    _answer(record, row)


def _picture(page: PageContext, model: str) -> ShippedPicture | None:
    """Return the picture for the snapshots to read; None for text models."""
    known = pictures.examples().get(model, ())
    return next((entry for entry in known if entry.key == page["says"]), known[0] if known else None)


def open_head_id(page: PageContext, record: AttentionRecord, story: Story) -> KindHeadId:
    """Return the chosen head, by default the one with the best final score."""
    parts = page["open"].split(".")
    if len(parts) == 3 and parts[0] in record.kinds and all(part.isdecimal() for part in parts[1:]):
        kind, layer, head = Kind(parts[0]), int(parts[1]), int(parts[2])
        if record[kind].has(layer, head):
            return kind, layer, head
    return story.traits.heads[story.best(story.main)]


def _answer(record: AttentionRecord, row: int | None) -> None:
    """Draw the snapshot's answer at the row in focus."""
    prediction = record.prediction
    if prediction is None or row not in prediction.positions:
        return
    place = prediction.positions.index(row)
    answers = ", ".join(f"**{token_markdown(text)}** {probability:z.3f}" for text, probability in
                        zip(prediction.texts[place][:ANSWERS], prediction.probabilities[place]))
    words = WORDS["predicted" if record.picture is None else "predicted_at"]
    st.markdown(words.format(token=f"*{token_markdown(record.maps[-1].queries.texts[row])}*", answers=answers))
