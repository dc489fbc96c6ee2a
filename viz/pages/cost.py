"""A lesson on the cost of attention: counted, measured on this machine, and computed in tiles; and the paper's table of
layer types."""
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from model.ask import sources
from model.core.query import UserError
from model.lessons import cost
from viz.components.handles import HandleSet, handles
from viz.components.sketch import Axes
from viz.figures.diagrams import paths
from viz.figures.drawing import FigureSpec
from viz.figures.lines import Line, PowerSeries, lines, power_law
from viz.figures.matrix import CellStyle, matrix
from viz.format import markdown_table
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number, Numbers, Switch
from viz.widgets.fields import button_setting, choice_for, slider_for, toggle_for
from viz.widgets.figure import figure, page_theme, unfinished_figure
from viz.widgets.handout_button import picture_button
from viz.widgets.lesson import QUESTIONS, Lesson, computing, draw_first, drawn_control, drawn_lines
from viz.widgets.measured import is_shipped, measured_line

LENGTHS = cost.LENGTHS                   # numbers of tokens counted and measured, each double the previous
WIDTHS = (64, 128, 256, 512)             # values of d_model counted and measured
SCORES = Numbers("s", (1.0, 2.5, 0.0, -1.0, 3.0, 0.5, -2.0, 4.0, 1.5, 5.5, 0.0, 2.0), -8, 8, 12, 12)
TILES = (1, 2, 3, 4, 6, 12)
PRESETS = {"rising": tuple(np.linspace(-5, 6, 12).round(1)), "falling": tuple(np.linspace(6, -5, 12).round(1)),
           "equal": (1.0,) * 12}
CHECKED = (1024, 64)                     # tokens and tile size for the comparison with the plain formula
RANGE = "\u2060–\u2060"                 # prevents a line break in a range
# sizes in the table of layer types, each with a slider
SIZES = {"n": tuple(2**power for power in range(4, 17)), "d": tuple(2**power for power in range(4, 13)),
         "k": tuple(2**power for power in range(1, 6)), "r": tuple(2**power for power in range(2, 13))}
