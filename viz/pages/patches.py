"""A lesson on Vision Transformers: a puzzle of patches that the model cannot solve without positions, how pictures are
split, what position embeddings learn, and the cost of having no built-in knowledge of pictures."""
from contextlib import closing

import numpy as np
import streamlit as st

from model.core.statistics import cosines
from model.lessons import digit_patches
from model.lessons.digit_patches import COLUMNS, COUNTS, KINDS, PICTURES, ROWS, SIDE, DigitRun, DigitRunQuery
from viz.figures.bars import bars
from viz.figures.lines import Line, lines
from viz.figures.matrix import CellStyle, matrix, tiles
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number, Switch
from viz.widgets.fields import button_setting, choice_for, slider_for
from viz.widgets.figure import figure
from viz.widgets.lesson import QUESTIONS, Lesson, computing

PATCHES, DRAWS = ROWS * COLUMNS, 100
DIGITS = tuple(map(str, range(10)))
SIDES = tuple(side for side in range(1, SIDE * ROWS + 1) if SIDE * ROWS % side == 0 and SIDE * COLUMNS % side == 0)
PAPER = -0.75   # value of the gaps between patches
TESTED = 250    # number of held-out digits (model/scratch/canvas.py)
SMOOTH = 10     # steps averaged per point of a loss curve
PAGE = Page("nothing", controls=(
    *QUESTIONS, Number("picture", 0, 0, PICTURES - 1, whole=True), Number("moved", PATCHES, 0, PATCHES, whole=True),
    Number("draw", 0, 0, DRAWS - 1, whole=True), Number("side", SIDE, 1, SIDE * min(ROWS, COLUMNS), whole=True),
    Number("place", COLUMNS + 1, 0, PATCHES - 1, whole=True),
    Choice("count", str(COUNTS[0]), tuple(map(str, COUNTS))), Switch("run"),
    Number("seed", 1, 1, digit_patches.SEEDS, whole=True)))


def render(page: PageContext) -> None:
    """Draw the page."""
    lesson = Lesson(page, "patches")
    lesson.header()
    lesson.fragment(_shuffle)
    if lesson.open():
        lesson.fragment(_cut)
        lesson.fragment(_places)
        lesson.fragment(_data)
    lesson.end()


def _shuffle(page: PageContext, lesson: Lesson) -> None:
    """Draw a picture and its shuffled copy, and the model's answers to both."""
    from scipy.special import softmax

    turned, names = page.controls, lesson.prose["widgets"]
    with lesson.section("shuffle") as words, computing():
        straight = digit_patches.canvases()[turned["picture"]].pixels()
        order = digit_patches.swapped(PATCHES, turned["moved"], turned["draw"])
        shuffled = digit_patches.laid(digit_patches.cut(straight, SIDE)[order], COLUMNS)
        left, right = st.columns([6, 5], gap="medium")
        with left:
            figure(tiles, [[(words["straight"], gaps(straight, SIDE)), (words["shuffled"], gaps(shuffled, SIDE))]],
                   height=205, key="patches-puzzle",
                   alt=lesson.alt("shuffle", patches=PATCHES, moved=int((order != np.arange(PATCHES)).sum())))
            with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
                with st.container(width=260):
                    slider_for(page, "moved", names["moved"], range(PATCHES + 1))
                button_setting(page, names["again"], "shuffle-again", draw=(turned["draw"] + 1) % DRAWS)
                button_setting(page, names["other"], "other-picture", picture=(turned["picture"] + 1) % PICTURES)
        with right:
            revealed = lesson.predict()
        if not revealed:
            lesson.covered("shuffle")
            return
        for column, name in zip(left.columns(2, gap="small"), ("unplaced", "placed"), strict=True):
            logits = [digit_patches.read(pixels, name == "placed").astype(float) for pixels in (straight, shuffled)]
            if name == "unplaced":
                without, difference = int(logits[0].argmax()), np.abs(logits[0] - logits[1]).max()
            one, other = (softmax(each) for each in logits)
            says = {"first": int(one.argmax()), "second": int(other.argmax()), "p_first": one.max(),
                    "p_second": other.max()}
            with column:
                figure(bars, DIGITS, {words["straight"]: one, words["shuffled"]: other},
                       axes=(words["digit"], words["probability"]), y_range=(0, 1), height=220, title=words[name],
                       key=f"patches-{name}", alt=words["alt_bars"].format(name=words[name], **says))
        lesson.explanation("shuffle", shown=(digit_patches.swapped, digit_patches.read), notices_in=right,
                           shapes={"picture": straight, "order": order}, difference=difference, without=without,
                           **says)


def gaps(pixels: np.ndarray, side: int) -> np.ndarray:
    """Return a picture, uint8 (row, column), scaled to −1…1 with gaps between patches."""
    ink = PAPER + (1 - PAPER) * (255 - pixels.astype(float)) / 255
    for axis, length in enumerate(pixels.shape):
        ink = np.insert(ink, np.arange(side, length, side), np.nan, axis)
    return np.pad(ink, ((0, 0), (2, 2)), constant_values=np.nan)   # gaps between adjacent pictures


