"""What does every head do? All of them in one table: the pattern that fits best, the measures, what silencing does; for
one text and for many."""
import io
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from model.ask import sources
from model.core.measures import MEASURES, HeadMeasures, MeasuresQuery
from model.core.query import Kind, UserError
from model.core.statistics import spearman, x_log_x
from model.studies import patterns
from model.studies.atlas.build import Item, TextsQuery
from model.studies.atlas.summary import Averages, as_csv
from model.studies.corpus import FIELD, SUFFIXES, columns, texts
from model.studies.patterns import PATTERNS, TITLES, FitsQuery, HeadFits
from model.studies.silencing import Silencing, SilencingQuery
from viz.figures.heads import WORST, pattern_grid, silencing_effects
from viz.format import format_number, head_label, rank
from viz.page import Page, PageContext
from viz.provenance import versions
from viz.session import Kept, session
from viz.streamlit_patch import DeltaGenerator
from viz.text import escape_markdown, strings
from viz.theme import READABLE, READABLE_WIDE
from viz.widgets.figure import figure
from viz.widgets.fragment import folded_formula
from viz.widgets.head_picker import kind_choice
from viz.widgets.head_table import (
    AVERAGES,
    CORPUS,
    FROM_FILE,
    CorpusResult,
    clickable_table,
    column_config,
    measures_table,
    saved_corpus,
    silence_all,
)
from viz.widgets.upload import most_megabytes, uploader

if TYPE_CHECKING:
    from pandas import DataFrame

PAGE = Page("Every head measured", "Test", 1, "record", reads="both")
POOR = 0.6     # a fit below which the best pattern says little
BATCH = 8   # texts that are one question: others are served in between
MOST_TEXTS, MEGABYTES = 1000, 5    # what one session may have read in one go; the command line has no limit
_STOPPED = Kept(False)             # whether the reading of the file waits for "go on"


def render(page: PageContext) -> None:
    """Draws the page."""
    words, record = strings("measures"), page.record()
    view = page.view()
    st.markdown(f"## {words['question']}")
    st.markdown(words["lead"], width=READABLE)
    kind_choice(page, record, view)
    fitted: HeadFits = page.ask(FitsQuery(record.query, view.kind))
    measures: HeadMeasures = page.ask(MeasuresQuery(record.query, view.kind))
    question = SilencingQuery(record.query, view.kind)
    silencing: Silencing | None = sources.cached(question)
    best = fitted.best()
    counts = ", ".join(f"{TITLES[name]} {count}" for name, count in best["pattern"].value_counts().items())
    left, right = st.columns([7, 5], gap="large")
    with left:
        st.markdown(f"##### {words['grid']}")
        figure(lambda theme: pattern_grid(theme, best, TITLES, axes=tuple(words["axes"])), key="measures-grid",
               alt=words["grid_alt"].format(n=len(best), counts=counts))
        st.caption(words["grid_about"].format(worst=WORST))
    with right:   # what holds of all heads together, counted here
        st.markdown("\n".join([f"##### {words['notice']}", *(f"- {claim}" for claim in pattern_claims(best)),
                               f"- {words['one_text']}"]))
    measures_table(page, measures, fitted, silencing)
    if silencing is not None:
        _effects(best.join(silencing.frame()), silencing.measure)
    elif record.prediction is not None and record.verification.status == "verified":
        silence_all(page, question, len(best))
    many_texts(page, record.query.model, record.query.revision, view.kind)
    text = [f"$$\n{words['formula']}\n$$\n\n{words['formula_words']}", f"**{words['patterns_title']}**"]
    papers = "\n".join(f"- {pattern.title}: {pattern.paper}" for pattern in PATTERNS)
    folded_formula(words["formula_title"], "\n\n".join([*text, papers]), _proof, key="measures-formula")


