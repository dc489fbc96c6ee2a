"""What is printed instead of a canvas: the pictures of viz/print as SVG, made small.

matplotlib writes every corner of every cell. A rectangle is said with four numbers, and two decimals of a point are a
hundredth of a hair; that is a third of the bytes, and what the page may weigh depends on it. """
import re
from dataclasses import replace

import numpy as np

from viz.handout import thumbnails
from viz.handout.item import Item
from viz.handout.patches import SavedPicture, caption, picture_of
from viz.handout.pictures import SavedHead, grid_of, head_of
from viz.print import lines, matrix, picture, strip
from viz.print.layout import PicturePlan
from viz.print.page import bare_picture
from viz.print.sheet import pen, save
from viz.text import strings

TAG, NUMBER = re.compile(r"<[^>]*>"), re.compile(r"\d+\.\d{3,}")
N = r"(-?[\d.]+)"
CELL = re.compile(rf"M {N} {N} \nL {N} \2 \nL \3 {N} \nL \1 \4 \nL \1 \2 \nz\n")
HEADER = re.compile(r"^.*?(?=<svg)|<metadata>.*?</metadata>|<!--.*?-->", re.DOTALL)


def svg(item: Item) -> str:
    """A head's or a grid's picture for paper, all of it shapes; "" for what prints as it is, as it is drawn in shapes
    already."""
    if item.kind == "head_grid":
        return thumbnails.svg(grid_of(item.body, item.state))
    if item.kind == "picture_view":
        with pen():
            return smaller(save(bare_picture(_picture_plan(picture_of(item.body, item.state))), "svg",
                                metadata={"Date": None}).decode())
    if item.kind != "head_view":
        return ""
    head = head_of(item.body, item.state)
    if head.view.lens == "text" and (head.view.token is None or head.covered):
        return ""
    with pen():
        return smaller(save(bare_picture(_plan(head)), "svg", metadata={"Date": None}).decode())


def _plan(head: SavedHead) -> PicturePlan:
    """The picture in its lens; a difference is a matrix in any."""
    pictures, view = list(head.pictures), head.view
    if head.covered:
        pictures = [replace(picture, weights=np.zeros_like(picture.weights)) for picture in pictures]
    if head.bound is not None or view.lens == "matrix":
        return matrix.plan_of(pictures, view, False, head.bound, shapes=True)
    # curves however many there are: an image is what a vector file takes instead of them
    return lines.plan_of(pictures, view, True) if view.lens == "lines" else strip.plan_of(pictures, view, False)


def _picture_plan(saved: SavedPicture) -> PicturePlan:
    """The picture with its colours as an image, which is what a photograph is on paper, too."""
    values, shown = saved.values, saved.shown
    names = strings("components")["picture"]["legends"] | {"signed": "{what}"}   # of which plan_of says more itself
    what = names.get(values.kind, "{what}").format(what=values.what)
    return picture.plan_of(saved.patches.picture, saved.patches.boxes, values.shares, focus=shown.focus,
                           hidden=shown.hidden, orientation=caption(saved), notes=(),
                           colours=picture.Colours(tuple(values.ticks), what, values.kind == "signed"))


def smaller(drawing: str) -> str:
    """The same drawing in fewer bytes; what is written in it keeps its digits."""
    drawing = TAG.sub(lambda tag: NUMBER.sub(_short, tag[0]), HEADER.sub("", drawing))
    drawing = CELL.sub(_rectangle, drawing)
    return re.sub(r"\n\s*", " ", re.sub(r">\s+<", "><", re.sub(r"\n([MLCz])", r"\1", drawing)))


def _short(number: re.Match) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _rectangle(cell: re.Match) -> str:
    """A cell by its corner, its width and its height, which are short numbers."""
    left, top, right, bottom = map(float, cell.groups())
    wide, high = (f"{size:.2f}".rstrip("0").rstrip(".") for size in (right - left, bottom - top))
    return f"M{cell[1]} {cell[2]}h{wide}v{high}h-{wide}z"
