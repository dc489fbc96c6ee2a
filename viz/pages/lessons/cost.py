"""A lesson on the cost of attention: counted, measured on this machine, and computed in tiles; and the paper's table of
layer types."""
from dataclasses import replace

import numpy as np
import streamlit as st

from clearhead.model.lessons import cost
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice, Number, Numbers, stepped
from clearhead.viz.components.handles import HandleSet, handles
from clearhead.viz.components.sketch import Axes
from clearhead.viz.figures.diagrams import paths
from clearhead.viz.figures.lines import Line, PowerSeries, lines, power_law
from clearhead.viz.figures.matrix import CellStyle, matrix
from clearhead.viz.style.format import markdown_table
from clearhead.viz.widgets.fields import nearest
from clearhead.viz.widgets.layout import split
from clearhead.viz.widgets.lesson import (
    DRAWN,
    QUESTIONS,
    Lesson,
    Section,
    controls_row,
    draw_first,
    drawn_lines,
    lesson_page,
    section,
)
from clearhead.viz.widgets.measured import measured_line

LENGTHS = cost.LENGTHS                   # numbers of tokens counted and measured, each double the previous
WIDTHS = (64, 128, 256, 512)             # values of d_model counted and measured
SCORES = Numbers("s", (1.0, 2.5, 0.0, -1.0, 3.0, 0.5, -2.0, 4.0, 1.5, 5.5, 0.0, 2.0), -8, 8, 12, 12)
PRESETS = {"rising": tuple(np.linspace(-5, 6, 12).round(1)), "falling": tuple(np.linspace(6, -5, 12).round(1)),
           "equal": (1.0,) * 12}
