"""The measures of every head over a file of texts: read, averaged batch by batch, kept for this session, shown, taken
away."""
import io
from itertools import islice
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from model.ask import sources
from model.core.measures import MEASURES
from model.core.query import Kind, UserError
from model.studies.corpus import BATCH, Averages, TextsQuery, as_csv, merge
from model.studies.corpus_files import SUFFIXES, texts
from model.studies.patterns import TITLES
from viz.page import PageContext
from viz.provenance import versions
from viz.text import escape_markdown, strings
from viz.theme import READABLE_WIDE
from viz.widgets.corpus_result import AVERAGES, FROM_FILE, CorpusResult, save_result, saved_result
from viz.widgets.head_table import clickable_table, column_config
from viz.widgets.waiting import session

MOST_TEXTS, MEGABYTES = 1000, 5    # what one session may have read in one go; the command line has no limit


def many_texts(page: PageContext, model: str, revision: str, kind: Kind) -> None:
    """The section."""
    words = strings("measures")
    st.markdown(f"##### {words['many']}")
    st.caption(words["many_about"].format(texts=MOST_TEXTS, megabytes=MEGABYTES), width=READABLE_WIDE)
    file = st.file_uploader(words["drop"], type=[each.removeprefix(".") for each in SUFFIXES], key="many-file",
                            label_visibility="collapsed",
                            max_upload_size=MEGABYTES, on_change=lambda: st.session_state.pop("many-stopped", None))
    if file is not None:
        try:
            _read(file.name, _whole(file.getvalue(), file.name), (model, revision, kind))
        except UserError as error:
            st.error(escape_markdown(str(error)))
    found = saved_result(model, revision, kind)
    if found is not None:
        _shown(page, found)


def _whole(content: bytes, name: str) -> tuple[tuple[int, str], ...]:
    """Every (line, text) of a file that is small enough for this page."""
    words = strings("measures")
    if len(content) > MEGABYTES * 10**6:
        raise UserError(words["many_large"].format(name=name,
                                                   what=words["many_megabytes"].format(number=len(content) / 1e6),
                                                   limit=words["many_megabytes"].format(number=MEGABYTES)))
    found = tuple(islice(texts(io.BytesIO(content), name), MOST_TEXTS + 1))
    if len(found) > MOST_TEXTS:
        raise UserError(words["many_large"].format(name=name, what=words["many_texts"].format(number=MOST_TEXTS),
                                                   limit=f"{MOST_TEXTS:,}"))
    return found


def _read(name: str, found: tuple[tuple[int, str], ...], asked: tuple[str, str, Kind]) -> None:
    """All batches, with progress; those that were answered before come from the cache, so that a stop costs nothing."""
    words, total, done = strings("measures"), None, 0
    place = st.empty()
    with place.container():
        stopped = st.session_state.get("many-stopped")
        bar = st.progress(0.0, text=words["many_progress"].format(done=0, total=len(found)))
        st.button(words["many_go_on" if stopped else "many_stop"], key="many-stop",
                  on_click=lambda: st.session_state.update({"many-stopped": not stopped}))
        for start in range(0, len(found), BATCH):
            question = TextsQuery(*asked, found[start:start + BATCH])
            answer = sources.cached(question) if stopped else _answer(question, bar, start, len(found), name)
            if answer is None:
                st.caption(words["many_stopped"].format(done=done, total=len(found)))
                break
            total, done = answer if total is None else merge(total, answer), start + len(question.texts)
    if total is not None:
        save_result(CorpusResult(name, *asked[:2], total, len(found)))
    if done == len(found):
        place.empty()


def _answer(question: TextsQuery, bar: DeltaGenerator, start: int, count: int, name: str) -> Averages:
    """One batch; each look is a Streamlit call, at which a newer click takes over."""
    job, words = sources.ask(question, session()), strings("measures")
    try:
        while not job.wait(0.1):
            done = start + int(job.fraction * len(question.texts))
            bar.progress(done / count, text=words["many_progress"].format(done=done, total=count))
        return job.result()
    except UserError as error:
        raise UserError(f"{name}, {error}") from error
    finally:
        job.withdraw(session())


def _shown(page: PageContext, found: CorpusResult) -> None:
    """What came out: the table, the file, and the way to the grid."""
    words, averages = strings("measures"), found.averages
    st.markdown(words["many_done"].format(name=escape_markdown(found.name), heads=len(averages.places),
                                          texts=averages.texts, tokens=averages.tokens,
                                          model=escape_markdown(found.model)))
    if averages.cut:
        st.caption(words["many_cut"].format(count=averages.cut))
    st.caption(words["many_table_about"])
    rows = _rows(averages)
    clickable_table(page, rows, _columns(rows[0]), key="many-table", alt=words["many_kept"].format(
        name=found.name, heads=len(averages.places), texts=averages.texts, tokens=averages.tokens, model=found.model))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        provenance = {"model": found.model, "revision": found.revision, "file": found.name, "versions": versions()}
        st.download_button(words["many_csv"], lambda: as_csv(averages, provenance).encode("utf-8"),
                           "clearhead-heads-over-texts.csv", "text/csv", on_click="ignore", key="many-csv")
        colour = st.selectbox(words["many_colour"], averages.names, format_func=lambda name: AVERAGES[name],
                              key="many-colour", width=320)
        if st.button(words["many_open"], key="many-open"):
            page.open_page("heads", colour=FROM_FILE + colour)


def _rows(averages: Averages) -> list[dict[str, Any]]:
    """One row a head: the best mean fit, then each measure and its spread."""
    spread, names, table = averages.spread, [each.name for each in MEASURES if each.name in averages.names], []
    for number, (layer, head) in enumerate(averages.places):
        pattern, fit = averages.best(number)
        row = {"layer": layer, "head": head, "pattern": TITLES[pattern], "fit": fit}
        for name in names:
            place = averages.names.index(name)
            row |= {name: averages.mean[place, number], f"{name}_sd": spread[place, number]}
        table.append(row)
    return table


def _columns(row: dict[str, Any]) -> dict[str, Any]:
    words = strings("measures")
    told = column_config(row)
    for name in row:
        if name.endswith("_sd"):
            title = words["measure_names"][name.removesuffix("_sd")]
            told[name] = st.column_config.NumberColumn(words["many_columns"]["sd"].format(name=title), format="%.3f")
    return told