def _effects(effects: "DataFrame", measure: str) -> None:
    """What silencing did, beside how well a pattern fits: two different things. measure: of the change."""
    words, changes = strings("measures"), effects["silenced"]
    place = changes.idxmax()
    st.markdown(f"##### {words['effects']}")
    axes = (words["effects_axes"]["x"], words["effects_axes"][measure])
    left, right = st.columns([7, 5], gap="large")
    with left:
        figure(lambda theme: silencing_effects(theme, effects, TITLES, axes=axes), key="measures-effects",
               alt=words["effects_alt"].format(n=len(changes), head=head_label(*place), most=changes[place]))
    with right:
        st.markdown("\n\n".join([words[f"silenced_{measure}"], *effect_claims(effects)]))


def pattern_claims(best: "DataFrame") -> list[str]:
    """How many heads fit which pattern best, and how well. best: a row a head, with pattern and fit."""
    words, counts, fits = strings("measures"), best["pattern"].value_counts(), best["fit"]
    top, poor = fits.idxmax(), int((fits < POOR).sum())
    sentences = [words["counts"].format(counts=", ".join(words["count"].format(title=TITLES[pattern], count=count)
                                                         for pattern, count in counts.items()), n=len(best)),
                 words["top"].format(head=head_label(*top), title=TITLES[best["pattern"][top]], fit=fits[top],
                                     tied=rank(fits[top], fits, "{:.2f}".format)[1])]
    sentences += [words["poor"].format(count=poor, limit=POOR)] if poor else []
    return sentences + ([words["even"].format(title=TITLES["even"])] if "even" in counts else [])


def effect_claims(effects: "DataFrame") -> list[str]:
    """What silencing each head did. effects: a row a head, with pattern, fit and silenced, how much the answer
    changed."""
    words, changes = strings("measures"), effects["silenced"]
    top = changes.idxmax()
    sentences = [words["effects_most"].format(
        head=head_label(*top), most=format_number(changes[top]), tied=rank(changes[top], changes, format_number)[1],
        title=escape_markdown(TITLES[effects["pattern"][top]]), fit=effects["fit"][top])]
    rho = spearman(effects["fit"].to_numpy(), changes.to_numpy())
    sentences += [words["effects_rank"].format(n=len(changes), rho=rho)] if np.isfinite(rho) else []
    return [*sentences, words["effects_quiet"].format(median=changes.median())]


def _proof() -> tuple[Callable, ...]:
    """The functions behind the table."""
    from model.core import measures
    from model.studies import silencing

    return x_log_x, patterns.divergences, patterns.fit, measures.measure, silencing.change, silencing.run


def many_texts(page: PageContext, model: str, revision: str, kind: Kind) -> None:
    """The section."""
    words = strings("measures")
    st.markdown(f"##### {words['many']}")
    megabytes = most_megabytes(MEGABYTES * 10**6)
    st.caption(words["many_about"].format(texts=MOST_TEXTS, megabytes=megabytes), width=READABLE_WIDE)
    file = uploader(words["drop"], "many-file", type=[suffix.removeprefix(".") for suffix in SUFFIXES],
                    label_visibility="collapsed", max_upload_size=megabytes, on_change=_stop,
                    args=(False,))
    if file is not None:
        try:
            content, name = file.getvalue(), file.name
            offered = columns(io.BytesIO(content), name)
            field = offered[0] if len(offered) == 1 else FIELD
            if len(offered) > 1:
                field = st.selectbox(words["many_column"], offered, offered.index(FIELD) if FIELD in offered else None,
                                     placeholder=words["many_column_pick"], on_change=_stop, args=(False,))
            if field is not None:
                _read(name, _whole(content, name, field), (model, revision, kind))
        except UserError as error:
            st.error(escape_markdown(str(error)))
    result = saved_corpus(model, revision, kind)
    if result is not None:
        _shown(page, result)


