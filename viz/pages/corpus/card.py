"""A head's card: its best pattern, the most similar heads, and example sentences for each tenth of a measure."""
import math
from typing import TYPE_CHECKING, Any

import streamlit as st

from clearhead.model import sources
from clearhead.model.core.query import HeadId, UserError, head_label
from clearhead.model.studies.atlas.measured import neighbours
from clearhead.model.studies.atlas.summary import STRONGEST, Atlas
from clearhead.model.studies.patterns import NONE, SIMPLE, TITLES, PatternChance, PatternChanceQuery
from clearhead.viz.app.page import PageContext
from clearhead.viz.style.format import token_markdown
from clearhead.viz.style.numbers import format_signed, format_weight
from clearhead.viz.style.text import strings
from clearhead.viz.widgets.fields import pills
from clearhead.viz.widgets.layout import flex_row, heading

if TYPE_CHECKING:
    from pandas import DataFrame, Series

WORDS = strings("atlas")

FIT = "fit_"      # prefix of pattern fits in the names of an atlas's measures
NEAR = 5          # number of similar heads
SHOWN = 3         # number of strongest examples
AROUND = 9        # tokens shown on each side of the marked ones


def head_card(page: PageContext, atlas: Atlas, head: HeadId, measure: str) -> None:
    """Draw the card. measure: the measure with examples, if the atlas has any."""
    heading(WORDS("card", head=head))
    st.markdown(behaviour_sentence(atlas, head, _chance(page, atlas)))
    near = neighbours(atlas.wide(), head, NEAR)
    if near:
        with st.container(key="aside-near"):   # hidden while presenting
            st.caption(WORDS["near"])
            pills(WORDS["near"], [(other, f"{head_label(*other)}  {far:z.2f}") for other, far in near], page.set,
                  "head", None, "atlas-near")
    st.button(WORDS["open"], key="atlas-open", on_click=_open, args=(page, atlas, head))
    measure = measure if measure in atlas.measures else atlas.measures[0]
    examples = atlas.examples(*head, measure)
    titles = {row.measure: row.title for row in atlas.tables["measures"].itertuples()}
    st.markdown(f"**{WORDS('examples', title=titles[measure])}**")
    if not len(examples):
        st.caption(WORDS["no_examples"])
        return
    st.caption(WORDS["strips"])
    _strips(page, atlas, head, examples)


def best_fit(atlas: Atlas, head: HeadId) -> tuple[str, "Series"] | None:
    """Return the name of a head's best pattern on average, and its row; None if no pattern fits."""
    rows = atlas.of_head(*head)
    fits = rows[rows.index.str.startswith(FIT)].dropna(subset=["mean"])
    if not len(fits):
        return None
    name = fits["mean"].idxmax()
    return str(name).removeprefix(FIT), fits.loc[name]


def behaviour_sentence(atlas: Atlas, head: HeadId, chance: PatternChance | None) -> str:
    """Describe the head's best pattern in comparison with uniform and random weights."""
    words, best = WORDS["behaviour"], best_fit(atlas, head)
    if best is None:
        return words("none", head=head)
    name, row = best
    fit = words("best", head=head, title=TITLES[name], row=row, n=int(row["n"]),
                none=TITLES[NONE], limit=SIMPLE)
    if chance is None:
        return fit
    return fit + " " + words("chance", even=format_signed(chance.even.get(name, math.nan), ".2f") or "–",
                             chance=chance)


def _chance(page: PageContext, atlas: Atlas) -> PatternChance | None:
    """Return the chance level for a text of the atlas's median length; None if the model is missing."""
    texts = atlas.tables["texts"]
    lengths = texts["tokens"].map(len)
    middle = lengths.sort_values(kind="stable").index[len(lengths) // 2]
    try:
        query = sources.open_query(atlas.about["model"], texts.loc[middle, "text"])
        return page.ask(PatternChanceQuery(query, atlas.kind), height=0)
    except UserError:
        return None


def _strips(page: PageContext, atlas: Atlas, head: HeadId, examples: "DataFrame") -> None:
    """Draw the strongest examples, then one per tenth of the sentences from the highest to the lowest."""
    strongest = examples[(examples["sample"] == STRONGEST) & (examples["rank"] < SHOWN)]
    others = examples[(examples["sample"] != STRONGEST) & ~examples["text"].isin(strongest["text"])]
    tenths = others[others["rank"] == 0].sort_values("decile", ascending=False)
    with st.container(height=440, border=False, key="atlas-strips"):
        for rows, label in ((strongest, WORDS["strongest"]), (tenths, WORDS["tenth"])):
            for row in rows.to_dict("records"):
                key = f"{row['sample']}-{row['decile']}-{row['rank']}"
                with flex_row("top", key=f"atlas-strip-{key}"):
                    st.button(format_weight(row["value"]), key=f"atlas-go-{key}", width=84, on_click=_open,
                              args=(page, atlas, head, row), help=WORDS["go_help"])
                    with st.container(width="stretch"):
                        said = "" if min(row["query"], row["key"]) < 0 else WORDS(
                            "weight", query=token_markdown(row["tokens"][row["query"]]),
                            weight=row["weight"],
                            key=token_markdown((row["keys"] if len(row["keys"]) else row["tokens"])[row["key"]]))
                        st.markdown(f":small[{label.format(decile=row['decile'])}: {said}]  \n{strip(row)}")


def strip(row: dict[str, Any]) -> str:
    """Return the sentence as Markdown with query and key token marked. A long sentence is cut to the part around them,
    a pair of texts to the two tokens, and a text without such a cell to its beginning."""
    tokens, query, key = list(map(token_markdown, row["tokens"])), int(row["query"]), int(row["key"])
    if query < 0 or key < 0:
        return " ".join(tokens[:2 * AROUND])
    marks = ":orange-background[**{}**]", ":blue-background[**{}**]"
    if len(row["keys"]):
        return f"{marks[0].format(tokens[query])} → {marks[1].format(token_markdown(row['keys'][key]))}"
    tokens[key] = marks[1].format(tokens[key])
    if key != query:
        tokens[query] = marks[0].format(tokens[query])
    start, end = max(0, min(query, key) - AROUND), max(query, key) + AROUND + 1
    return f"{'… ' if start else ''}{' '.join(tokens[start:end])}{' …' if end < len(tokens) else ''}"


def _open(page: PageContext, atlas: Atlas, head: HeadId, row: dict[str, Any] | None = None) -> None:
    """Open the head on *Heads*, at the example's cell or on the sidebar's sentence."""
    wanted: dict[str, Any] = {"kind": atlas.kind, "head": head}
    if row is not None or atlas.about["model"] != page.model:
        wanted |= {"model": atlas.about["model"], "text": page.text if row is None else row["text"]}
    if row is not None and row["query"] >= 0 and row["key"] >= 0:
        wanted |= {"token": int(row["query"]), "pair": (int(row["query"]), int(row["key"]))}
    page.open_head(**wanted)
