"""The page on circuits: each head's function, pairs of heads that compose, path patching, and known circuits."""
import math
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.ask.shipped import Shipped
from clearhead.model.core.query import HeadId, Kind, UserError, head_label
from clearhead.model.studies import head_weights, known_circuits, mechanisms
from clearhead.model.studies.known_circuits import KnownCircuitsQuery, Replication
from clearhead.model.studies.mechanisms import KINDS, Mechanisms, MechanismsQuery
from clearhead.model.studies.paths import READS, WAYS, AblationQuery, Paths, PathsQuery
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice, Words, position
from clearhead.viz.components.picture import HeadValues
from clearhead.viz.style.format import markdown_table
from clearhead.viz.style.numbers import format_number
from clearhead.viz.style.text import strings
from clearhead.viz.widgets.fields import select
from clearhead.viz.widgets.fragment import asked_on_click, folded, fragment, source_listing
from clearhead.viz.widgets.handout_button import data_table, offer_table
from clearhead.viz.widgets.head_table import clickable_table, clicked_head, coloured_grid
from clearhead.viz.widgets.layout import flex_row, heading, note, opening, prose, split
from clearhead.viz.widgets.measured import measured_line
from clearhead.viz.widgets.part import Part

WORDS = strings("circuits")

MEASURES = ("induction", "previous", "duplicate", "copying", "matching")
SHOWN, REMOVED = 200, 6   # pairs in the table; heads in the ablation table
TALL = 460                # height of a grid in pixels
PAGE = Page("record", controls=(
    Choice("colour", "", MEASURES), Choice("by", "K", KINDS), Words("twin"), Words("answer", longest=60),
    Words("rival", longest=60), position("sender", 9999),
    position("into", 9999), Choice("reads", "all", READS)))


def render(page: PageContext) -> None:
    """Draw the page."""
    opening("circuits")
    question = MechanismsQuery(page.model, page.revision)
    found = page.ask(question)
    page.record()   # an error in the text is then shown once, not in every section
    measured_line(question, "circuits", "mechanisms")
    fragment(page, _heads, found)
    fragment(page, _pairs, found)
    fragment(page, _paths, found)
    _known(page)


def _heads(page: PageContext, found: Mechanisms) -> None:
    """Draw every head's measures as a table, and one of them as the colours of the grid."""
    words, table = WORDS["page"], found.frame()
    heading(words["heads"])
    named = {name: words["measures"][name] for name in MEASURES if name in table}
    colour = page["colour"] if page["colour"] in named else next(iter(named))
    left, right = split(11, 13)
    with left:
        if len(named) > 1:
            select(words["colour"], named, page.set, "colour", colour, quiet=True)
        else:
            st.caption(words["no_copying"])
        _grid(page, table[colour].to_dict(), named[colour], "circuits-grid")
        st.caption(f"**{named[colour]}**: {words['helps'][colour]} {words['grid_open']}")
    with right:
        config: dict[str, Any] = {name: st.column_config.NumberColumn(title, help=words["helps"][name], format="%.2f")
                                  for name, title in named.items()}
        config |= {name: st.column_config.NumberColumn(strings("measures")["columns"][name], width=55)
                   for name in ("layer", "head")}
        shown = table[list(named)].sort_values(colour, ascending=False, kind="stable")
        clickable_table(page, shown, config, key="circuits-table", alt=words["table_alt"])


def _grid(page: PageContext, values: dict[HeadId, float], label: str, key: str) -> None:
    """Draw the grid coloured by one number per head; a click opens the head on the page Heads."""
    record = page.record()
    kind = Kind.CAUSAL if Kind.CAUSAL in record.kinds else Kind.SELF
    coloured_grid(page, (record,), replace(page.view(), kind=kind), HeadValues(values, label, signed=True), key=key,
                  choose=partial(page.open_head, kind=kind), height=TALL)


