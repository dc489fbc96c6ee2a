"""What does attention cost? Counted, measured on this machine, computed in tiles; and the paper's table of layer
types."""
from dataclasses import replace

import numpy as np
import streamlit as st

from model.lessons import cost
from model.lessons import cost as tiles
from viz.components.handles import HandleSet, handles
from viz.components.sketch import Axes
from viz.figures.lines import Line, lines
from viz.figures.matrix import CellStyle, matrix
from viz.figures.paths import paths
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number, Numbers, Switch
from viz.pages.cost.measurement import LENGTHS, measured_section
from viz.widgets.control_widgets import button_setting, choice_for, slider_for
from viz.widgets.figure import figure
from viz.widgets.handout_button import picture_button
from viz.widgets.lesson import PLACES, QUESTIONS, Lesson, computing, draw_first, drawn_control, drawn_line

WIDTHS = (64, 128, 256, 512)             # d_model of the layer that is counted and measured
SCORES = Numbers("s", (1.0, 2.5, 0.0, -1.0, 3.0, 0.5, -2.0, 4.0, 1.5, 5.5, 0.0, 2.0), -8, 8, 12, 12)
TILES = (1, 2, 3, 4, 6, 12)
PRESETS = {"rising": tuple(np.linspace(-5, 6, 12).round(1)), "falling": tuple(np.linspace(6, -5, 12).round(1)),
           "equal": (1.0,) * 12}
CHECKED = (1024, 64)                     # tokens and tile of the comparison with the plain formula
RANGE = "\u2060–\u2060"                 # from … to …, never broken over two lines
N_S, D_S, K_S, R_S = (tuple(2**power for power in span)
                      for span in (range(4, 17), range(4, 13), range(1, 6), range(2, 13)))