def _cut(page: PageContext, lesson: Lesson) -> None:
    """Draw the picture with patches of a chosen size, and the quantities that depend on it."""
    side = min(SIDES, key=lambda each: abs(each - page.controls["side"]))
    with lesson.section("cut") as words, computing():
        pixels, model = digit_patches.canvases()[page.controls["picture"]].pixels(), digit_patches.patch_network()
        height, width = pixels.shape
        counted = {each: digit_patches.numbers(height, width, each, model.config.d_model) for each in SIDES}
        patches = counted[side]["tokens"] - 1
        left, right = st.columns([2, 3], gap="medium")
        with left:
            slider_for(page, "side", words["side"], SIDES)
            figure(tiles, [[(words["name"].format(patches=patches), gaps(pixels, side))]], height=300,
                   key="patches-cut", alt=lesson.alt("cut", height=height, width=width, side=side, patches=patches))
        with right:
            rows = [words["table_head"], "|---:|---:|---:|---:|"]
            for each, found in counted.items():
                mark = "**" if each == side else ""
                rows.append("| " + " | ".join(f"{mark}{number:,}{mark}" for number in (
                    each, found["tokens"], found["pixels"], found["weights"])) + " |")
            st.markdown("\n".join(rows))
        lesson.explanation("cut", shown=(digit_patches.cut, digit_patches.numbers), shapes={"picture": pixels},
                           side=side, blocks=digit_patches.blocks(), **counted[side])


def _places(page: PageContext, lesson: Lesson) -> None:
    """Draw the pairwise similarity of the learned position vectors as maps."""
    place = page.controls["place"]
    with lesson.section("places") as words, computing():
        table = digit_patches.place_vectors()
        similar = cosines(table, table)
        best = int(np.argmax(np.where(np.arange(PATCHES) == place, -np.inf, similar[place])))
        name, other = (words["at"].format(row=each // COLUMNS, column=each % COLUMNS) for each in (place, best))
        maps = similar.reshape(-1, ROWS, COLUMNS)
        left, right = st.columns(2, gap="medium")
        with left:
            slider_for(page, "place", words["place"], range(PATCHES),
                       say=lambda at: words["at"].format(row=at // COLUMNS, column=at % COLUMNS))
            figure(matrix, maps[place], [str(row) for row in range(ROWS)], [str(column) for column in range(COLUMNS)],
                   axes=(words["column"], words["row"]), height=360, style=CellStyle("signed", bound=1),
                   key="patches-place", alt=lesson.alt("places", place=name, best=other, cosine=similar[place, best]))
        with right:
            figure(tiles,
                   [[(f"{row},{column}",
                      maps[row * COLUMNS + column]) for column in range(COLUMNS)] for row in range(ROWS)], height=420,
                   key="patches-places", alt=words["alt_all"].format(places=PATCHES))
        near, far = mean_cosines(similar)
        lesson.explanation("places", shown=(digit_patches.place_vectors, cosines), shapes={"cosines": similar},
                           place=name, best=other, cosine=similar[place, best], near=near, far=far)


def mean_cosines(similar: np.ndarray) -> tuple[float, float]:
    """Return the mean cosine of adjacent positions, and of positions farther apart."""
    down, across = np.divmod(np.arange(PATCHES), COLUMNS)
    steps = np.abs(down[:, None] - down) + np.abs(across[:, None] - across)
    return float(similar[steps == 1].mean()), float(similar[steps > 1].mean())


def _data(page: PageContext, lesson: Lesson) -> None:
    """Draw a convolutional network and a Vision Transformer being trained side by side."""
    turned, count = page.controls, int(page.controls["count"])
    with lesson.section("data") as words:
        choice_for(page, "count", words["count"], {str(each): f"{each:,}" for each in COUNTS})
        with st.container(width=260):
            slider_for(page, "seed", words["seed"], range(1, digit_patches.SEEDS + 1))
        button_setting(page, words["stop" if turned["run"] else "go"], "train-both", run=not turned["run"])
        if not turned["run"]:
            st.caption(words["idle"])
            return
        runs: dict[str, DigitRun] = {}
        place = st.empty()
        with closing(page.ask_each([DigitRunQuery(kind, count, turned["seed"]) for kind in KINDS],
                                   height=300)) as answers:
            for kind, run in zip(KINDS, answers, strict=True):
                runs[kind] = run
                with place.container():
                    _curves(lesson, runs, count)
        lesson.explanation("data", shown=(digit_patches.network, digit_patches.run), shapes={"right": run.right},
                           count=count, tested=TESTED,
                           learned=runs["transformer"].learned, known=runs["convolution"].learned,
                           **{kind: float(run.right[-1]) for kind, run in runs.items()},
                           **{f"parameters_{kind}": run.parameters for kind, run in runs.items()})


def _curves(lesson: Lesson, runs: dict[str, DigitRun], count: int) -> None:
    """Draw both networks' accuracy on held-out digits and their losses over the steps."""
    words, step = lesson.prose["data"], f"-{len(runs)}" if len(runs) < len(KINDS) else ""
    ends = ", ".join(words["alt_end"].format(name=words["names"][kind], right=run.right[-1])
                     for kind, run in runs.items())
    right = [Line(words["names"][kind], run.right, KINDS.index(kind)) for kind, run in runs.items()]
    loss = [Line(words["names"][kind], np.convolve(run.loss, np.ones(SMOOTH) / SMOOTH, "valid"), KINDS.index(kind))
            for kind, run in runs.items()]
    tested = next(iter(runs.values())).tested.astype(int)
    left, other = st.columns(2, gap="medium")
    with left:
        figure(lines, tested, right, axes=(words["step"], words["right"]), y_range=(0, 1), height=300,
               key=f"patches-right{step}", alt=lesson.alt("data", tested=TESTED, count=count, ends=ends))
    with other:
        figure(lines, np.arange(SMOOTH, digit_patches.STEPS + 1), loss, axes=(words["step"], words["loss"]), height=300,
               key=f"patches-loss{step}", alt=words["alt_loss"].format(names=", ".join(line.name for line in loss)))
