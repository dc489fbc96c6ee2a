"""What is printed instead of a canvas: the pictures of viz/export as SVG, made small.

matplotlib writes every corner of every cell. A rectangle is said with four numbers, and two decimals of a point are a hundredth of a hair; that
is a third of the bytes, and what the page may weigh depends on it.
"""
import functools
import re

from viz.export.draw import lines, matrix, strip
from viz.export.draw.page import bare
from viz.export.draw.sheet import pen, save
from viz.handout.item import Item
from viz.handout.pictures import head_of

PLANS = {"matrix": matrix.plan_of, "lines": lines.plan_of, "text": strip.plan_of}
NUMBER = re.compile(r"\d+\.\d{3,}")
N = r"(-?[\d.]+)"
CELL = re.compile(rf"M {N} {N} \nL {N} \2 \nL \3 {N} \nL \1 \4 \nL \1 \2 \nz\n")
HEADER = re.compile(r"^.*?(?=<svg)|<metadata>.*?</metadata>|<!--.*?-->", re.DOTALL)


def svg(item: Item) -> str:
    """The open head's picture for paper; "" for what prints as it is. A chart is drawn in vectors already, thumbnails are pixels everywhere."""
    if item.kind != "head_view":
        return ""
    head = head_of(item.body, item.state)
    if head.view.lens == "text" and head.view.token is None:
        return ""
    plan_of = PLANS[head.view.lens] if head.bound is None else functools.partial(matrix.plan_of, bound=head.bound)
    with pen():
        drawn = bare(plan_of(list(head.pictures), head.view, False))
        return smaller(save(drawn, "svg", metadata={"Date": None}).decode())


def smaller(drawing: str) -> str:
    """The same drawing in fewer bytes."""
    drawing = NUMBER.sub(lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), HEADER.sub("", drawing))
    drawing = CELL.sub(lambda cell: f"M{cell[1]} {cell[2]}H{cell[3]}V{cell[4]}H{cell[1]}z", drawing)
    return re.sub(r"\n\s*", " ", re.sub(r">\s+<", "><", re.sub(r"\n([MLCz])", r"\1", drawing)))
