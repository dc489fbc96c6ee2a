"""The sections about the heads of the model: the texts they are measured on, layer by layer, and the map of all."""
from typing import Any

import numpy as np
import streamlit as st

from model.ask import sources
from model.core.query import Query
from model.lessons import information
from viz.figures.by_layer import by_layer
from viz.figures.head_mds import head_map, shepard_diagram
from viz.format import format_signed, head_label
from viz.page import PageContext
from viz.pages.information.subspaces import subspaces_section
from viz.text import escape_markdown
from viz.widgets.control_widgets import choice_for
from viz.widgets.fields import bind
from viz.widgets.figure import figure
from viz.widgets.head_picker import real_head
from viz.widgets.lesson import Lesson, computing

NEAREST = 5
ROUNDING = 1e-6    # bits
LEAST = 3          # heads that a map needs
MOST_TEXTS = 50


def heads_sections(page: PageContext, lesson: Lesson, revealed: bool) -> None:
    """The sections about the same heads and texts; layer by layer only once the question is answered, as its
    middle picture is about the answer."""
    pool = _asked(page, lesson)
    if pool is None:
        return
    if revealed:
        _layers(page, lesson, pool)
    lesson.fragment(_map, pool)
    lesson.fragment(subspaces_section)


def _asked(page: PageContext, lesson: Lesson) -> information.Information | None:
    """The heads on one text or on several: one question a text, so that a click stops it and others come in between."""
    words, state = lesson.prose["texts"], page.state
    with lesson.section("texts"):
        choice_for(page, "texts", words["which"], words["names"])
        if page.controls["texts"] == "own":
            st.text_area(words["own"], placeholder=words["own_help"], height=120, max_chars=1200,
                         **bind(page.set, "own", page.controls["own"]))
            if not page.controls["own"].strip():
                st.caption(words["nothing"])
        _, view = real_head(page, token=False)
        queries, wrong = _queries(page, words), []
        answers = page.ask_each([information.InformationQuery(query, view.kind) for query in queries],
                                say=lambda number, text: words["progress"].format(number=number + 1, all=len(queries)),
                                on_error=lambda number, error: wrong.append(f"{queries[number].text[:60]}: {error}"))
        answered = [answer for answer in answers if answer is not None]
        if wrong:
            st.warning(words["left_out"].format(count=len(wrong), all=len(queries), first=escape_markdown(wrong[0])))
        if not answered:
            st.info(words["none"])
            return None
        pool = information.mean_over_texts(answered)
        sentence = words["said_one" if pool.texts == 1 else "said"]
        st.caption(sentence.format(texts=pool.texts, tokens=pool.tokens, heads=len(pool.places),
                                   model=escape_markdown(state.model)))
        return pool


def _queries(page: PageContext, words: dict) -> list[Query]:
    """The questions whose answers are put together: that of the sidebar, also where no line is written yet, or one for
    each line."""
    own = [line for line in page.controls["own"].splitlines() if line.strip()][:MOST_TEXTS]
    texts = {"one": [], "set": words["set"], "own": own}[page.controls["texts"]]
    return [sources.open_query(page.state.model, text) for text in texts] or [page.query()]


def _layers(page: PageContext, lesson: Lesson, pool: information.Information) -> None:
    words, view = lesson.prose["layers"], page.view()
    marked = (view.layer, view.head)
    with lesson.section("layers"):
        names = [name for name in ("entropy", "mutual", "distance") if np.isfinite(pool.values[name]).all()]
        for column, name in zip(st.columns(len(names), gap="small"), names, strict=True):
            with column:
                values, blank = pool.values[name], pool.blank[name]
                figure(lambda theme, name=name, values=values, blank=blank: by_layer(
                    theme, pool.places, values, axes=(words["layer"], words["axes"][name]),
                    names=(words["heads"], words["means"]), line=(words["lines"][name], blank), marked=marked,
                    height=360),
                       key=f"information-{name}",
                       alt=words[f"alt_{name}"].format(low=values.min(), high=values.max(), blank=blank.mean()))
        lesson.explanation("layers", shown=(information.measure_text, information.mutual, information.mean_over_texts),
                           shapes={"I": pool.values["mutual"], "tokens": pool.tokens}, heads=len(pool.places),
                           below=int((pool.values["entropy"] < pool.blank["entropy"] / 2).sum()),
                           **mutual_numbers(pool))


def mutual_numbers(pool: information.Information) -> dict[str, Any]:
    """What is said of I: its mean, the heads with most and least, and how many have less than the mask alone."""
    mutual, blank = pool.values["mutual"], pool.blank["mutual"]
    most, least = int(mutual.argmax()), int(mutual.argmin())
    return {"mean": mutual.mean(), "most": head_label(*pool.places[most]), "most_bits": mutual[most],
            "least": head_label(*pool.places[least]), "least_bits": mutual[least], "blank": blank.mean(),
            "under": int((mutual < blank - ROUNDING).sum())}


def _map(page: PageContext, lesson: Lesson, pool: information.Information) -> None:
    words, view = lesson.prose["map"], page.view()
    with lesson.section("map"):
        if len(pool.places) < LEAST:
            st.info(words["few"])
            return
        method = page.controls["method"]
        with computing():
            wanted = np.sqrt(pool.divergence)
            at = information.plane(wanted, method)
        here = pool.places.index((view.layer, view.head))
        near = [int(place) for place in np.argsort(wanted[here]) if place != here][:NEAREST]
        stress = {each: information.stress(information.plane(wanted, each), wanted) for each in words["methods"]}
        same, other = information.within_and_between(pool, wanted)
        left, right = st.columns([3, 2], gap="medium")
        with left:
            choice_for(page, "method", words["method"], words["methods"])
            figure(lambda theme: head_map(theme, pool.places, at, marked=pool.places[here], near=near,
                                          layer_word=words["layer"]),
                   key="information-map", alt=lesson.alt("map", heads=len(at), stress=stress[method]))
        with right:
            drawn, axes = information.between(at), ("√JS", words["in_plane"])
            figure(lambda theme: shepard_diagram(theme, wanted, drawn, axes=axes),
                   key="information-kept", alt=words["alt_kept"].format(stress=stress[method]))
            st.markdown(_nearest(words, pool, here, near, wanted, information.between(at)))
        lesson.explanation("map", shown=(information.divergences, information.classical, information.smacof,
                                         information.stress),
                           shapes={"√JS": wanted, "plane": at}, head=head_label(*pool.places[here]),
                           closest=head_label(*pool.places[near[0]]), distance=wanted[here, near[0]], count=len(near),
                           same=format_signed(same, ".3f") or "–", other=format_signed(other, ".3f") or "–",
                           stress=stress[method],
                           **{f"stress_{each}": value for each, value in stress.items()})


def _nearest(words: dict, pool: information.Information, here: int, near: list[int], wanted: np.ndarray,
             apart: np.ndarray) -> str:
    """The table of the nearest heads, by the true distance and in the plane."""
    rows = [words["table_head"].format(head=head_label(*pool.places[here])), "|---|---:|---:|"]
    rows += [f"| {head_label(*pool.places[other])} | {wanted[here, other]:z.3f} | {apart[here, other]:z.3f} |"
             for other in near]
    return "\n".join(rows)