def _pairs(page: PageContext, found: Mechanisms) -> None:
    """Draw the pairs whose composition exceeds that of pairs in the impossible order; a click opens either head."""
    words = Part(page, WORDS["page"])
    heading(words["pairs"])
    by = words.choice("by", "by_names")
    pairs, null = found.pairs(), found.null[by]
    pairs = pairs[pairs["kind"] == by]
    total = int((found.composition[by] == found.composition[by]).sum())   # NaN unless the first layer is earlier
    if not total:
        st.caption(words["one_layer"])
        return
    claims = [words("pairs_claim", count=len(pairs), share=found.share(by), total=total,
                    limit=null.high, chance=null.chance)]
    earlier, later = ([*zip(pairs[f"{side}_layer"].tolist(), pairs[f"{side}_head"].tolist(), strict=True)]
                      for side in ("earlier", "later"))
    if len(pairs):
        claims.append(words("pairs_best", one=earlier[0], other=later[0],
                            score=pairs["score"].iloc[0], mean=null.mean))
    prose(" ".join(claims))
    if not len(pairs):
        return
    titles = words["pairs_columns"]
    shown = pairs.assign(earlier=[head_label(*head) for head in earlier],
                         later=[head_label(*head) for head in later]).head(SHOWN)

    def clicked() -> None:
        event = st.session_state["circuits-pairs"]
        place = clicked_head(event, later if _clicked_column(event) == titles["later"] else earlier)
        if place is not None:
            page.open_head(head=place)

    data_table(shown, words["pairs_alt"], titles, key="circuits-pairs", on_select=clicked,
               selection_mode="single-cell", formats=dict.fromkeys(("score", "excess"), "%.3f"))
    st.caption(words["pairs_about"])


def _clicked_column(event: Any) -> str:
    """Return the title of the column whose cell was clicked, or "" for an invalid event."""
    try:
        return str(event["selection"]["cells"][-1][1])
    except (KeyError, TypeError, IndexError):
        return ""


def _paths(page: PageContext, found: Mechanisms) -> None:
    """Draw path patching from one head or all heads into one receiver, and the effect of ablating the same heads."""
    words, turned = WORDS["paths"], page.controls
    prose(f"##### {words['title']}\n\n{words['lead']}")
    if Kind.CAUSAL not in page.record().kinds:
        st.caption(words["decoders"])
        return
    _path_fields(page, found)
    if not (turned["twin"] and turned["answer"] and turned["rival"]):
        st.caption(words["needs"])
        return
    query, twin = page.query(), page.query(text=turned["twin"])
    position = len(page.record()[Kind.CAUSAL].queries) - 1
    receiver = found.heads[turned["into"]] if 0 <= turned["into"] < len(found.heads) else None
    senders = (found.heads[turned["sender"]],) if 0 <= turned["sender"] < len(found.heads) else ()
    asked = PathsQuery(query, twin, position, turned["answer"], turned["rival"], receiver,
                       READS if turned["reads"] == "all" else (turned["reads"],), senders)
    result: Paths | None = asked_on_click(page, asked, words, "paths")
    if result is not None:
        _path_result(page, found, asked, result)


def _path_fields(page: PageContext, found: Mechanisms) -> None:
    """Draw the fields for the twin sentence, the two words, and the two ends of the path."""
    words, turned = Part(page, WORDS["paths"]), page.controls
    example = words["examples"].get(page.model, () if desk.vocabulary(page.model) else words["examples"]["other"])
    if example:   # a small model can read only its own
        st.button(words["example"], key="paths-example", type="tertiary", icon=":material/edit_note:",
                  on_click=page.set, kwargs=dict(zip(("text", "twin", "answer", "rival"), example, strict=True)))
    words.field("twin")
    heads = {number: head_label(*head) for number, head in enumerate(found.heads)}
    later = {number: name for number, name in heads.items() if found.heads[number][0] > found.heads[0][0]}
    with flex_row("bottom"):
        for name in ("answer", "rival"):
            words.field(name, width=130)
        for name, first, offered in (("sender", words["all"], heads), ("into", words["logits"], later)):
            select(words[name], {-1: first} | offered, page.set, name, turned[name])
        if turned["into"] >= 0:
            select(words["reads"], words["reads_names"], page.set, "reads", turned["reads"])


