"""A table of every head over one text: best pattern, measures and effect of silencing."""
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from clearhead.model.ask import desk
from clearhead.model.core.heads import MeasuresQuery
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.statistics import spearman, x_log_x
from clearhead.model.studies import patterns
from clearhead.model.studies.patterns import PATTERNS, TITLES, FitsQuery, named
from clearhead.model.studies.silencing import Silencing, SilencingQuery
from clearhead.viz.app.page import PageContext
from clearhead.viz.figures.heads import WORST, pattern_grid, silencing_effects
from clearhead.viz.style.numbers import format_number, rank
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.style.theme import READABLE
from clearhead.viz.widgets.figure import figure
from clearhead.viz.widgets.fragment import asked_on_click, folded_formula
from clearhead.viz.widgets.head_table import measures_table
from clearhead.viz.widgets.layout import heading, split

if TYPE_CHECKING:
    from pandas import DataFrame

WORDS = strings("measures")


def draw_text(page: PageContext, record: AttentionRecord) -> None:
    """Draw each head's best pattern, the table, and the effect of silencing."""
    view = page.view()
    st.markdown(WORDS["lead"], width=READABLE)
    fitted = page.ask(FitsQuery(record.query, view.kind))
    measures = page.ask(MeasuresQuery(record.query, view.kind))
    question = SilencingQuery(record.query, view.kind)
    silencing: Silencing | None = desk.cached(question)
    best = named(fitted.best())
    counts = ", ".join(f"{TITLES[name]} {count}" for name, count in best["pattern"].value_counts().items())
    left, right = split(7, 5, gap="large")
    with left:
        heading(WORDS["grid"])
        figure(pattern_grid, best, TITLES, axes=tuple(WORDS["axes"]), key="measures-grid",
               alt=WORDS("grid_alt", n=len(best), counts=counts))
        st.caption(WORDS("grid_about", worst=WORST))
    with right:   # claims about all heads
        st.markdown("\n".join([f"##### {WORDS['notice']}", *(f"- {claim}" for claim in pattern_claims(best)),
                               f"- {WORDS['one_text']}"]))
    measures_table(page, measures, fitted, silencing)
    if silencing is not None:
        _effects(best.join(silencing.frame()), silencing.measure)
    elif record.prediction is not None and record.verification.status == "verified":
        st.caption(WORDS["silence"]("about", n=len(best)))
        if asked_on_click(page, question, WORDS["silence"], "silence") is not None:
            st.rerun()
    text = [f"$$\n{WORDS['formula']}\n$$\n\n{WORDS['formula_words']}", f"**{WORDS['patterns_title']}**"]
    papers = "\n".join(f"- {pattern.title}: {pattern.paper}" for pattern in PATTERNS)
    folded_formula({"title": WORDS["formula_title"], "text": "\n\n".join([*text, papers])}, _proof,
                   key="measures-formula")


def _effects(effects: "DataFrame", measure: str) -> None:
    """Draw each head's effect of silencing against its pattern's fit. measure: how the effect is measured."""
    changes = effects["silenced"]
    place = changes.idxmax()
    heading(WORDS["effects"])
    axes = (WORDS["effects_axes"]["x"], WORDS["effects_axes"][measure])
    left, right = split(7, 5, gap="large")
    with left:
        figure(silencing_effects, effects, TITLES, axes=axes, key="measures-effects",
               alt=WORDS("effects_alt", n=len(changes), head=place, most=changes[place]))
    with right:
        st.markdown("\n\n".join([WORDS[f"silenced_{measure}"], *effect_claims(effects)]))


def pattern_claims(best: "DataFrame") -> list[str]:
    """Describe how many heads fit which pattern best, and how well. best: one row per head, with pattern and fit."""
    counts, fits = best["pattern"].value_counts(), best["fit"]
    top = fits.idxmax()
    return [WORDS("counts", counts=", ".join(WORDS("count", title=TITLES[pattern], count=count)
                                             for pattern, count in counts.items()), n=len(best)),
            WORDS("top", head=top, title=TITLES[best["pattern"][top]], fit=fits[top],
                  tied=rank(fits[top], fits, "{:.2f}".format)[1])]


def effect_claims(effects: "DataFrame") -> list[str]:
    """Describe the effect of silencing each head. effects: one row per head, with pattern, fit and silenced (the
    answer's change)."""
    changes = effects["silenced"]
    top = changes.idxmax()
    sentences = [WORDS("effects_most", head=top, most=changes[top],
                       tied=rank(changes[top], changes, format_number)[1],
                       title=escape_markdown(TITLES[effects["pattern"][top]]), fit=effects["fit"][top])]
    rho = spearman(effects["fit"].to_numpy(), changes.to_numpy())
    sentences += [WORDS("effects_rank", n=len(changes), rho=rho)] if np.isfinite(rho) else []
    return [*sentences, WORDS("effects_quiet", median=changes.median())]


def _proof() -> tuple[Callable, ...]:
    """Return the functions that compute the table."""
    from clearhead.model.core import heads
    from clearhead.model.studies import silencing

    return x_log_x, patterns.divergences, patterns.fit, heads.measure, silencing.change, silencing.SilencingQuery.answer
