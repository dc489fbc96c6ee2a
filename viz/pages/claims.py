"""Which claims about attention heads hold here? What was published, measured again, one row a claim and model."""
import inspect
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import streamlit as st

from model.ask import sources
from model.core.query import Kind, UserError
from model.core.types import head_label
from model.studies.claims import rule
from model.studies.claims.catalogue import (
    ClaimQuery,
    Row,
    because,
    bibtex,
    fetching,
    missing,
    papers,
    rows,
    short_source,
)
from model.studies.claims.claim import Finding, Measurement, Picture
from model.studies.claims.rule import Verdict, judge
from viz.figures.effects import effect
from viz.format import format_number, format_signed
from viz.page import Page, PageContext
from viz.page_controls import Switch
from viz.streamlit_patch import DeltaGenerator
from viz.text import escape_markdown, strings
from viz.theme import READABLE_WIDE
from viz.widgets.figure import figure
from viz.widgets.fragment import folded

# measured when the page opens, in a second once the model is open; all others when somebody asks
OPENING = (("special", "minilm"),)
ASKED = "claims-asked"   # in the session: the rows that somebody asked for
PAGE = Page("Claims", "Test", 4, "nothing", controls=(Switch("all"),))


def render(page: PageContext) -> None:
    """Draws the page."""
    words = strings("claims")
    st.markdown(f"## {words['question']}")
    st.markdown(words["lead"], width=READABLE_WIDE)
    on_disk = {offer.id for offer in sources.catalogue() if offer.on_disk}
    table = list(rows(on_disk))
    counted = st.empty()
    waiting = _controls(page, table)
    st.caption(words["legend"], width=READABLE_WIDE)
    results = {row: result_of(row) for row in table}
    titles, places = {offer.id: offer.title for offer in sources.catalogue()}, dict[Row, Place]()
    for _, group in groupby(table, key=lambda row: row.claim.name):
        places |= draw_claim(page, {row: results[row] for row in group}, waiting, _ask, titles)
    folded(words["rule_title"], _rule, key="claims-rule")
    _count(counted, list(results.values()))
    for row in table:   # one after the other, each in its place; a click ends it and what is done stays
        if row in waiting and results[row].open:
            wait_for(page, row, places[row], titles)
            _count(counted, [result_of(each) for each in table])


def _controls(page: PageContext, table: list[Row]) -> set[Row]:
    """The buttons, and the rows that are to be measured."""
    words, asked = strings("claims"), st.session_state.setdefault(ASKED, set())
    there = [row for row in table if row.model]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(words["measure_all"], type="primary", key="claims-all", disabled=page.controls["all"],
                  help=words["measure_all_help"].format(count=len(there)), on_click=page.set,
                  kwargs={"all": True})
        if page.controls["all"] or asked:
            st.button(words["stop"], key="claims-stop", on_click=_stop, args=(page,))
    chosen = {row for row in there if page.controls["all"] or question(row) in asked}
    stopped = st.session_state.get(f"{ASKED}-stopped", False)
    return chosen | {row for row in there if (row.claim.name, row.model) in OPENING and not stopped}


def _ask(row: Row) -> None:
    st.session_state[ASKED].add(question(row))


def _stop(page: PageContext) -> None:
    st.session_state[ASKED], st.session_state[f"{ASKED}-stopped"] = set(), True
    page.set(all=False)


def _count(place: DeltaGenerator, results: list[Result]) -> None:
    """How many rows have which verdict so far."""
    words, count = strings("claims"), Counter(result.verdict for result in results)
    said = [words["counts"].format(verdict=words["verdicts"][verdict], count=count[verdict])
            for verdict in rule.Verdict if count[verdict]]
    if count[None]:
        said.append(words["counts"].format(verdict=words["not_yet"], count=count[None]))
    place.markdown(" · ".join(said))


def _rule() -> None:
    words = strings("claims")
    st.markdown(words["rule"].format(fewest=rule.FEWEST), width=READABLE_WIDE)
    st.markdown(f"**{words['rule_code']}**")
    st.code(inspect.getsource(rule), language="python")


COLOURS = {Verdict.HOLDS: "green", Verdict.FAILS: "orange", Verdict.UNTESTED: "gray"}
MORE = 6                    # digits, at most, that are printed beyond the usual ones
ERRORS = "claims-errors"   # in the session: {question: why it could not be measured}