def _path_result(page: PageContext, found: Mechanisms, asked: PathsQuery, result: Paths) -> None:
    """Draw what the paths change (a sentence, the grid and a table), and the effect of ablating the strongest
    senders."""
    words, table = WORDS["paths"], result.frame()
    if not len(table):
        return
    way = result.twin - result.plain
    heads = [(int(row.layer), int(row.head)) for row in table.itertuples()]
    effect = table["effect"].iloc[0]
    prose(words("claim", plain=result.plain, twin=result.twin, head=heads[0], effect=effect,
                share=effect / way if way else math.nan))
    shown = table.assign(sender=[head_label(*head) for head in heads], share=100 * table["effect"] / way)
    left, right = split(11, 13)
    with left:
        _grid(page, dict(zip(heads, table["effect"].tolist(), strict=True)), words["grid"], "paths-grid")
    with right:
        data_table(shown, words["title"], words["columns"], key="paths-table",
                   formats={"effect": "%.3f", "share": "%.1f"})
    removed = page.ask(AblationQuery(asked.query, asked.twin, asked.position, asked.token, asked.rival,
                                     tuple(heads[:REMOVED])), height=0).frame().reset_index()
    removed["head"] = [head_label(*head) for head in heads[:REMOVED]]
    heading(words["ablate"])
    note(words["ablate_about"])
    data_table(removed, words["ablate"], words["ablate_columns"], key="paths-removed",
               formats=dict.fromkeys(WAYS, "%.3f"))


def _known(page: PageContext) -> None:
    """Draw the shipped measurements on the models with published circuits."""
    from pandas import DataFrame

    words = WORDS["known"]
    prose(f"##### {words['title']}\n\n{words['lead']}")
    measured = {model: known for model in known_circuits.MODELS if (known := _shipped(model)) is not None}
    rows = [_row(sources.title_of(model), finding) for model, known in measured.items()
            for finding in known.answer.findings]
    if not rows:
        st.caption(words["none"])
        return
    titles_of = list(words["columns"].values())
    with st.container(key="circuits-known"):
        st.markdown(markdown_table(f"| {' | '.join(titles_of[1:])} |", [
            (f"**{model}** · {says}", *others) for model, says, *others in rows]))
    last = max(measured.values(), key=lambda each: each.measured)
    offer_table("circuits-known-table", DataFrame(rows, columns=titles_of), words["title"])
    st.caption(words("measured", last=last))
    if page.model in measured:
        measured_line(KnownCircuitsQuery(page.model, page.revision), "known", "mechanisms")
    note(words["sources"])
    folded(words["code"], lambda: st.code(source_listing(
        (mechanisms.composed, mechanisms.Null, head_weights.head_weights, known_circuits.indirect_objects)),
        language="python"), key="circuits-code")


def _shipped(model: str) -> Shipped | None:
    """Return a model's shipped findings, or None if the model on this disk differs from the measured one. The model
    need not be on this disk."""
    asked = KnownCircuitsQuery(model, "")
    try:
        asked = replace(asked, revision=sources.revision(model))
    except UserError:
        return desk.shipped(asked)
    known = desk.shipped(asked)
    return None if known is None or known.stale else known


def _row(model: str, finding: Replication) -> tuple[str, ...]:
    words = WORDS["known"]
    ends = () if math.isnan(finding.low) else (finding.low, finding.high)
    interval = "\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}".join(map(format_number, ends))   # on one line
    heads = (" → " if finding.name in ("composition", "path") else ", ").join(head_label(*each)
                                                                             for each in finding.heads)
    return (model, words(finding.name, heads=heads), format_number(finding.value), interval,
            "" if math.isnan(finding.chance) else format_number(finding.chance),
            words["found" if finding.holds else "missing"])