RANGE = "\u2060–\u2060"                 # prevents a line break in a range
SIZES = ("n", "d", "k", "r")             # sizes in the table of layer types, each with a slider
SPAN = np.geomspace(2, 65_536, 64)       # text lengths of the table's curves
GROWTH = (1.0, float((LENGTHS[-1] // LENGTHS[0]) ** 2))   # range of the hand-drawn curve, relative to its first value
PATH = 8                                 # tokens in the path diagrams
PATHS = ("convolution", "recurrent", "attention")


def powers(first: int, end: int) -> tuple[int, ...]:
    """Return the powers of two from 2^first to below 2^end."""
    return tuple(2**power for power in range(first, end))


PAGE = Page("nothing", controls=(
    *QUESTIONS, stepped("width", 512, WIDTHS),
    SCORES, stepped("tile", 3, (1, 2, 3, 4, 6, 12)), Number("step", 2, 0, 12, whole=True),
    Number("n", 512, 2, 65_536, True, powers(4, 17)), Number("d", 512, 1, 4096, True, powers(4, 13)),
    Number("k", 4, 2, 64, True, powers(1, 6)), Number("r", 64, 1, 4096, True, powers(2, 13)),
    Choice("column", "complexity", cost.COLUMNS), DRAWN,
    stepped("from", 2, range(1, PATH + 1)), stepped("to", 7, range(1, PATH + 1))))


@lesson_page
def render(page: PageContext, lesson: Lesson) -> None:
    """Draw the page."""
    width = nearest(WIDTHS, page["width"])
    _held(page, lesson, width)
    lesson.further(_counted, width)
    _measured(page, lesson, width)
    lesson.fragment(_tiles)
    lesson.further(_paths, opened_by=("from", "to"))
    lesson.further(_types, opened_by=("column", *SIZES))


@section
def _held(page: PageContext, words: Section, width: int) -> None:
    """Draw the question with a curve to draw by hand, then the memory of each method."""
    names, lengths = words.prose["ways"], np.array(LENGTHS, float)
    left, right = words.beside(1, 1)
    with left:
        words.slider("width", WIDTHS)
        revealed = words.predict()
    if not (revealed or page["drawn"]):
        with right:
            across, up = np.log(lengths / lengths[0]) / np.log(lengths[-1] / lengths[0]), np.log10(GROWTH[1])
            draw_first(page, Axes(
                tuple(words["sketch_axes"]), list(zip(across.tolist(), map("{:,}".format, LENGTHS)))[::3],
                [(power / up, f"{10**power:,}") for power in range(0, 7, 2)], 380))
        return
    held = {way: np.asarray(cost.bytes_held(way, lengths, width)) for way in ("plain", "fused", "window")}
    drawn = [Line(names[way], numbers, colour) for colour, (way, numbers) in enumerate(held.items())]
    drawn += [replace(mine, y=mine.y * held["fused"][0])
              for mine in drawn_lines(page["drawn"], lengths, GROWTH, "xy")]
    words.tell(width=width, half=LENGTHS[-2], longest=LENGTHS[-1],
               gigabytes={way: numbers[-1] / 1e9 for way, numbers in held.items()},
               growth={way: numbers[-1] / numbers[-2] for way, numbers in held.items()})
    with right:
        words.figure(lines, lengths, drawn, log="xy")
    words.explain(cost.bytes_held, notices_in=right)


@section
def _counted(page: PageContext, words: Section, width: int) -> None:
    """Draw one layer's multiplications over the text length."""
    names, even, lengths = words.prose["ways"], cost.balanced_length(width), np.array(LENGTHS, float)
    counts = {way: np.asarray(cost.multiplications(way, lengths, width)) for way in ("plain", "window", "linear")}
    shares = counts["plain"] / (counts["plain"] + counts["linear"])
    drawn = [Line(words["square"] if way == "plain" else names[way], count, colour)
             for (way, count), colour in zip(counts.items(), (0, 2, 3), strict=True)]
    words.tell(width=width, even=even, longest=LENGTHS[-1], small=shares[0], share=shares[-1], side=cost.WINDOW)
    words.figure(lines, lengths, drawn, log="xy", marks=[(even, f"n = 6d = {even:,}")])
    words.explain(cost.multiplications, cost.balanced_length)


@section
def _measured(page: PageContext, words: Section, width: int) -> None:
    """Draw the methods' measured costs: the shipped ones, or this machine's once asked for."""
    if words.hidden():
        return
    names, question = words.prose["ways"], cost.CostsQuery(width)
    measured_line(question, "cost", "cost")
    found = page.ask(question)
    even, lengths = cost.balanced_length(width), {way: np.array(list(known), float) for way, known in found.items()}
    numbers = {field: {way: np.array([getattr(each, field) for each in known.values()], float)
                       for way, known in found.items()} for field in ("seconds", "peak")}
    fits = {field: {way: cost.power(lengths[way], each) for way, each in ways.items()}
            for field, ways in numbers.items()}
    times = {way: {n: each.seconds for n, each in known.items()} for way, known in found.items()}
    n = max(set(times["plain"]) & set(times["fused"]))
    crossings = {way: cost.crossing(times[way], times["linear"]) for way in ("plain", "fused")}
    words.tell(even=even, n=n, faster=times["plain"][n] / times["fused"][n], fits=fits,
               megabytes={way: known[n].peak / 2**20 for way, known in found.items() if n in known}, fitted=cost.FITTED,
               equal={way: "–" if at is None else f"{at:,.0f}" for way, at in crossings.items()})
    for column, field in zip(split(), numbers, strict=True):
        drawn = [PowerSeries(names[way], lengths[way], each, colour, (*fits[field][way], lengths[way][-cost.FITTED]))
                 for colour, (way, each) in enumerate(numbers[field].items())]
        with column:
            words.figure(power_law, drawn, x_range=(50, 1.4 * max(map(max, lengths.values()))), kind=field,
                         marks=[(even, f"n = 6d = {even:,}")])
    words.explain(cost.plain, cost.fused, cost.window, cost.linear, cost.seconds_of, cost.peak_bytes, cost.power)


@section
def _tiles(page: PageContext, words: Section) -> None:
    """Draw one row's softmax, tile by tile."""
    scores = np.array(page["s"])
    keys = list(map(str, range(len(scores))))
    taken = cost.steps(scores, np.arange(len(keys), dtype=float)[:, None], page["tile"])
    step = min(page["step"], len(taken))
    seen = taken[step - 1].keys[1] if step else 0
    plain = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    row = plain @ np.arange(len(keys))
    left, right = split(5, 6)
    with left:
        handles(SCORES, page["s"], HandleSet(keys, words["scores"], words["scores"]),
                faint=tuple(range(seen, len(keys))), key="tile-scores", turn=page.set)
        words.presets("s", PRESETS)
        words.slider("tile")
        with controls_row():
            with st.container():
                words.slider("step", range(len(taken) + 1), say=lambda value: f"{value:g} / {len(taken)}")
            words.button("next", step=(step + 1) % (len(taken) + 1))
    tiled, by_torch = cost.agreement()
    words.tell(tiled=tiled, fused=by_torch, step=step, all=len(taken), seen=seen, keys=len(keys), row=row,
               later=len(taken) - 1, corrected=sum(state.kept < 1 for state in taken[1:]),
               off=f"{abs(row - taken[-1].answer[0]):.1g}")
    with right:
        rows = [*(words("after", tile=number) for number in range(1, len(taken) + 1)), words["plain"]]
        words.figure(matrix, np.vstack([weights_so_far(scores, taken, step), plain]), rows, keys,
                     height=120 + 30 * len(rows), style=CellStyle(square=False, ruler=False))
        table = [[f"{state.keys[0]}{RANGE}{state.keys[1] - 1}", f"{state.m:.3g}", f"{state.kept:.4g}",
                  f"{state.l:z.4f}", f"{state.answer[0]:z.4f}"] for state in taken[:step]]
        if table:
            table[-1] = [f"**{cell}**" for cell in table[-1]]
        words.table(table)
    words.explain(cost.steps, cost.agreement)


def weights_so_far(scores: np.ndarray, taken: list[cost.TileStep], step: int) -> np.ndarray:
    """Return the weights after each tile, as if the text ended there, (tile, key); NaN for keys not yet read."""
    weights = np.full((len(taken), len(scores)), np.nan)
    for row, state in zip(weights[:step], taken, strict=False):
        row[:state.keys[1]] = np.exp(scores[:state.keys[1]] - state.m) / state.l
    return weights


@section
def _paths(page: PageContext, words: Section) -> None:
    """Draw the path between two tokens through each of three types of layer."""
    chosen = page["from"], page["to"]
    first, second = (place - 1 for place in chosen)
    steps = {kind: cost.path_length(kind, first, second) for kind in PATHS}
    for column, name in zip(split(), ("from", "to"), strict=True):
        with column:
            words.slider(name)
    words.tell(first=chosen[0], second=chosen[1], n=PATH, apart=abs(second - first), **steps)
    for column, kind in zip(split(1, 1, 1), PATHS, strict=True):
        name, length = words["names"](kind, k=cost.KERNEL), words["lengths"](kind, steps=steps[kind])
        words.tell(name=name, length=length)
        with column:
            st.markdown(f"**{name}**: {length}")
            words.figure(paths, PATH, cost.units(kind, PATH, first, second), cost.path(kind, first, second),
                         (first, second), key=f"cost-path-{kind}")
    words.explain(cost.path, cost.path_length)


@section
def _types(page: PageContext, words: Section) -> None:
    """Draw the paper's table 1 for the chosen n, d, k and r, one of its columns as a figure, and each type's
    assumptions."""
    at = {name: page[name] for name in SIZES}
    n, d, k, r = at.values()
    names = words["names"]
    for place, name in zip(split(1, 1, 1, 1), SIZES, strict=True):
        with place:
            words.slider(name, say="{:,}".format)
    column = words.choice("column", "columns")
    words.tell(column=words["columns"][column], cheapest=", ".join(map(names.get, cost.cheapest(n, d, k, r))), **at)
    drawn = [Line(names[kind], np.broadcast_to(cost.table(kind, SPAN, d, k, r)[column], SPAN.shape), place, style)
             for place, (kind, style) in enumerate(zip(cost.TYPES, ("solid", "dash", "dot", "solid"), strict=True))]
    words.figure(lines, SPAN, drawn, axes=("tokens n", words["columns"][column]), log="xy",
                 marks=[(n, f"n = {n:,}")], height=360)
    words.table([
        [names[kind], *(order if order == "1" else f"{order} = {number:,.4g}" for order, number in
                        zip(words["orders"][kind], cost.table(kind, n, d, k, r).values(), strict=True))]
        for kind in cost.TYPES])
    with st.expander(words["assumed"]):
        moved = {kind: cost.order_sensitivity(kind) for kind in cost.TYPES}
        st.markdown(markdown_table(words["assumed_head"], [
            [names[kind], words["assumes"][kind], f"{off:{'.2f' if off > 0.01 else '.0e'}}"]
            for kind, off in moved.items()]).replace("---:", "---", 1))
        st.caption(words("shuffled", tokens=cost.TOKENS, near=cost.NEAR))
        st.button(words["shuffle"], key="see-positions", on_click=page.open_next, args=("positions",))
    words.explain(cost.table, cost.order_sensitivity)