@dataclass(frozen=True)
class Result:
    """What is known of a row: a measurement, or why there is none."""

    measured: Measurement | None   # None where it was not measured
    error: str = ""                # why it cannot be
    open: bool = False             # whether it can be measured and is not yet

    @property
    def verdict(self) -> Verdict | None:
        """The verdict by the rule; None for a row that is not measured yet."""
        if self.measured is not None:
            return judge(self.measured.findings).verdict
        return None if self.open else Verdict.UNTESTED


@dataclass(frozen=True)
class Place:
    """Where what is measured later is drawn."""

    body: DeltaGenerator    # the verdict and the numbers
    heads: DeltaGenerator   # among the details: which heads the numbers are of


def question(row: Row) -> ClaimQuery:
    """The question of a row that has a model."""
    return ClaimQuery(row.claim.name, row.model, sources.revision(row.model))


def result_of(row: Row) -> Result:
    """What is known of a row without asking a model."""
    if not row.model:
        return Result(None, missing(row))
    asked = question(row)
    if (error := st.session_state.get(ERRORS, {}).get(asked)) is not None:
        return Result(None, error)
    measured = sources.cached(asked)
    return Result(measured, open=measured is None)


def draw_claim(page: PageContext, results: dict[Row, Result], waiting: set[Row], ask: Callable[[Row], None],
               titles: dict[str, str]) -> dict[Row, Place]:
    """Draws one claim with all models that it is put to; for each row the places in which what is measured later is
    drawn. titles: of the models, by id."""
    claim, words = next(iter(results)).claim, strings("claims")
    places = {}
    with st.container(border=True, key=f"claim-{claim.name}", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**{words['claims'][claim.name]['sentence']}** "
                        f":gray[{escape_markdown(short_source(claim.paper))}]", width="content")
            # drawn with the page, so that it opens also while rows are measured
            with st.popover(words["details"], type="tertiary", key=f"details-{claim.name}"):
                heads = _details(results)
        for row, result in results.items():
            places[row] = Place(st.empty(), heads[row])
            with places[row].body.container():
                _body(page, row, result, titles, None if row in waiting else ask)
    return places


def wait_for(page: PageContext, row: Row, place: Place, titles: dict[str, str]) -> None:
    """Measures a row, with progress in its place. titles: of the models, by id."""
    asked = question(row)
    with place.body.container():
        try:
            page.ask(asked, 0)
        except UserError as error:
            st.session_state.setdefault(ERRORS, {})[asked] = str(error)
    result = result_of(row)
    with place.body.container():
        _body(page, row, result, titles, None)
    place.heads.markdown(_chosen_heads(row, result))


def _body(page: PageContext, row: Row, result: Result, titles: dict[str, str],
          ask: Callable[[Row], None] | None) -> None:
    """The verdict and the numbers; what is not measured has a button instead, unless it is being waited for."""
    words = strings("claims")
    model = words["of_model"].format(model=escape_markdown(titles.get(row.model, row.model))) if row.model else ""
    if result.measured is None:
        _unmeasured(row, result, model, ask)
        return
    judged = judge(result.measured.findings)
    left, right = st.columns([5, 6], gap="medium")
    with left:
        st.markdown(f":{COLOURS[judged.verdict]}-badge[{words['verdicts'][judged.verdict]}] :gray[{model}]")
        st.markdown(because(judged)[:1].upper() + because(judged)[1:])
        picture = result.measured.picture   # of a photograph only where a page can be asked about one
        if (not picture.image or hasattr(page.state, "image")) and st.button(
                words["open"], key=f"open-{row.claim.name}-{row.model}", type="tertiary"):
            _open(page, picture)
    with right:
        for found in result.measured.findings:
            _number(row, found)


def _unmeasured(row: Row, result: Result, model: str, ask: Callable[[Row], None] | None) -> None:
    words = strings("claims")
    if result.open:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f":gray-badge[{words['not_yet']}] :gray[{model}]")
            if ask is not None:
                st.button(words["measure"], key=f"measure-{row.claim.name}-{row.model}", on_click=ask, args=(row,),
                          help=words["slow"] if row.claim.slow else None)
        return
    st.markdown(f":gray-badge[{words['verdicts'][Verdict.UNTESTED]}] :gray[{model}]")
    st.markdown(escape_markdown(result.error[:1].upper() + result.error[1:]))
    if row.missing:
        st.markdown(words["fetch"].format(commands=fetching(row)))


