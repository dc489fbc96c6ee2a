"""Scoring every head by the reader's own rule: from words that match A to words that match B."""
import io
import json
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from clearhead.model import sources
from clearhead.model.core.query import UserError, head_label
from clearhead.model.core.statistics import FEWEST
from clearhead.model.studies import corpus, rule
from clearhead.model.studies.atlas.build import SHIPPED
from clearhead.model.studies.syntax import SUFFIX, shipped_treebank
from clearhead.viz.app.page import PageContext
from clearhead.viz.app.page_controls import Choice, Words
from clearhead.viz.components.picture import HeadValues
from clearhead.viz.export.provenance import public_name, versions
from clearhead.viz.style.numbers import format_share
from clearhead.viz.style.text import strings
from clearhead.viz.style.theme import READABLE_WIDE
from clearhead.viz.widgets.fields import choice_for, text_for
from clearhead.viz.widgets.fragment import folded_formula
from clearhead.viz.widgets.head_table import coloured_grid, plain_table
from clearhead.viz.widgets.layout import bullets, flex_row, heading, prose, split
from clearhead.viz.widgets.upload import MOST_TEXTS, given_texts

WORDS = strings("rule")

CONTROLS = (Choice("cases", "trees", ("trees", "set", "own")), Words("looks_from", "VERB", 200),
            Words("looks_at", "nsubj", 200))
SHOWN = 6   # number of heads offered as buttons


def draw_rule(page: PageContext) -> None:
    """Draw the rule, its key figures, and every head's score."""
    prose(WORDS["lead"])
    choice_for(page, "cases", WORDS["cases"], WORDS["sets"])
    given = _cases(page["cases"])
    with flex_row():
        for name in ("looks_from", "looks_at"):
            text_for(page, name, WORDS[name], 200, help=WORDS["help"])
    if not given:
        return
    sides = [rule.read_side(page[name], given) for name in ("looks_from", "looks_at")]
    if sources.catalogue_only() and any(isinstance(side, re.Pattern) for side in sides):
        raise UserError(WORDS["no_expressions"])
    marked = rule.mark(given, (sides[0], sides[1]))
    report = page.ask(rule.RuleQuery(page.model, page.revision, marked))
    said = st.empty()   # the untrained model takes as long again
    said.markdown(bullets(claims(report, None)), width=READABLE_WIDE)
    _heads(page, report, marked)
    untrained = _untrained(page, marked)
    said.markdown(bullets(claims(report, untrained)), width=READABLE_WIDE)
    st.download_button(WORDS["json"], lambda: _as_json(page, report, untrained), "clearhead-rule.json",
                       "application/json", on_click="ignore", key="rule-json")
    folded_formula(WORDS["formula"], lambda: (rule.tests_of, rule.best_offset, rule.null_of), key="rule-code")


def _cases(chosen: str) -> Sequence[Any]:
    """Return the sentences to test the rule on; empty until the reader provides some."""
    if chosen == "trees":
        return shipped_treebank("en", "grammar")
    if chosen == "set":
        return SHIPPED.read_text(encoding="utf-8").splitlines()
    given = given_texts("rule", (*corpus.SUFFIXES, SUFFIX))
    st.caption(WORDS["own"])
    if given is None:
        return ()
    content, name = given
    found = rule.read_cases(io.BytesIO(content), name)
    if len(found) > MOST_TEXTS:
        raise UserError(strings("measures")("many_large", name=name, texts=MOST_TEXTS, megabytes=5))
    return found


def _untrained(page: PageContext, marked: tuple[rule.Marked, ...]) -> rule.RuleReport | None:
    """Return the report for the same model with random weights, or None if there is none."""
    twin = sources.untrained(page.model)
    try:
        answer = page.ask(rule.RuleQuery(twin, sources.revision(twin), marked), height=0)
    except UserError:
        return None
    return answer


def claims(report: rule.RuleReport, untrained: rule.RuleReport | None) -> list[str]:
    """Describe the key figures, the held-out sentences first, then position, chance and random weights."""
    offset, share = report.offset
    facts = {"report": report, "offset": offset, "share": share, "untrained": untrained, "fewest": FEWEST}
    few = report.units < FEWEST
    names = ["best", "offset", "no_chance" if few else "chance", "pairs"]
    if report.held_out is not None:
        held = report.held_out.accuracy
        names.insert(0, "held_out_alone" if few else "held_out")
        facts |= {"held": held, "heads": ", ".join(head_label(*head) for head in report.chosen),
                  "beyond": int(held.low > max(share, report.null.high))}
    if untrained is not None:
        names.insert(-1, "untrained")
    return [WORDS["claims"](name, **facts) for name in names]


def _heads(page: PageContext, report: rule.RuleReport, marked: tuple[rule.Marked, ...]) -> None:
    """Draw the grid coloured by accuracy, and the table of every head; a click opens the head on a sentence of the
    rule."""
    view, table = page.view(), report.frame()
    text = next(each.text for each in marked if each.pairs)

    left, right = split(gap="large")
    with left:
        heading(WORDS["grid"])
        accuracy = table["accuracy"]
        coloured_grid(page, (page.record(),), view,
                      HeadValues(accuracy.to_dict(), WORDS["accuracy"], bound=1.0, ranked=True),
                      accuracy[:SHOWN].map(format_share).items(), key="rule", choose=partial(page.open_head, text=text))
    with right:
        heading(WORDS["table"])
        shares = ["accuracy", "low", "high"]
        alt = WORDS("table_alt", looking=page["looks_from"], n=len(table), wanted=page["looks_at"])
        plain_table(table.assign(**100 * table[shares]), alt, WORDS["columns"], key="rule-table",
                    formats=dict.fromkeys(shares, "%.1f") | {"weight": "%.3f"})


def _as_json(page: PageContext, report: rule.RuleReport, untrained: rule.RuleReport | None) -> str:
    """Return the complete report with its provenance, as JSON."""
    return json.dumps({"model": public_name(page.model), "revision": page.revision,
                       "from": page["looks_from"], "to": page["looks_at"], **report.as_object(),
                       "untrained": untrained and untrained.as_object(), "versions": versions()}, indent=1)
