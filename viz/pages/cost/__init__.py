"""What does attention cost? Counted, measured on this machine, computed in tiles; and the paper's table of layer
types."""
import numpy as np
import streamlit as st

from model.lessons import cost, layer_types
from model.lessons import online_softmax as tiles
from viz.components.handles import HandleSet, handles
from viz.figures.lines import Line, lines
from viz.figures.matrix import CellStyle, matrix
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number, Numbers, Switch
from viz.pages.cost.measurement import LENGTHS, measured_section
from viz.widgets.control_widgets import button_setting, choice_for, slider_for
from viz.widgets.figure import figure
from viz.widgets.handout_button import picture_button
from viz.widgets.lesson import GUESS, Lesson, computing

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
PAGE = Page("What it costs", "Learn", 11, "nothing", controls=(
    GUESS, Number("width", 64, min(WIDTHS), max(WIDTHS), whole=True), Switch("run"),
    Number("again", 0, 0, 99, whole=True),
    SCORES, Number("tile", 3, 1, 12, whole=True), Number("step", 2, 0, 12, whole=True),
    Number("n", 512, 2, 65_536, whole=True), Number("d", 512, 1, 4096, whole=True), Number("k", 4, 2, 64, whole=True),
    Number("r", 64, 1, 4096, whole=True), Choice("column", "complexity", layer_types.COLUMNS)))


def render(page: PageContext) -> None:
    """Draws the page."""
    lesson = Lesson(page, "cost")
    lesson.header()
    revealed = lesson.predict()
    _counted(page, lesson, revealed)
    measured_section(page, lesson, _width(page), revealed)
    lesson.fragment(_tiles)
    lesson.fragment(_types)


def _width(page: PageContext) -> int:
    return page.controls["width"] // cost.D_K * cost.D_K


def _counted(page: PageContext, lesson: Lesson, revealed: bool) -> None:
    width = _width(page)
    names, even = lesson.prose["ways"], cost.balanced_length(width)
    lengths = np.array(LENGTHS, float)
    counted = lambda way: np.asarray(cost.multiplications(way, lengths, width))
    with lesson.section("counted"):
        slider_for(page, "width", lesson.prose["counted"]["width"], WIDTHS, say=lambda value: f"{value:g}")
        left, right = st.columns(2, gap="medium")
        drawn = [Line(lesson.prose["counted"]["square"], counted("plain"), 0),
                 Line(names["window"], counted("window"), 2), Line(names["linear"], counted("linear"), 3)]
        with left:
            figure(lambda theme: lines(theme, lengths, drawn, axes=("tokens n", "multiplications"), log="xy",
                                       marks=[(even, f"n = 6d = {even:,}")], height=380),
                   key="cost-counted", alt=lesson.alt("counted", width=width, even=even))
        with right:
            if revealed:
                held = [Line(names[way], np.asarray(cost.bytes_held(way, lengths, width)), colour)
                        for way, colour in (("plain", 0), ("fused", 1), ("window", 2))]
                figure(lambda theme: lines(theme, lengths, held, axes=("tokens n", "bytes held at once"), log="xy",
                                           height=380),
                       key="cost-held", alt=lesson.prose["counted"]["alt_held"].format(width=width))
            else:
                lesson.placeholder("held", height=380)
        share = {name: cost.multiplications("plain", n, width)
                 / sum(cost.multiplications(way, n, width) for way in ("plain", "linear"))
                 for name, n in (("small", LENGTHS[0]), ("share", LENGTHS[-1]))}
        lesson.explanation("counted", shown=(cost.multiplications, cost.balanced_length, cost.bytes_held),
                           shapes={"d_model": width, "heads": width // cost.D_K}, width=width, even=even,
                           side=cost.WINDOW, longest=LENGTHS[-1], paper=cost.balanced_length(512),
                           bert=cost.balanced_length(768), **share,
                           held=lesson.prose["counted"]["held" if revealed else "not_yet"])


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
                                   key="tile-scores", turn=page.set_controls))
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
        agreement = tiles.agreement(*CHECKED)
        row = float(plain @ np.arange(keys))
        lesson.explanation("tiles", shown=(tiles.steps, tiles.tiled_attention),
                           shapes={"scores": scores, "o": taken[-1].o}, keys=keys, tile=tile,
                           off=abs(row - float(taken[-1].answer[0])), row=row, n=agreement.n, side=CHECKED[1],
                           tiled=agreement.tiled, fused=agreement.fused, held_plain=agreement.held_plain,
                           held_tiled=agreement.held_tiled)


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
                      np.broadcast_to(layer_types.table(kind, SPAN, d, k, r)[column], SPAN.shape), place, style)
                 for place, (kind, style) in enumerate(zip(layer_types.TYPES, ("solid", "dash", "dot", "solid"),
                                                           strict=True))]
        figure(lambda theme: lines(theme, SPAN, drawn, axes=("tokens n", words["columns"][column]), log="xy",
                                   marks=[(n, f"n = {n:,}")], height=360),
               key="cost-types", alt=lesson.alt("types", column=words["columns"][column], n=n, d=d, k=k, r=r))
        moved = {kind: layer_types.order_sensitivity(kind) for kind in layer_types.TYPES}
        left, right = st.columns(2, gap="medium")
        left.markdown(_types_table(words, (n, d, k, r)))
        right.markdown(_assumed(words, moved))
        st.button(words["shuffle"], key="see-positions", on_click=page.open_next, args=("positions",))
        lesson.explanation("types", shown=(layer_types.table, layer_types.run, layer_types.order_sensitivity),
                           shapes={"shuffled tokens": f"float64 ({layer_types.TOKENS}, {layer_types.WIDTH})"}, n=n, d=d,
                           cheapest=words["names"][layer_types.cheapest(n, d, k, r)], tokens=layer_types.TOKENS,
                           near=layer_types.NEAR, **moved)


def _types_table(words: dict, at: tuple[int, int, int, int]) -> str:
    rows = [words["table_head"], "|---|---:|---:|---:|"]
    for kind in layer_types.TYPES:
        numbers = layer_types.table(kind, *at)
        orders = zip(_orders(words["orders"], kind, at), layer_types.COLUMNS, strict=True)
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
