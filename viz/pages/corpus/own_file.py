"""Measuring every head over the reader's own file, in batches that can be stopped."""
import functools
import json
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from clearhead.model.core.heads import MEASURES
from clearhead.model.core.query import Kind, UserError
from clearhead.model.core.record import unread
from clearhead.model.studies.atlas.build import CorpusText, TextsQuery
from clearhead.model.studies.atlas.measured import FIT
from clearhead.model.studies.atlas.summary import Averages, as_csv
from clearhead.model.studies.patterns import PATTERNS
from clearhead.viz.app.page import PageContext
from clearhead.viz.export.provenance import public_name, versions
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.export_menu import save_table
from clearhead.viz.widgets.head_table import clickable_table, column_config
from clearhead.viz.widgets.layout import flex_row, note
from clearhead.viz.widgets.measured import CORPUS, FROM_FILE, CorpusResult, saved_corpus
from clearhead.viz.widgets.part import Part
from clearhead.viz.widgets.upload import answers_over_texts

if TYPE_CHECKING:
    from pandas import DataFrame

WORDS = strings("measures")

# {name: title}
AVERAGES = {each.name: each.title for each in MEASURES} | {FIT + each.name: f"fit: {each.title}" for each in PATTERNS}


def many_texts(page: PageContext, model: str, revision: str, kind: Kind) -> None:
    """Draw the fields for texts, and every head's averages over them."""
    note(WORDS["many_command"])
    try:
        found = answers_over_texts("many", lambda name, texts: TextsQuery(
            model, revision, kind, tuple(CorpusText(line, name, line, text) for line, text in texts)))
        if found is not None and found[2]:
            name, total, answers = found
            CORPUS.value = CorpusResult(name, model, revision, functools.reduce(Averages.merge, answers), total,
                                        AVERAGES)
    except UserError as error:
        st.error(escape_markdown(error))
    result = saved_corpus(model, revision, kind)
    if result is not None:
        _shown(page, result)


def _shown(page: PageContext, result: CorpusResult) -> None:
    """Draw the result: the table, its download, and the link to the coloured grid."""
    averages = result.averages
    words = Part(page, WORDS, averages=averages, heads=len(averages.heads))
    st.markdown(words("many_done", name=escape_markdown(result.name), model=escape_markdown(result.model)))
    if said := unread(result.model, averages.unread, averages.texts, "texts"):
        st.warning(escape_markdown(said))
    if averages.cut:
        st.caption(words("many_cut"))
    st.caption(WORDS["many_table_about"])
    # the best mean fit, then each measure's mean, standard deviation and number of texts
    names = [f"{each.name}_{what}" for each in MEASURES if each.name in averages.names for what in ("mean", "sd", "n")]
    table = averages.frame()[["pattern", "fit", "fit_n", *names]]
    table = table.rename(columns=lambda name: name.removesuffix("_mean"))
    clickable_table(page, table, _columns(table), key="many-table", alt=words(
        "many_kept", name=result.name, model=public_name(result.model)))
    with flex_row("bottom"):
        provenance = {"model": public_name(result.model), "revision": result.revision, "file": result.name,
                      "kind": averages.kind.value, "texts": averages.texts, "tokens": averages.tokens,
                      "cut": averages.cut, "versions": versions()}
        save_table(WORDS["many_csv"], "many", "clearhead-heads-over-texts", partial(as_csv, averages),
                   partial(json.dumps, provenance))
        colour = st.selectbox(WORDS["many_colour"], averages.names, format_func=result.titles.__getitem__,
                              key="many-colour", width=320)
        if st.button(WORDS["many_open"], key="many-open"):
            page.open_page("heads", colour=FROM_FILE + colour)


def _columns(table: "DataFrame") -> dict[str, object]:
    config = column_config(table)
    for name in table:
        of, _, what = name.rpartition("_")
        if what in ("sd", "n"):
            title = WORDS["many_columns"](what, name=WORDS["measure_names"].get(of, WORDS["columns"]["fit"]))
            config[name] = st.column_config.NumberColumn(title, format="%.3f" if what == "sd" else "%d")
    return config
