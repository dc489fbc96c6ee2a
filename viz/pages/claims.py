"""The page that replicates published claims about attention heads, one row per claim and model."""
import inspect
from collections import Counter
from collections.abc import Collection
from itertools import groupby
from typing import cast

import streamlit as st

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.ask.shipped import COMMAND, Shipped
from clearhead.model.core.query import Kind, UserError, frozen, head_label
from clearhead.model.studies.claims import claim as rule
from clearhead.model.studies.claims.catalogue import (
    CLAIMS,
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
from clearhead.model.studies.claims.claim import ClaimExample, Finding, Measurement, Verdict, judge
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Switch
from clearhead.viz.app.session import Kept
from clearhead.viz.app.streamlit_patch import DeltaGenerator
from clearhead.viz.figures.heads import effect
from clearhead.viz.style.numbers import format_number, format_signed
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.figure import figure
from clearhead.viz.widgets.fragment import folded
from clearhead.viz.widgets.layout import flex_row, opening, prose, split

WORDS = strings("claims")

ASKED = Kept[frozenset[ClaimQuery]](frozenset())   # measurements requested in this session
ERRORS = Kept[dict[ClaimQuery, str]]({})           # the errors of failed measurements
COLOURS = {Verdict.HOLDS: "green", Verdict.FAILS: "orange", Verdict.UNTESTED: "gray"}
PAGE = Page("nothing", controls=(Switch("all"),))


@frozen
class Result:
    """A row's measurement, or the reason why there is none."""

    measured: Measurement | None     # None if there is no measurement
    error: str = ""                  # why it cannot be measured
    open: bool = False               # whether it can still be measured
    shipped: Shipped | None = None   # set if the result is shipped
    here: bool = True                # whether the model is on this disk

    @property
    def stale(self) -> bool:
        """Whether it is of another version of the model than the one on this disk."""
        return self.shipped is not None and self.shipped.stale and self.here

    @property
    def verdict(self) -> Verdict | None:
        """The verdict by the claim's rule; None if the row has not been measured."""
        if self.measured is not None:
            return judge(self.measured.findings).verdict
        return None if self.open else Verdict.UNTESTED


def render(page: PageContext) -> None:
    """Draw the page."""
    words = opening("claims")
    results = {row: result_of(row) for row in all_rows()}
    _count(list(results.values()))
    waiting = _controls(page, list(results))
    prose(f":gray[{words['legend']}]")   # presenting hides captions outside claims
    places = dict[Row, DeltaGenerator]()
    for _, group in groupby(results, key=lambda row: row.claim.name):
        places |= draw_claim(page, {row: results[row] for row in group}, waiting)
    folded(words["rule_title"], _rule, key="claims-rule")
    if waiting:   # one at a time; a click stops the rest and keeps finished results
        _measure(page, waiting[0], places[waiting[0]])


def all_rows() -> list[Row]:
    """Return every claim paired with each model that is on this disk or has a shipped result."""
    here = {offer.id for offer in sources.catalogue().values() if offer.on_disk}
    return [row for claim in CLAIMS for row in rows(here | {model for model in claim.models if desk.shipped(
        ClaimQuery(claim.name, model, ""))}) if row.claim is claim]


def _controls(page: PageContext, table: list[Row]) -> list[Row]:
    """Draw the buttons and return the rows to measure."""
    every = page["all"]
    there = [row for row in table if row.model and question(row).revision]

    def stop() -> None:
        ASKED.value = frozenset()
        page.set(all=False)

    waiting = [row for row in there if (every or question(row) in ASKED.value) and question(row) not in ERRORS.value
               and desk.cached(question(row)) is None]
    with flex_row("center"):
        st.button(WORDS["measure_all"], key="claims-all", disabled=every, on_click=page.set,
                  kwargs={"all": True}, help=WORDS("measure_all_help", count=len(there)))
        if waiting:
            st.button(WORDS["stop"], key="claims-stop", on_click=stop)
    return waiting


def _ask(row: Row) -> None:
    ASKED.value |= {question(row)}


def _count(results: list[Result]) -> None:
    """Draw the number of rows with each verdict so far."""
    count = Counter("stale" if result.stale else result.verdict for result in results)
    names = {verdict: WORDS["verdicts"][verdict] for verdict in Verdict} | {None: WORDS["not_yet"],
                                                                            "stale": WORDS["stale"]}
    st.markdown(" · ".join(WORDS("counts", verdict=name, count=count[verdict])
                           for verdict, name in names.items() if count[verdict]))


def _rule() -> None:
    prose(WORDS("rule", fewest=rule.FEWEST))
    st.markdown(f"**{WORDS['rule_code']}**")
    st.code(inspect.getsource(rule), language="python")


def question(row: Row) -> ClaimQuery:
    """Return the query of a claim and model, with an empty revision if the model is not on this disk."""
    try:
        return ClaimQuery(row.claim.name, row.model, sources.revision(row.model))
    except UserError:
        return ClaimQuery(row.claim.name, row.model, "")


def result_of(row: Row) -> Result:
    """Return a row's result without running a model."""
    if not row.model:
        return Result(None, missing(row))
    asked = question(row)
    if asked in ERRORS.value:
        return Result(None, ERRORS.value[asked])
    measured = desk.cached(asked)
    if measured is not None:
        return Result(measured)
    known = desk.shipped(asked)
    return Result(None if known is None else known.answer, open=known is None, shipped=known, here=bool(asked.revision))


def draw_claim(page: PageContext, results: dict[Row, Result], waiting: Collection[Row]) -> dict[Row, DeltaGenerator]:
    """Draw one claim with all its models. Return each row's placeholder."""
    claim, places = next(iter(results)).claim, {}
    with st.container(key=f"claim-{claim.name}", gap="small"):
        with flex_row("center", gap="small"):
            st.markdown(f"**{WORDS['claims'][claim.name]['sentence']}** "
                        f":gray[{escape_markdown(short_source(claim.paper))}]", width="content")
            # drawn with the page, so that the popover also opens during measurements
            with st.popover(WORDS["details"], type="tertiary", key=f"details-{claim.name}"):
                _details(results)
        for row, result in results.items():
            places[row] = st.empty()
            with places[row].container():
                if row in waiting:   # the numbers are drawn once measured
                    st.markdown(f":gray-badge[{WORDS['not_yet']}] :gray[{row.model}]")
                else:
                    _body(page, row, result)
    return places


def _measure(page: PageContext, row: Row, place: DeltaGenerator) -> None:
    """Measure a row, with its progress in the placeholder, and rerun the page."""
    asked = question(row)
    desk.measure_again(asked)
    with place.container():
        try:
            page.ask(asked, 0)
        except UserError as error:
            ERRORS.value = ERRORS.value | {asked: str(error)}
    st.rerun()


def _body(page: PageContext, row: Row, result: Result) -> None:
    """Draw the verdict beside the numbers, one per line. An unmeasured row has a button to measure it."""
    key = f"{row.claim.name}-{row.model}"
    model = WORDS("of_model", model=escape_markdown(sources.title_of(row.model))) if row.model else ""
    left, right = split(4, 9, vertical_alignment="center")
    with left:
        verdict, colour = WORDS["not_yet"], "gray"
        if result.verdict is not None:
            verdict, colour = WORDS["verdicts"][result.verdict], COLOURS[result.verdict]
        st.markdown(f":{colour}-badge[{verdict}] :gray[{model}]")
        with flex_row("center", gap="small"):
            _origin(result)
            sees = result.measured is not None and result.here
            if sees and st.button(WORDS["open"], key=f"open-{key}", type="tertiary"):
                _open(page, cast(Measurement, result.measured).picture)
            if result.here and (result.open or result.shipped is not None):
                st.button(WORDS["measure" if result.open else "again"], key=f"measure-{key}", type="tertiary",
                          on_click=_ask, args=(row,), help=WORDS["slow"] if row.claim.slow else None)
    with right:
        if result.error:
            st.markdown(escape_markdown(_capital(result.error)))
        if row.missing or not result.here:
            st.markdown(WORDS("fetch", commands=fetching(row)))
        for found in result.measured.findings if result.measured is not None else ():
            _number(key, found)


def _origin(result: Result) -> None:
    """Draw when and where a row was measured, and whether the model on this disk differs."""
    known = result.shipped
    if known is not None:
        stale = f" :orange-badge[{WORDS['stale']}]" if result.stale else ""
        st.caption(WORDS("measured", known=known) + stale, width="content",
                   help=WORDS("measured_help", machine=known.machine, command=COMMAND))


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _number(key: str, found: Finding) -> None:
    """Draw one finding: its text, figure and numbers. key: the row's key."""
    what = WORDS["findings"][found.name]["what"]
    shown = {name: _written(getattr(found, name), found.unit == "share")
             for name in ("effect", "low", "high", "baseline", "luck", "best")}
    shown["interval"] = WORDS("interval" if shown["low"] and shown["high"] else "no_interval", **shown)
    shown |= {"n": str(found.n), "counted": WORDS["counted"][found.counted], "unit": WORDS["units"][found.unit]}
    numbers = WORDS("numbers", **shown | {"luck": shown["luck"] and WORDS("numbers_luck", **shown)})
    name, chart = split(5, 6, gap="small", vertical_alignment="center")
    name.caption(f"{what}  \n{numbers}")
    with chart:
        figure(effect, found.effect, (found.low, found.high), found.baseline, found.luck, found.best,
               share=found.unit == "share", key=f"effect-{key}-{found.name}", alt=f"{what}: {numbers}")


def _written(value: float | None, share: bool) -> str:
    """Return a number without its unit; a share in per cent."""
    return "" if value is None else format_signed(value, ".1%") if share else format_number(value)


def _details(results: dict[Row, Result]) -> None:
    """Draw the published and the local measurement, the chosen heads, and both measurements as BibTeX."""
    claim = next(iter(results)).claim
    said = WORDS["claims"][claim.name]
    st.markdown(f"**{WORDS['there']}.** {said['there']}  \n**{WORDS['here']}.** {said['here']}")
    found = {row: result.measured.findings for row, result in results.items() if result.measured is not None}
    for row, findings in found.items():
        if heads := dict.fromkeys(head_label(*head) for each in findings for head in each.heads):
            st.markdown(WORDS("heads", model=row.model, heads=", ".join(heads)))
    for findings in found.values():
        st.markdown(_capital(because(judge(findings))))
    measured = [bibtex(row, question(row).revision) for row in results if row.model]
    entries = {"cite_claim": papers()[claim.paper], "cite_measurement": "\n\n".join(measured)}
    for title, entry in entries.items():
        if entry:
            st.markdown(f"**{WORDS[title]}**")
            st.code(entry, language="bibtex", wrap_lines=True)
    st.caption(f"`{WORDS('json_help', name=claim.name)}`")


def _open(page: PageContext, picture: ClaimExample) -> None:
    """Open the page of a picture in the picture's exact view."""
    view: dict = {}
    if picture.model:
        view = {"model": picture.model, "text": picture.text, "text_b": None, "target": None}
        view |= {"image": picture.image} if picture.image else {}
    view |= {"kind": Kind(picture.kind)} if picture.kind else {}
    view |= {} if picture.head is None else {"head": picture.head}
    view |= {} if picture.pair is None else {"pair": picture.pair, "token": picture.pair[0]}
    page.set(**view)
    page.open_page(picture.page, **dict(picture.settings))
