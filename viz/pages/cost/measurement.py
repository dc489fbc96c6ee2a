"""The section of *What it costs* that measures: time and memory of each way, length by length, on this machine."""
from dataclasses import dataclass

import numpy as np
import streamlit as st

from model.ask import sources
from model.core.query import UserError
from model.lessons import cost
from viz.figures.drawing import FigureSpec
from viz.figures.power_law import PowerSeries, power_law
from viz.page import PageContext
from viz.widgets.control_widgets import button_setting, toggle_for
from viz.widgets.figure import figure, page_theme, unfinished_figure
from viz.widgets.lesson import Lesson

# tokens that are counted and measured
LENGTHS = tuple(cost.START * 2**power for power in range(1 + (cost.END // cost.START).bit_length() - 1))


@dataclass(frozen=True, eq=False)
class Measured:
    """What is measured so far."""

    found: dict[str, dict[int, cost.Cost]]   # the answers by way and length
    ended: dict[str, str]                    # why each way ended

    def series(self, way: str, field: str) -> tuple[np.ndarray, np.ndarray]:
        """(lengths, numbers) of seconds or peak."""
        numbers = [getattr(each, field) for each in self.found[way].values()]
        return np.array(list(self.found[way]), float), np.array(numbers, float)

    def fit(self, way: str, field: str) -> tuple[float, float, float] | None:
        """(exponent, factor, from which length on) of the power that fits its end; None while there are too few."""
        lengths, numbers = self.series(way, field)
        return (*cost.power(lengths, numbers), lengths[-cost.FITTED]) if len(lengths) > cost.FITTED else None


def measured_section(page: PageContext, lesson: Lesson, width: int, revealed: bool) -> None:
    """What the ways cost on this machine, measured length by length while the switch is on."""
    words = lesson.prose["measured"]
    with lesson.section("measured"):
        if not revealed:
            lesson.placeholder("measured", height=120)
            return
        with st.container(horizontal=True, vertical_alignment="center"):
            toggle_for(page, "run", words["run"])
            button_setting(page, words["again"], "measure-again", again=(page.controls["again"] + 1) % 100, run=True)
            if page.controls["run"]:
                button_setting(page, words["stop"], "measure-stop", run=False)
        measured = Measured({way: {} for way in cost.WAYS}, {})
        place = st.empty()
        with st.container():
            for n in LENGTHS:
                added, new = _measure(page, measured, n, width)
                if new:
                    unfinished_figure(place, _drawn(lesson, measured, "seconds", width, page_theme()), key=f"live-{n}")
                if not added:
                    break
        if not measured.found["plain"]:
            place.container(border=True, height=120, horizontal_alignment="center",
                            vertical_alignment="center").caption(words["nothing"])
            return
        with place.container():
            left, right = st.columns(2, gap="medium")
        for column, field in ((left, "seconds"), (right, "peak")):
            with column:
                figure(lambda theme, field=field: _drawn(lesson, measured, field, width, theme), key=f"cost-{field}",
                       alt=words[f"alt_{field}"].format(longest=max(measured.found["plain"]), width=width))
        st.markdown(_table(lesson, measured))
        ends = {lesson.prose["ways"][way]: words["ends"][measured.ended.get(way, "length")] for way in cost.WAYS
                if measured.found[way]}
        st.caption(words["why"].format(ends="; ".join(f"{name}: {why}" for name, why in ends.items())))
        _say(lesson, measured, width)


def _measure(page: PageContext, measured: Measured, n: int, width: int) -> tuple[int, int]:
    """Adds every way that is still to be measured at n tokens. Without the switch, only what is known already.

    Gives how many it added, and how many of these were measured only now.
    """
    added = new = 0
    for way in cost.WAYS:
        if way in measured.ended:
            continue
        reason = cost.stop_reason(way, n, width, measured.found[way].get(n // 2))
        question = cost.CostQuery(way, n, width, page.controls["again"])
        answer = sources.cached(question)
        if reason is None and answer is None and page.controls["run"]:
            try:
                answer = page.ask(question, height=0)
                new += 1
            except UserError:   # others have taken the memory since
                reason = "memory"
        if reason is not None or answer is None:
            measured.ended[way] = reason or "stopped"
            continue
        measured.found[way][n] = answer
        added += 1
    return added, new


def _drawn(lesson: Lesson, measured: Measured, field: str, width: int, theme: str) -> FigureSpec:
    names, words, even = lesson.prose["ways"], lesson.prose["measured"], cost.balanced_length(width)
    drawn = [PowerSeries(names[way], *measured.series(way, field), colour, measured.fit(way, field))
             for colour, way in enumerate(cost.WAYS) if measured.found[way]]
    return power_law(theme, drawn, axes=("tokens n", words[field]),
                     x_range=(50, 1.4 * max(max(series.x) for series in drawn)), marks=[(even, f"n = 6d = {even:,}")])


def _grows(measured: Measured, way: str, field: str) -> str:
    fit = measured.fit(way, field)
    return "–" if fit is None else f"n^{fit[0]:z.2f}"


def _table(lesson: Lesson, measured: Measured) -> str:
    rows = [lesson.prose["measured"]["table_head"], "|---|---:|---:|---:|"]
    for way in cost.WAYS:
        if measured.found[way]:
            n, last = list(measured.found[way].items())[-1]
            rows.append(f"| {lesson.prose['ways'][way]} | {n:,} "
                        f"| {last.seconds:.2g} s, {_grows(measured, way, 'seconds')} | "
                        f"{last.peak / 2**20:z,.1f} MB, {_grows(measured, way, 'peak')} |")
    return "\n".join(rows)


def _say(lesson: Lesson, measured: Measured, width: int) -> None:
    words, machine = lesson.prose["measured"], cost.machine()
    times = {way: {n: answer.seconds for n, answer in measured.found[way].items()} for way in cost.WAYS}
    crossings = {way: cost.crossing(times[way], times["linear"]) for way in ("plain", "fused")}
    sentences = {way: words["no_crossing"] if at is None else words["crossing"].format(at=at)
                 for way, at in crossings.items()}
    shared = max(set(times["plain"]) & set(times["fused"]))
    both = [measured.found[way][shared] for way in ("plain", "fused")]
    lesson.explanation("measured",
                       shown=(cost.plain, cost.fused, cost.window, cost.linear, cost.seconds_of, cost.peak_bytes,
                              cost.power),
                       shapes={"query, key, value": f"float32 ({width // cost.D_K}, n, {cost.D_K})",
                               "tokens": f"float32 (n, {width})"},
                       even=cost.balanced_length(width), plain=sentences["plain"], fused=sentences["fused"], n=shared,
                       faster=both[0].seconds / both[1].seconds, plain_mb=both[0].peak / 2**20,
                       fused_mb=both[1].peak / 2**20,
                       tiles=cost.FLOAT * cost.BLOCK / 2**20, fitted=cost.FITTED, side=cost.WINDOW,
                       limit=cost.bytes_allowed() / 2**20, longest=cost.LONGEST,
                       clock=words["clocks"][cost.clock().__name__], **machine,
                       **{f"{field}_{way}": _grows(measured, way, field) for field in ("seconds", "peak")
                                            for way in cost.WAYS})