def _number(row: Row, found: Finding) -> None:
    """One finding: its words, its figure, its numbers."""
    words = strings("claims")
    what = words["findings"][found.name]["what"]
    digits = _digits(found)
    shown: dict[str, Any] = {name: _written(getattr(found, name), found.unit, digits)
                             for name in ("effect", "low", "high", "baseline")}
    shown["interval"] = words["interval" if shown["low"] and shown["high"] else "no_interval"].format(**shown)
    shown |= {"n": found.n, "counted": words["counted"][found.counted]}
    luck, best = (_written(value, found.unit, digits) for value in (found.luck, found.best))
    alt = words["alt"].format(name=what, **shown, luck=luck and words["alt_luck"].format(luck=luck))
    st.caption(what)
    figure(lambda theme: effect(theme, found.effect, (found.low, found.high), found.baseline, found.luck, found.best),
           key=f"effect-{row.claim.name}-{row.model}-{found.name}", alt=alt)
    st.caption(words["numbers"].format(**shown, luck=luck and words["numbers_luck"].format(luck=luck, best=best)))


def _digits(found: Finding) -> int:
    """As many digits more than usual as show on which side of its bound each number lies that the rule compares."""
    compared = ((found.low, found.baseline), (found.high, found.baseline), (found.best, found.luck))
    apart = [(one, other) for one, other in compared if one is not None and other is not None
             and math.isfinite(one) and math.isfinite(other) and one != other]
    for more in range(MORE):
        if all(_written(one, found.unit, more) != _written(other, found.unit, more) for one, other in apart):
            return more
    return MORE


def _written(value: float | None, unit: str, more: int = 0) -> str:
    """A number with its unit, with so many digits more than usual; shares in per cent."""
    if value is None:
        return ""
    if unit == "share":
        return format_signed(value, f".{1 + more}%")
    return f"{format_number(value, 3 + more)} {strings('claims')['units'][unit]}"


def _details(results: dict[Row, Result]) -> dict[Row, DeltaGenerator]:
    """What was measured there and here, and both as BibTeX; for each row the place of the heads that were chosen."""
    words, claim = strings("claims"), next(iter(results)).claim
    said = words["claims"][claim.name]
    st.markdown(f"**{words['there']}.** {said['there']}  \n**{words['here']}.** {said['here']}")
    places = {row: st.empty() for row in results}
    for row, result in results.items():
        places[row].markdown(_chosen_heads(row, result))
    st.markdown(f"**{words['cite_claim']}**")
    st.code(papers()[claim.paper], language="bibtex", wrap_lines=True)
    there = [row for row in results if row.model]
    if there:
        st.markdown(f"**{words['cite_measurement']}**")
        st.code("\n\n".join(bibtex(row, sources.revision(row.model)) for row in there), language="bibtex",
                wrap_lines=True)
    st.caption(f"`{words['json_help'].format(name=claim.name)}`")
    return places


def _chosen_heads(row: Row, result: Result) -> str:
    """Which heads the numbers are of; nothing where none was chosen."""
    heads = [head_label(*head) for found in (result.measured.findings if result.measured else ())
             for head in found.heads]
    said = strings("claims")["heads"].format(model=row.model, heads=", ".join(dict.fromkeys(heads)))
    return said if heads else ""


def _open(page: PageContext, picture: Picture) -> None:
    """Opens the page of a picture at the very view."""
    view: dict[str, Any] = {}
    if picture.model:
        view = {"model": picture.model, "text": picture.text, "text_b": None, "target": None}
        view |= {"image": picture.image} if picture.image else {}
    if picture.kind:
        view["kind"] = Kind(picture.kind)
    if picture.head is not None:
        view["head"] = picture.head
    if picture.pair is not None:
        view |= {"pair": picture.pair, "token": picture.pair[0]}
    if view:
        page.set(**view)
    page.open_page(picture.page, **dict(picture.settings))