SPAN = np.geomspace(2, 65_536, 64)       # text lengths of the table's curves
GROWTH = (1.0, float((LENGTHS[-1] // LENGTHS[0]) ** 2))   # range of the hand-drawn curve, relative to its first value
DRAWN = drawn_control()
PATH = 8                                 # tokens in the path diagrams
PATHS = ("convolution", "recurrent", "attention")
PAGE = Page("nothing", controls=(
    *QUESTIONS, Number("width", 512, min(WIDTHS), max(WIDTHS), whole=True), Switch("run"),
    Number("again", 0, 0, 99, whole=True),
    SCORES, Number("tile", 3, 1, 12, whole=True), Number("step", 2, 0, 12, whole=True),
    Number("n", 512, 2, 65_536, whole=True), Number("d", 512, 1, 4096, whole=True), Number("k", 4, 2, 64, whole=True),
    Number("r", 64, 1, 4096, whole=True), Choice("column", "complexity", cost.COLUMNS), DRAWN,
    Number("from", 2, 1, PATH, whole=True), Number("to", 7, 1, PATH, whole=True)))
Found = dict[str, dict[int, cost.Cost]]   # {method: {length: result}}


def render(page: PageContext) -> None:
    """Draw the page."""
    lesson = Lesson(page, "cost")
    lesson.header()
    width = page.controls["width"] // cost.D_K * cost.D_K
    revealed = _held(page, lesson, width)
    lesson.further("counted", lambda: _counted(lesson, width))
    with lesson.section("measured"):
        if revealed:
            _measured(page, lesson, width)
        else:
            lesson.covered("measured")
    lesson.fragment(_tiles)
    lesson.further("paths", lambda: lesson.fragment(_paths), ("from", "to"))
    lesson.further("types", lambda: lesson.fragment(_types), ("column", *SIZES))
    lesson.end()


def _held(page: PageContext, lesson: Lesson, width: int) -> bool:
    """Draw the question with a curve to draw by hand, then the memory of each method. Return whether the memory is
    shown."""
    names, lengths = lesson.prose["ways"], np.array(LENGTHS, float)
    with lesson.section("held") as words:
        left, right = st.columns(2, gap="medium")
        with left:
            slider_for(page, "width", words["width"], WIDTHS)
            revealed = lesson.predict()
        if not (revealed or page.controls["drawn"]):
            with right:
                across, up = np.log(lengths / lengths[0]) / np.log(lengths[-1] / lengths[0]), np.log10(GROWTH[1])
                draw_first(page, DRAWN, Axes(
                    tuple(words["sketch_axes"]), list(zip(across.tolist(), map("{:,}".format, LENGTHS)))[::3],
                    [(power / up, f"{10**power:,}") for power in range(0, 7, 2)], 380))
            return False
        held = {way: np.asarray(cost.bytes_held(way, lengths, width)) for way in ("plain", "fused", "window")}
        drawn = [Line(names[way], numbers, colour) for colour, (way, numbers) in enumerate(held.items())]
        drawn += [replace(mine, y=mine.y * held["fused"][0])
                  for mine in drawn_lines(page.controls["drawn"], lengths, GROWTH, "xy")]
        facts = {"width": width} | {way: float(numbers[-1] / numbers[-2]) for way, numbers in held.items()}
        with right:
            figure(lines, lengths, drawn, axes=tuple(words["axes"]), log="xy", height=340,
                   key="cost-held", alt=words["alt_held"].format(**facts))
        lesson.explanation("held", shown=(cost.bytes_held,), notices_in=right,
                           shapes={"d_model": width, "heads": width // cost.D_K}, half=LENGTHS[-2], longest=LENGTHS[-1],
                           plain_gb=held["plain"][-1] / 1e9, fused_gb=held["fused"][-1] / 1e9, n=CHECKED[0],
                           side=CHECKED[1], all=CHECKED[0]**2, tile=CHECKED[1]**2, **facts)
    return True


def _counted(lesson: Lesson, width: int) -> None:
    """Draw one layer's multiplications over the text length."""
    names, even, lengths = lesson.prose["ways"], cost.balanced_length(width), np.array(LENGTHS, float)
    with lesson.section("counted") as words:
        drawn = [Line(words["square"] if way == "plain" else names[way],
                      np.asarray(cost.multiplications(way, lengths, width)), colour)
                 for way, colour in (("plain", 0), ("window", 2), ("linear", 3))]
        figure(lines, lengths, drawn, axes=("tokens n", "multiplications"), log="xy",
               marks=[(even, f"n = 6d = {even:,}")], height=340,
               key="cost-counted", alt=lesson.alt("counted", width=width, even=even))
        plain, linear = (np.asarray(cost.multiplications(way, lengths, width)) for way in ("plain", "linear"))
        shares = plain / (plain + linear)
        lesson.explanation("counted", shown=(cost.multiplications, cost.balanced_length), even=even,
                           shapes={"d_model": width, "heads": width // cost.D_K}, side=cost.WINDOW,
                           longest=LENGTHS[-1], paper=cost.balanced_length(512), bert=cost.balanced_length(768),
                           small=shares[0], share=shares[-1])


def _measured(page: PageContext, lesson: Lesson, width: int) -> None:
    """Draw the methods' measured costs: the shipped ones, or this machine's, measured at each length while the switch
    is on."""
    words, names, question = lesson.prose["measured"], lesson.prose["ways"], cost.CostsQuery(width)
    kept = None if page.controls["run"] or not is_shipped(question) else sources.shipped(question)
    found: Found = {way: {} for way in cost.WAYS} if kept is None else kept.answer
    ended, place = dict[str, str](), st.empty()
    if kept is not None:
        measured_line(question, "cost", "cost", again=lambda: page.set(run=True))
    else:
        with st.container(horizontal=True, vertical_alignment="center"):
            toggle_for(page, "run", words["run"])
            button_setting(page, words["again"], "measure-again", again=(page.controls["again"] + 1) % 100, run=True)
            if page.controls["run"]:
                button_setting(page, words["stop"], "measure-stop", run=False)
        with st.container():
            for n in LENGTHS:
                if _measure(page, found, ended, n, width):
                    unfinished_figure(place, _drawn(lesson, found, "seconds", width, page_theme()), key=f"live-{n}")
    if not found["plain"]:
        place.container(border=True, height=120, horizontal_alignment="center",
                        vertical_alignment="center").caption(words["nothing"])
        return
    with place.container():
        columns = st.columns(2, gap="medium")
    for column, field in zip(columns, ("seconds", "peak"), strict=True):
        with column:
            figure(lambda theme, field=field: _drawn(lesson, found, field, width, theme), key=f"cost-{field}",
                   alt=words[f"alt_{field}"].format(longest=max(found["plain"]), width=width))
    there = {way: (max(found[way]), found[way][max(found[way])]) for way in cost.WAYS if found[way]}
    grows = {f"{field}_{way}": _grows(found, way, field) for field in ("seconds", "peak") for way in cost.WAYS}
    st.markdown(markdown_table(words["table_head"], [
        [names[way], f"{n:,}", f"{last.seconds:.2g} s, {grows[f'seconds_{way}']}",
         f"{last.peak / 2**20:z,.1f} MB, {grows[f'peak_{way}']}"] for way, (n, last) in there.items()]))
    if kept is None:
        st.caption(words["why"].format(ends="; ".join(f"{names[way]}: {words['ends'][ended.get(way, 'length')]}"
                                                      for way in there)))
    times = {way: {n: answer.seconds for n, answer in found[way].items()} for way in cost.WAYS}
    crossings = {way: cost.crossing(times[way], times["linear"]) for way in ("plain", "fused")}
    n = max(set(times["plain"]) & set(times["fused"]))
    plain, fused = found["plain"][n], found["fused"][n]
    lesson.explanation("measured", shown=(cost.plain, cost.fused, cost.window, cost.linear, cost.seconds_of,
                                          cost.peak_bytes, cost.power),
                       shapes={"query, key, value": f"float32 ({width // cost.D_K}, n, {cost.D_K})",
                               "tokens": f"float32 (n, {width})"},
                       even=cost.balanced_length(width), n=n, faster=plain.seconds / fused.seconds,
                       plain_mb=plain.peak / 2**20, fused_mb=fused.peak / 2**20, fitted=cost.FITTED, side=cost.WINDOW,
                       tiles=cost.FLOAT * cost.BLOCK / 2**20, limit=cost.bytes_allowed() / 2**20, longest=cost.LONGEST,
                       clock=cost.clock().__name__ if kept is None else "thread_time",
                       machine=cost.machine() if kept is None else kept.machine, **grows,
                       **{way: "–" if at is None else f"{at:,.0f}" for way, at in crossings.items()})


def _measure(page: PageContext, found: Found, ended: dict[str, str], n: int, width: int) -> bool:
    """Measure every method that is still missing at n tokens. With the switch off, only use cached results. Return
    whether anything was measured."""
    new = False
    for way in cost.WAYS:
        if way in ended:
            continue
        question = cost.CostQuery(way, n, width, page.controls["again"])
        reason, answer = cost.stop_reason(way, n, width, found[way].get(n // 2)), sources.cached(question)
        if reason is None and answer is None and page.controls["run"]:
            try:
                answer, new = page.ask(question, height=0), True
            except UserError:   # other processes have used up the memory meanwhile
                reason = "memory"
        if reason is not None or answer is None:
            ended[way] = reason or "stopped"
        else:
            found[way][n] = answer
    return new


def _series(found: Found, way: str, field: str) -> tuple[np.ndarray, np.ndarray]:
    """Return (lengths, numbers) of a field, such as seconds or peak memory."""
    return (np.array(list(found[way]), float),
            np.array([getattr(each, field) for each in found[way].values()], float))


def _fit(found: Found, way: str, field: str) -> tuple[float, float, float] | None:
    """Return (exponent, factor, start) of the power law fitted to the longest lengths; None if there are too few."""
    lengths, numbers = _series(found, way, field)
    return (*cost.power(lengths, numbers), lengths[-cost.FITTED]) if len(lengths) > cost.FITTED else None


def _grows(found: Found, way: str, field: str) -> str:
    fit = _fit(found, way, field)
    return "–" if fit is None else f"n^{fit[0]:z.2f}"


def _drawn(lesson: Lesson, found: Found, field: str, width: int, theme: str) -> FigureSpec:
    names, even = lesson.prose["ways"], cost.balanced_length(width)
    drawn = [PowerSeries(names[way], *_series(found, way, field), colour, _fit(found, way, field))
             for colour, way in enumerate(cost.WAYS) if found[way]]
    return power_law(theme, drawn, axes=("tokens n", lesson.prose["measured"][field]),
                     x_range=(50, 1.4 * max(max(series.x) for series in drawn)), marks=[(even, f"n = 6d = {even:,}")])


def _tiles(page: PageContext, lesson: Lesson) -> None:
    """Draw one row's softmax, tile by tile."""
    tile, scores = page.controls["tile"], np.array(page.controls["s"])
    keys = list(map(str, range(len(scores))))
    taken = cost.steps(scores, np.arange(len(keys), dtype=float)[:, None], tile)
    step = min(page.controls["step"], len(taken))
    seen = taken[step - 1].keys[1] if step else 0
    with lesson.section("tiles") as words:
        left, right = st.columns([5, 6], gap="medium")
        with left:
            picture_button(handles(SCORES, page.controls["s"], HandleSet(keys, words["scores"], words["scores"]),
                                   faint=tuple(range(seen, len(keys))), key="tile-scores", turn=page.set))
            with st.container(horizontal=True, gap="small"):
                for name, values in PRESETS.items():
                    button_setting(page, words["presets"][name], f"scores-{name}", s=values)
            slider_for(page, "tile", words["tile"], TILES)
            with st.container(horizontal=True, vertical_alignment="bottom"):
                with st.container():
                    slider_for(page, "step", words["step"], range(len(taken) + 1),
                               say=lambda value: f"{value:g} / {len(taken)}", closed=True)
                button_setting(page, words["next"], "next-tile", step=(step + 1) % (len(taken) + 1))
        with right, computing():
            plain = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
            rows = [*(words["after"].format(tile=number) for number in range(1, len(taken) + 1)), words["plain"]]
            figure(matrix, np.vstack([weights_so_far(scores, taken, step), plain]), rows, keys,
                   axes=("key", ""), height=120 + 30 * len(rows),
                   style=CellStyle(square=False, ruler=False),
                   key="cost-tiles", alt=lesson.alt("tiles", step=step, all=len(taken), seen=seen, keys=len(keys)))
            table = [[f"{state.keys[0]}{RANGE}{state.keys[1] - 1}", f"{state.m:.3g}", f"{state.kept:.4g}",
                      f"{state.l:z.4f}", f"{float(state.answer[0]):z.4f}"] for state in taken[:step]]
            if table:
                table[-1] = [f"**{cell}**" for cell in table[-1]]
            st.markdown(markdown_table(words["table_head"], table))
            tiled, fused = cost.agreement(*CHECKED)
        row = float(plain @ np.arange(len(keys)))
        lesson.explanation("tiles", shown=(cost.steps, cost.tiled_attention),
                           shapes={"scores": scores, "o": taken[-1].o}, later=len(taken) - 1,
                           corrected=sum(state.kept < 1 for state in taken[1:]), row=row, n=CHECKED[0],
                           off=f"{abs(row - float(taken[-1].answer[0])):.1g}", side=CHECKED[1], tiled=tiled,
                           fused=fused)


def weights_so_far(scores: np.ndarray, taken: list[cost.Step], step: int) -> np.ndarray:
    """Return the weights after each tile, as if the text ended there, (tile, key); NaN for keys not yet read."""
    weights = np.full((len(taken), len(scores)), np.nan)
    for row, state in zip(weights[:step], taken, strict=False):
        row[:state.keys[1]] = np.exp(scores[:state.keys[1]] - state.m) / state.l
    return weights


def _paths(page: PageContext, lesson: Lesson) -> None:
    """Draw the path between two tokens through each of three types of layer."""
    chosen = page.controls["from"], page.controls["to"]
    first, second = (place - 1 for place in chosen)
    steps: dict[str, Any] = {kind: cost.path_length(kind, first, second) for kind in PATHS}
    with lesson.section("paths") as words:
        for column, name, label in zip(st.columns(2, gap="medium"), ("from", "to"), ("first", "second"), strict=True):
            with column:
                slider_for(page, name, words[label], range(1, PATH + 1))
        for column, kind in zip(st.columns(3, gap="medium"), PATHS, strict=True):
            name, length = words["names"][kind].format(k=cost.KERNEL), words["lengths"][kind].format(steps=steps[kind])
            with column:
                st.markdown(f"**{name}**: {length}")
                figure(paths, PATH, cost.units(kind, PATH, first, second),
                       cost.path(kind, first, second), (first, second),
                       key=f"cost-path-{kind}",
                       alt=lesson.alt("paths", name=name, first=chosen[0], second=chosen[1], n=PATH, length=length))
        lesson.explanation("paths", shown=(cost.path, cost.path_length), apart=abs(second - first), **steps)


def _types(page: PageContext, lesson: Lesson) -> None:
    """Draw the paper's table 1 for the chosen n, d, k and r, one of its columns as a figure, and each type's
    assumptions."""
    column, at = page.controls["column"], {name: page.controls[name] for name in SIZES}
    n, d, k, r = at.values()
    moved = {kind: cost.order_sensitivity(kind) for kind in cost.TYPES}
    with lesson.section("types") as words:
        names = words["names"]
        for place, (name, options) in zip(st.columns(4, gap="medium"), SIZES.items(), strict=True):
            with place:
                slider_for(page, name, words[name], options, say=lambda value: f"{value:,}")
        choice_for(page, "column", words["column"], words["columns"])
        drawn = [Line(names[kind], np.broadcast_to(cost.table(kind, SPAN, d, k, r)[column], SPAN.shape), place, style)
                 for place, (kind, style) in enumerate(zip(cost.TYPES, ("solid", "dash", "dot", "solid"), strict=True))]
        figure(lines, SPAN, drawn, axes=("tokens n", words["columns"][column]), log="xy",
               marks=[(n, f"n = {n:,}")], height=360,
               key="cost-types", alt=lesson.alt("types", column=words["columns"][column], **at))
        st.markdown(markdown_table(words["table_head"], [
            [names[kind], *(order if order == "1" else f"{order} = {number:,.4g}" for order, number in
                            zip(words["orders"][kind], cost.table(kind, *at.values()).values(), strict=True))]
            for kind in cost.TYPES]))
        with st.expander(words["assumed"]):
            st.markdown(markdown_table(words["assumed_head"], [
                [names[kind], words["assumes"][kind], f"{off:{'.2f' if off > 0.01 else '.0e'}}"]
                for kind, off in moved.items()]))
            st.caption(words["shuffled"].format(tokens=cost.TOKENS, attention=moved["attention"]))
            st.button(words["shuffle"], key="see-positions", on_click=page.open_next, args=("positions",))
        lesson.explanation("types", shown=(cost.table, cost.run, cost.order_sensitivity),
                           shapes={"shuffled tokens": f"float64 ({cost.TOKENS}, {cost.WIDTH})"}, n=n, d=d,
                           cheapest=", ".join(names[kind] for kind in cost.cheapest(n, d, k, r)),
                           near=cost.NEAR, **moved)
