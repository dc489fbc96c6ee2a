"""Two sections of *Pictures as sentences*: how a picture is cut, and what the table of places has learned."""
from collections.abc import Mapping

import numpy as np
import streamlit as st

from model.lessons import digit_patches
from model.lessons.digit_patches import COLUMNS, ROWS, SIDE
from viz.figures.matrix import CellStyle, matrix, tiles
from viz.format import format_signed
from viz.page import PageContext
from viz.widgets.control_widgets import slider_for
from viz.widgets.figure import figure
from viz.widgets.lesson import Lesson, computing

SIDES = tuple(side for side in range(1, SIDE * ROWS + 1) if SIDE * ROWS % side == 0 and SIDE * COLUMNS % side == 0)
PAPER = -0.75   # of a tile, so that the page shows between the patches


def gaps(pixels: np.ndarray, side: int) -> np.ndarray:
    """A picture (row, column), uint8, as a tile: −1 to 1, an empty line between its patches."""
    ink = PAPER + (1 - PAPER) * (255 - pixels.astype(float)) / 255
    places = [np.arange(side, length, side) for length in pixels.shape]
    whole = np.insert(np.insert(ink, places[0], np.nan, 0), places[1], np.nan, 1)
    return np.pad(whole, ((0, 0), (2, 2)), constant_values=np.nan)   # pictures beside each other stand apart


def cut_section(page: PageContext, lesson: Lesson) -> None:
    """The picture under patches of any size, and what the size decides."""
    words, side = lesson.prose["cut"], min(SIDES, key=lambda each: abs(each - page.controls["side"]))
    with lesson.section("cut"), computing():
        pixels, model = digit_patches.canvases()[page.controls["picture"]].pixels(), digit_patches.patch_network()
        counted = {each: digit_patches.numbers(len(pixels), pixels.shape[1], each, model.config.d_model)
                   for each in SIDES}
        now = counted[side]
        left, right = st.columns([2, 3], gap="medium")
        with left:
            slider_for(page, "side", words["side"], SIDES)
            figure(lambda theme: tiles(theme, [[(words["name"].format(patches=now["tokens"] - 1),
                                                 gaps(pixels, side))]], height=300),
                   key="patches-cut", alt=lesson.alt("cut", height=pixels.shape[0], width=pixels.shape[1], side=side,
                                                     patches=now["tokens"] - 1))
        with right:
            st.markdown(_table(words, counted, side))
        lesson.explanation("cut", shown=(digit_patches.cut, digit_patches.numbers), shapes={"picture": pixels},
                           side=side, blocks=digit_patches.blocks(),
                           halved=halved(words["halves"], counted, side), **now)


def _table(words: dict, counted: dict[int, dict[str, int]], side: int) -> str:
    rows = [words["table_head"], "|---:|---:|---:|---:|"]
    for each, found in counted.items():
        cells = [f"{number:,}" for number in (each, *(found[name] for name in ("tokens", "pixels", "weights")))]
        rows.append("| " + " | ".join(f"**{cell}**" if each == side else cell for cell in cells) + " |")
    return "\n".join(rows)


def _name(words: dict, place: int) -> str:
    row, column = divmod(place, COLUMNS)
    return str(words["at"].format(row=row, column=column))


def places_section(page: PageContext, lesson: Lesson) -> None:
    """How alike the learned vectors of two places are, as maps."""
    words, place = lesson.prose["places"], page.controls["place"]
    with lesson.section("places"), computing():
        cosines = digit_patches.place_similarity()
        best = most_alike(cosines, place)
        facts = {"place": _name(words, place), "best": _name(words, best),
                 "cosine": cosine(float(cosines[place, best]))}
        maps = cosines.reshape(-1, ROWS, COLUMNS)
        left, right = st.columns(2, gap="medium")
        with left:
            slider_for(page, "place", words["place"], range(ROWS * COLUMNS), say=lambda at: _name(words, at))
            figure(lambda theme: matrix(theme, maps[place], [str(row) for row in range(ROWS)],
                                        [str(column) for column in range(COLUMNS)],
                                        axes=(words["column"], words["row"]), height=360,
                                        style=CellStyle("signed", bound=1)),
                   key="patches-place", alt=lesson.alt("places", **facts))
        with right:
            figure(lambda theme: tiles(theme, [[(f"{row},{column}", maps[row * COLUMNS + column])
                                                for column in range(COLUMNS)] for row in range(ROWS)], height=420),
                   key="patches-places", alt=words["alt_all"].format(places=ROWS * COLUMNS))
        lesson.explanation("places", shown=(digit_patches.place_similarity,), shapes={"cosines": cosines},
                           **mean_cosines(cosines, neighbours(ROWS, COLUMNS)), **facts)


def halved(words: dict, counted: Mapping[int, Mapping[str, int]], side: int) -> str:
    """What half the side of a patch changes or, where a side has no half, twice the side. counted: by side in pixels,
    as of `digit_patches.numbers`."""
    case, other = ("half", side // 2) if side % 2 == 0 else ("twice", 2 * side)
    weights = sorted((counted[side]["weights"], counted[other]["weights"]))
    return words[case].format(other=other, factor=weights[1] / weights[0])


def neighbours(rows: int, columns: int) -> np.ndarray:
    """Which places lie side by side, or one above the other, bool (place, place)."""
    down, across = np.divmod(np.arange(rows * columns), columns)
    return np.abs(down[:, None] - down) + np.abs(across[:, None] - across) == 1


def mean_cosines(cosines: np.ndarray, near: np.ndarray) -> dict[str, str]:
    """The mean cosine of neighbours and of places further apart. cosines (place, place); near: of `neighbours`."""
    far = ~near & ~np.eye(len(near), dtype=bool)
    return {"near": cosine(float(cosines[near].mean())), "far": cosine(float(cosines[far].mean()))}


def cosine(value: float) -> str:
    """A cosine as the page prints it."""
    return format_signed(value, ".2f")


def most_alike(cosines: np.ndarray, place: int) -> int:
    """The other place whose vector is most like that of `place`."""
    others = cosines[place].copy()
    others[place] = -np.inf
    return int(others.argmax())