def _whole(content: bytes, name: str, field: str) -> tuple[Item, ...]:
    """Every text of a file that is small enough for this page."""
    numbered = tuple(Item(number, name, line, text) for number, (line, text) in enumerate(
        islice(texts(io.BytesIO(content), name, field), MOST_TEXTS + 1)))
    if len(numbered) > MOST_TEXTS or len(content) > MEGABYTES * 10**6:
        raise UserError(strings("measures")["many_large"].format(name=name, texts=MOST_TEXTS, megabytes=MEGABYTES))
    return numbered


def _read(name: str, numbered: tuple[Item, ...], asked: tuple[str, str, Kind]) -> None:
    """All batches, with progress; those that were answered before come from the cache, so that a stop costs nothing."""
    words, total, done = strings("measures"), None, 0
    place = st.empty()
    with place.container():
        stopped = _STOPPED.value
        bar = st.progress(0.0, text=words["many_progress"].format(done=0, total=len(numbered)))
        st.button(words["many_go_on" if stopped else "many_stop"], key="many-stop",
                  on_click=_stop, args=(not stopped,))
        for start in range(0, len(numbered), BATCH):
            question = TextsQuery(*asked, numbered[start:start + BATCH])
            answer = sources.cached(question) if stopped else _answer(question, bar, start, len(numbered))
            if answer is None:
                st.caption(words["many_stopped"].format(done=done, total=len(numbered)))
                break
            total, done = answer if total is None else total.merge(answer), start + len(question.texts)
    if total is not None:
        CORPUS.value = CorpusResult(name, *asked[:2], total, len(numbered))
    if done == len(numbered):
        place.empty()


def _stop(stopped: bool) -> None:
    _STOPPED.value = stopped


def _answer(question: TextsQuery, bar: DeltaGenerator, start: int, count: int) -> Averages:
    """One batch; each look is a Streamlit call, at which a newer click takes over."""
    job, words = sources.ask(question, session().id), strings("measures")
    try:
        while not job.wait(0.1):
            done = start + int(job.fraction * len(question.texts))
            bar.progress(done / count, text=words["many_progress"].format(done=done, total=count))
        return job.result()
    finally:
        job.withdraw(session().id)


def _shown(page: PageContext, result: CorpusResult) -> None:
    """What came out: the table, the file, and the way to the grid."""
    words, averages = strings("measures"), result.averages
    counts = {"heads": len(averages.heads), "texts": averages.texts, "tokens": averages.tokens}
    st.markdown(words["many_done"].format(name=escape_markdown(result.name), model=escape_markdown(result.model),
                                          **counts))
    if averages.cut:
        st.caption(words["many_cut"].format(count=averages.cut))
    st.caption(words["many_table_about"])
    # the best mean fit, then each measure, its spread, and over how many texts
    names = [f"{each.name}_{what}" for each in MEASURES if each.name in averages.names for what in ("mean", "sd", "n")]
    table = averages.frame()[["pattern", "fit", "fit_n", *names]]
    table = table.rename(columns=lambda name: name.removesuffix("_mean"))
    clickable_table(page, table, _columns(table), key="many-table", alt=words["many_kept"].format(
        name=result.name, model=result.model, **counts))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        provenance = {"model": result.model, "revision": result.revision, "file": result.name, "versions": versions()}
        st.download_button(words["many_csv"], lambda: as_csv(averages, provenance).encode("utf-8"),
                           "clearhead-heads-over-texts.csv", "text/csv", on_click="ignore", key="many-csv")
        colour = st.selectbox(words["many_colour"], averages.names, format_func=lambda name: AVERAGES[name],
                              key="many-colour", width=320)
        if st.button(words["many_open"], key="many-open"):
            page.open_page("heads", colour=FROM_FILE + colour)


def _columns(table: "DataFrame") -> dict[str, Any]:
    words = strings("measures")
    config = column_config(table)
    for name in table:
        of, _, what = name.rpartition("_")
        if what in ("sd", "n"):
            title = words["many_columns"][what].format(name=words["measure_names"].get(of, words["columns"]["fit"]))
            config[name] = st.column_config.NumberColumn(title, format="%.3f" if what == "sd" else "%d")
    return config