SPAN = np.geomspace(2, 65_536, 64)       # lengths of the table's curves
GROWTH = (1.0, float((LENGTHS[-1] // LENGTHS[0]) ** 2))   # of the curve drawn by hand, in units of its beginning
DRAWN = drawn_control()
PATH = 8                                 # tokens of the pictures of paths
PATHS = ("convolution", "recurrent", "attention")
PAGE = Page("What it costs", "Learn", 11, "nothing", controls=(
    *QUESTIONS, Number("width", 512, min(WIDTHS), max(WIDTHS), whole=True), Switch("run"),
    Number("again", 0, 0, 99, whole=True),
    SCORES, Number("tile", 3, 1, 12, whole=True), Number("step", 2, 0, 12, whole=True),
    Number("n", 512, 2, 65_536, whole=True), Number("d", 512, 1, 4096, whole=True), Number("k", 4, 2, 64, whole=True),
    Number("r", 64, 1, 4096, whole=True), Choice("column", "complexity", cost.COLUMNS), DRAWN,
    Number("from", 2, 1, PATH, whole=True), Number("to", 7, 1, PATH, whole=True)))


def render(page: PageContext) -> None:
    """Draws the page."""
    lesson = Lesson(page, "cost")
    lesson.header()
    revealed = _held(page, lesson)
    _counted(page, lesson)
    measured_section(page, lesson, _width(page), revealed)
    lesson.fragment(_tiles)
    lesson.fragment(_paths)
    lesson.fragment(_types)
    lesson.end()


def _width(page: PageContext) -> int:
    return page.controls["width"] // cost.D_K * cost.D_K


def _held(page: PageContext, lesson: Lesson) -> bool:
    """The question, and beside it the curve that one draws; once it is answered, what each way holds. Whether it is
    answered."""
    words, names, width = lesson.prose["held"], lesson.prose["ways"], _width(page)
    with lesson.section("held"):
        left, right = st.columns(2, gap="medium")
        with left:
            slider_for(page, "width", words["width"], WIDTHS, say=lambda value: f"{value:g}")
            revealed = lesson.predict()
        if not revealed:
            with right:
                draw_first(page, DRAWN, _sketch_axes(words))
            return False
        lengths = np.array(LENGTHS, float)
        held = {way: np.asarray(cost.bytes_held(way, lengths, width)) for way in ("plain", "fused", "window")}
        drawn = [Line(names[way], numbers, colour) for colour, (way, numbers) in enumerate(held.items())]
        if len(page.controls["drawn"]) == PLACES:
            mine = drawn_line(page.controls["drawn"], lengths, GROWTH, "xy")
            drawn.append(replace(mine, y=mine.y * held["fused"][0]))
        grows = {way: float(numbers[-1] / numbers[-2]) for way, numbers in held.items()}
        with right:
            figure(lambda theme: lines(theme, lengths, drawn, axes=(words["axes"][0], words["axes"][1]), log="xy",
                                       height=340),
                   key="cost-held", alt=words["alt_held"].format(width=width, **grows))
        lesson.explanation("held", shown=(cost.bytes_held,), notices_in=right,
                           shapes={"d_model": width, "heads": width // cost.D_K},
                           half=LENGTHS[-2], longest=LENGTHS[-1], width=width, plain_gb=held["plain"][-1] / 1e9,
                           fused_gb=held["fused"][-1] / 1e9, n=CHECKED[0], side=CHECKED[1], all=CHECKED[0]**2,
                           tile=CHECKED[1]**2, **grows)
    return True


def _sketch_axes(words: dict) -> Axes:
    across = np.log(np.array(LENGTHS) / LENGTHS[0]) / np.log(LENGTHS[-1] / LENGTHS[0])
    up = np.log10(GROWTH[1])
    return Axes((words["sketch_axes"][0], words["sketch_axes"][1]),
                [(float(share), f"{n:,}") for share, n in zip(across, LENGTHS, strict=True)][::3],
                [(power / up, f"{10**power:,}") for power in range(0, 7, 2)], 380)


def _counted(page: PageContext, lesson: Lesson) -> None:
    width, words = _width(page), lesson.prose["counted"]
    names, even = lesson.prose["ways"], cost.balanced_length(width)
    lengths = np.array(LENGTHS, float)
    drawn = [Line(words["square"] if way == "plain" else names[way],
                  np.asarray(cost.multiplications(way, lengths, width)), colour)
             for way, colour in (("plain", 0), ("window", 2), ("linear", 3))]
    with lesson.section("counted"):
        figure(lambda theme: lines(theme, lengths, drawn, axes=("tokens n", "multiplications"), log="xy",
                                   marks=[(even, f"n = 6d = {even:,}")], height=340),
               key="cost-counted", alt=lesson.alt("counted", width=width, even=even))
        share = {name: cost.multiplications("plain", n, width)
                 / sum(cost.multiplications(way, n, width) for way in ("plain", "linear"))
                 for name, n in (("small", LENGTHS[0]), ("share", LENGTHS[-1]))}
        lesson.explanation("counted", shown=(cost.multiplications, cost.balanced_length), even=even,
                           shapes={"d_model": width, "heads": width // cost.D_K}, side=cost.WINDOW,
                           longest=LENGTHS[-1], paper=cost.balanced_length(512), bert=cost.balanced_length(768),
                           **share)


def _tiles(page: PageContext, lesson: Lesson) -> None:
    words, tile, scores = lesson.prose["tiles"], page.controls["tile"], np.array(page.controls["s"])
    keys = len(scores)
    taken = tiles.steps(scores, np.arange(keys, dtype=float)[:, None], tile)
    step = min(page.controls["step"], len(taken))
    seen = taken[step - 1].keys[1] if step else 0
    with lesson.section("tiles"):
        left, right = st.columns([5, 6], gap="medium")
        with left:
            bars = HandleSet([str(place) for place in range(keys)], words["scores"], words["scores"])
            picture_button(handles(SCORES, page.controls["s"], bars, faint=tuple(range(seen, keys)),
                                   key="tile-scores", turn=page.set))
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
            drawn = _so_far(scores, taken, step)
            rows = [*(words["after"].format(tile=number) for number in range(1, len(taken) + 1)), words["plain"]]
            figure(lambda theme: matrix(theme, np.vstack([drawn, plain]), rows, [str(place) for place in range(keys)],
                                        axes=("key", ""), height=120 + 30 * len(rows),
                                        style=CellStyle(square=False, ruler=False)),
                   key="cost-tiles", alt=lesson.alt("tiles", step=step, all=len(taken), seen=seen, keys=keys))
            st.markdown(_steps(words, taken, step))
        agreement, corrected = tiles.agreement(*CHECKED), sum(state.kept < 1 for state in taken[1:])
        row = float(plain @ np.arange(keys))
        lesson.explanation("tiles", shown=(tiles.steps, tiles.tiled_attention),
                           shapes={"scores": scores, "o": taken[-1].o},
                           corrected=corrected, later=len(taken) - 1,
                           off=f"{abs(row - float(taken[-1].answer[0])):.1g}", row=row, n=agreement.n, side=CHECKED[1],
                           tiled=agreement.tiled, fused=agreement.fused)


def _so_far(scores: np.ndarray, taken: list[tiles.Step], step: int) -> np.ndarray:
    """The weights after each tile that was read, as if the text ended there, (tile, key); NaN for what is not read
    yet."""
    weights = np.full((len(taken), len(scores)), np.nan)
    for row, state in zip(weights[:step], taken, strict=False):
        row[:state.keys[1]] = np.exp(scores[:state.keys[1]] - state.m) / state.l
    return weights


def _steps(words: dict, taken: list[tiles.Step], step: int) -> str:
    rows = [words["table_head"], "|---|---:|---:|---:|---:|"]
    for number, state in enumerate(taken[:step], 1):
        factor = f"{state.kept:.4g}" if number > 1 else "–"
        cells = [f"{state.keys[0]}{RANGE}{state.keys[1] - 1}", f"{state.m:.3g}", factor, f"{state.l:z.4f}",
                 f"{float(state.answer[0]):z.4f}"]
        rows.append("| " + " | ".join(f"**{cell}**" if number == step else cell for cell in cells) + " |")
    return "\n".join(rows)


def _paths(page: PageContext, lesson: Lesson) -> None:
    """The way between two tokens through each of three types of layer."""
    words, chosen = lesson.prose["paths"], (page.controls["from"], page.controls["to"])
    first, second = (place - 1 for place in chosen)
    with lesson.section("paths"):
        for column, name, label in zip(st.columns(2, gap="medium"), ("from", "to"), ("first", "second"), strict=True):
            with column:
                slider_for(page, name, words[label], range(1, PATH + 1))
        steps = {kind: cost.path_length(kind, first, second) for kind in PATHS}
        for column, kind in zip(st.columns(3, gap="medium"), PATHS, strict=True):
            name = words["names"][kind].format(k=cost.KERNEL)
            length = words["lengths"][kind].format(steps=steps[kind])
            joined = cost.units(kind, PATH, first, second)
            with column:
                st.markdown(f"**{name}**: {length}")
                figure(lambda theme, kind=kind, joined=joined: paths(
                    theme, PATH, joined, cost.path(kind, first, second), (first, second)),
                       key=f"cost-path-{kind}",
                       alt=lesson.alt("paths", name=name, first=chosen[0], second=chosen[1], n=PATH, length=length))
        says = words["says"]["same" if first == second else "apart"].format(apart=abs(second - first), **steps)
        lesson.explanation("paths", shown=(cost.path, cost.path_length), says=says)


def _types(page: PageContext, lesson: Lesson) -> None:
    words, column = lesson.prose["types"], page.controls["column"]
    n, d, k, r = (page.controls[name] for name in ("n", "d", "k", "r"))
    with lesson.section("types"):
        for place, (name, options) in zip(st.columns(4, gap="medium"),
                                          (("n", N_S), ("d", D_S), ("k", K_S), ("r", R_S)), strict=True):
            with place:
                slider_for(page, name, words[name], options, say=lambda value: f"{value:,}")
        choice_for(page, "column", words["column"], words["columns"])
        drawn = [Line(words["names"][kind],
                      np.broadcast_to(cost.table(kind, SPAN, d, k, r)[column], SPAN.shape), place, style)
                 for place, (kind, style) in enumerate(zip(cost.TYPES, ("solid", "dash", "dot", "solid"),
                                                           strict=True))]
        figure(lambda theme: lines(theme, SPAN, drawn, axes=("tokens n", words["columns"][column]), log="xy",
                                   marks=[(n, f"n = {n:,}")], height=360),
               key="cost-types", alt=lesson.alt("types", column=words["columns"][column], n=n, d=d, k=k, r=r))
        moved = {kind: cost.order_sensitivity(kind) for kind in cost.TYPES}
        st.markdown(_types_table(words, (n, d, k, r)))
        with st.expander(words["assumed"]):
            st.markdown(_assumed(words, moved))
            st.caption(words["shuffled"].format(tokens=cost.TOKENS, attention=moved["attention"]))
            st.button(words["shuffle"], key="see-positions", on_click=page.open_next, args=("positions",))
        lesson.explanation("types", shown=(cost.table, cost.run, cost.order_sensitivity),
                           shapes={"shuffled tokens": f"float64 ({cost.TOKENS}, {cost.WIDTH})"}, n=n, d=d,
                           cheapest=words["and"].join(words["names"][kind] for kind in
                                                      cost.cheapest(n, d, k, r)),
                           near=cost.NEAR, **moved)


def _types_table(words: dict, at: tuple[int, int, int, int]) -> str:
    rows = [words["table_head"], "|---|---:|---:|---:|"]
    for kind in cost.TYPES:
        numbers = cost.table(kind, *at)
        orders = zip(_orders(words["orders"], kind, at), cost.COLUMNS, strict=True)
        cells = [order if order == "1" else f"{order} = {numbers[column]:,.4g}" for order, column in orders]
        rows.append(f"| {words['names'][kind]} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _orders(words: dict, kind: str, at: tuple[int, int, int, int]) -> list[str]:
    """What one row's numbers are at these n, d, k, r: a neighbourhood as wide as the text is all of it."""
    n, _, k, r = at
    if kind == "restricted" and r >= n:
        return words["attention"]
    return [*words[kind][:2], "1"] if kind == "convolution" and k >= n else words[kind]


def _assumed(words: dict, moved: dict[str, float]) -> str:
    rows = [words["assumed_head"], "|---|---|---:|"]
    for kind, off in moved.items():
        rows.append(f"| {words['names'][kind]} | {words['assumes'][kind]} | {off:{'.2f' if off > 0.01 else '.0e'}} |")
    return "\n".join(rows)
