"""Every head over a file of the reader's own, read in batches that can be stopped."""
import io
from itertools import islice
from typing import TYPE_CHECKING

import streamlit as st

from model.ask import sources
from model.core.heads import MEASURES
from model.core.query import Kind, UserError
from model.studies.atlas.build import Item, TextsQuery
from model.studies.atlas.summary import Averages, as_csv
from model.studies.corpus import FIELD, SUFFIXES, columns, texts
from viz.page import PageContext
from viz.provenance import versions
from viz.session import Kept, session
from viz.streamlit_patch import DeltaGenerator
from viz.text import escape_markdown, strings
from viz.theme import READABLE_WIDE
from viz.widgets.head_table import (
    AVERAGES,
    CORPUS,
    FROM_FILE,
    CorpusResult,
    clickable_table,
    column_config,
    saved_corpus,
)
from viz.widgets.upload import most_megabytes, uploader

if TYPE_CHECKING:
    from pandas import DataFrame

BATCH = 8   # texts that are one question: others are served in between
MOST_TEXTS, MEGABYTES = 1000, 5    # what one session may have read in one go; the command line has no limit
_STOPPED = Kept(False)             # whether the reading of the file waits for "go on"


def many_texts(page: PageContext, model: str, revision: str, kind: Kind) -> None:
    """Ask for a file and show every head's averages over its texts."""
    words = strings("measures")
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
    """Return every text of a file that is small enough for this page."""
    numbered = tuple(Item(number, name, line, text) for number, (line, text) in enumerate(
        islice(texts(io.BytesIO(content), name, field), MOST_TEXTS + 1)))
    if len(numbered) > MOST_TEXTS or len(content) > MEGABYTES * 10**6:
        raise UserError(strings("measures")["many_large"].format(name=name, texts=MOST_TEXTS, megabytes=MEGABYTES))
    return numbered


def _read(name: str, numbered: tuple[Item, ...], asked: tuple[str, str, Kind]) -> None:
    """Draw all batches, with progress; those that were answered before come from the cache, so that a stop costs
    nothing."""
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
    """Return one batch; each look is a Streamlit call, at which a newer click takes over."""
    job, words = sources.ask(question, session().id), strings("measures")
    try:
        while not job.wait(0.1):
            done = start + int(job.fraction * len(question.texts))
            bar.progress(done / count, text=words["many_progress"].format(done=done, total=count))
        return job.result()
    finally:
        job.withdraw(session().id)


def _shown(page: PageContext, result: CorpusResult) -> None:
    """Draw what came out: the table, the file, and the way to the grid."""
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


def _columns(table: "DataFrame") -> dict[str, object]:
    words = strings("measures")
    config = column_config(table)
    for name in table:
        of, _, what = name.rpartition("_")
        if what in ("sd", "n"):
            title = words["many_columns"][what].format(name=words["measure_names"].get(of, words["columns"]["fit"]))
            config[name] = st.column_config.NumberColumn(title, format="%.3f" if what == "sd" else "%d")
    return config
