"""Draw the pictures for the claim on figure and ground: `python -m tools.drawn_figures`.

Writes assets/cases/figures: every drawing of drawn_figures.toml, NAME.png, and its figure and those that figures.csv
outlines in shipped photographs, NAME-figure.png, white where a pixel of the square that the model reads belongs to the
figure.
"""
import csv
import io
import tomllib
from collections.abc import Iterator

import numpy as np
from matplotlib.path import Path as Outline
from PIL import Image, ImageDraw

from clearhead.model.core import files, pictures
from clearhead.model.core.files import ASSETS
from clearhead.model.studies.claims.measured import FIGURES, MARGIN, SIDE

CASES = ASSETS / "cases"
FINER = 4   # supersampling factor for smooth edges


def drawn(ground: tuple[str, int, int, int], place: tuple[float, float, float],
          parts: list[tuple[str, str, list[float]]]) -> tuple[Image.Image, np.ndarray]:
    """Return a drawing in front of a piece of a photograph, and which pixels of its inner square belong to the figure,
    bool (SIDE, SIDE)."""
    key, left, top, side = ground
    photograph = next(picture for picture in pictures.shipped() if picture.key == key)
    whole, fine = SIDE + 2 * MARGIN, (SIDE + 2 * MARGIN) * FINER
    with Image.open(photograph.path) as image:
        piece = image.convert("RGB").crop((left, top, left + side, top + side))
    piece = piece.resize((whole, whole), Image.Resampling.BICUBIC)
    colours, covered = Image.new("RGB", (fine, fine)), Image.new("L", (fine, fine))
    x, y, size = place
    for form, colour, numbers in parts:
        points = [((start + size * number) * SIDE + MARGIN) * FINER
                  for start, number in zip([x, y] * len(numbers), numbers, strict=False)]
        for canvas, fill in ((colours, colour), (covered, 255)):
            getattr(ImageDraw.Draw(canvas), form)(points, fill=fill)
    small = covered.resize((whole, whole), Image.Resampling.BOX)
    piece.paste(colours.resize((whole, whole), Image.Resampling.BOX), mask=small)
    return piece, np.asarray(small)[MARGIN:-MARGIN, MARGIN:-MARGIN] >= 128


def outlined(outline: str) -> np.ndarray:
    """Return which pixels are inside an outline, bool (SIDE, SIDE). outline: x and y of each corner in shares of the
    square."""
    corners = np.array(outline.split(), float).reshape(-1, 2)
    y, x = np.indices((SIDE, SIDE)) / SIDE   # the pixel at a patch's centre ends there
    return Outline(corners).contains_points(np.stack([x.ravel(), y.ravel()], 1)).reshape(SIDE, SIDE)


def figures() -> Iterator[tuple[str, Image.Image]]:
    """Yield the name and the content of every file."""
    for name, entry in tomllib.loads((CASES / "drawn_figures.toml").read_text(encoding="utf-8")).items():
        piece, figure = drawn(**entry)
        yield name, piece
        yield f"{name}-figure", Image.fromarray(figure)
    with (CASES / "figures.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield f"{row['picture']}-figure", Image.fromarray(outlined(row["outline"]))


def write() -> None:
    """Write all files."""
    files.make_folder(FIGURES)
    for name, image in figures():
        target = io.BytesIO()
        image.save(target, "PNG", optimize=True)
        files.write(FIGURES / f"{name}.png", target.getvalue())


if __name__ == "__main__":
    write()
