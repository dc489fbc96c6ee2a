"""What does every head do? All of them in one table: the pattern that fits best, the measures, what silencing does; for
one text and for many."""
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from model.ask import sources
from model.core.measures import HeadMeasures, MeasuresQuery
from model.core.statistics import spearman, x_log_x
from model.studies import patterns
from model.studies.patterns import PATTERNS, TITLES, FitsQuery, HeadFits
from model.studies.silencing import Silencing, SilencingQuery
from viz.figures.patterns import WORST, pattern_grid, silencing_effects
from viz.format import format_number, head_label, rank
from viz.page import Page, PageContext
from viz.pages.measures.corpus import many_texts
from viz.text import escape_markdown, strings
from viz.theme import READABLE
from viz.widgets.fields import segments
from viz.widgets.figure import figure
from viz.widgets.fragment import folded
from viz.widgets.head_table import measures_table, silence_all
from viz.widgets.lesson import source_listing

if TYPE_CHECKING:
    from pandas import DataFrame

PAGE = Page("Every head measured", "Test", 1, "record", reads="both")
POOR = 0.6     # a fit below which the best pattern says little


def render(page: PageContext) -> None:
    """Draws the page."""
    words, record = strings("measures"), page.record()
    view = page.view()
    st.markdown(f"## {words['question']}")
    st.markdown(words["lead"], width=READABLE)
    if len(record.kinds) > 1:
        segments(strings("heads")["kind"], {kind: kind.label(strings("heads")["kinds"]) for kind in record.kinds},
                 page.set, "kind", view.kind)
    fitted: HeadFits = page.ask(FitsQuery(record.query, view.kind))
    measures: HeadMeasures = page.ask(MeasuresQuery(record.query, view.kind))
    question = SilencingQuery(record.query, view.kind)
    silencing: Silencing | None = sources.cached(question)
    best = fitted.best()
    left, right = st.columns([7, 5], gap="large")
    with left:
        _grid(best)
    with right:
        _notice(best)
    measures_table(page, measures, fitted, silencing)
    if silencing is not None:
        _effects(best.join(silencing.frame()), silencing.measure)
    elif record.prediction is not None and record.verification.status == "verified":
        silence_all(page, question, len(best))
    many_texts(page, record.query.model, record.query.revision, view.kind)
    _formula()


def _grid(best: "DataFrame") -> None:
    words, counts = strings("measures"), best["pattern"].value_counts()
    st.markdown(f"##### {words['grid']}")
    alt = words["grid_alt"].format(n=len(best),
                                   counts=", ".join(f"{TITLES[name]} {count}" for name, count in counts.items()))
    figure(lambda theme: pattern_grid(theme, best, TITLES, axes=tuple(words["axes"])), key="measures-grid", alt=alt)
    st.caption(words["grid_about"].format(worst=WORST))


def _notice(best: "DataFrame") -> None:
    """What holds of all heads together, counted here."""
    words = strings("measures")
    st.markdown(f"##### {words['notice']}")
    st.markdown("\n".join(f"- {sentence}" for sentence in [*pattern_claims(best), words["one_text"]]))


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


def _formula() -> None:
    """The measure of fit, the patterns with those who described them, and the functions behind the table."""
    from model.core import measures
    from model.studies import silencing

    words = strings("measures")

    def inside() -> None:
        st.latex(words["formula"])
        st.markdown(words["formula_words"])
        st.markdown(f"**{words['patterns_title']}**\n"
                    + "\n".join(f"- {pattern.title}: {pattern.paper}" for pattern in PATTERNS))
        st.code(source_listing((x_log_x, patterns.divergences, patterns.fit, measures.measure, silencing.change,
                         silencing.run), {}), language="python")

    folded(words["formula_title"], inside, key="measures-formula")
