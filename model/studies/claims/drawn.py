"""Pictures in which the figure is known to the pixel: a simple drawing before a piece of a shipped photograph, from
assets/cases/drawn_figures.toml."""
import functools
import io
import tomllib
from dataclasses import dataclass
from typing import Any

import numpy as np

from model.core import pictures
from model.core.assets import ASSETS

FILE = ASSETS / "cases" / "drawn_figures.toml"
SIDE, MARGIN = 224, 16   # pixels: DINOv2 gets the inner square of a picture of 256 as it is, and nothing round it
FINER = 4                # edges are drawn so many times as fine, and made smooth


@dataclass(frozen=True, eq=False)
class Drawn:
    """One such picture."""

    sha256: str          # of its file, by which the pictures that are held know it
    inner: np.ndarray    # what a model gets that reads the inner square, uint8 (SIDE, SIDE, 3)
    figure: np.ndarray   # which of these pixels are the figure's, bool (SIDE, SIDE)

    def mask(self, rows: int, columns: int) -> np.ndarray:
        """Which patches have their middle in the figure, bool (row, column)."""
        y, x = ((np.arange(count) + 0.5) * SIDE / count for count in (rows, columns))
        return self.figure[np.ix_(y.astype(int), x.astype(int))]


def drawn() -> tuple[Drawn, ...]:
    """Every drawn picture, held in this process so that a model can be asked about it."""
    return tuple(_held(name, encoded, inner, figure) for name, (encoded, inner, figure) in _rendered().items())


def _held(name: str, encoded: bytes, inner: np.ndarray, figure: np.ndarray) -> Drawn:
    return Drawn(pictures.keep(encoded, f"{name}.png").sha256, inner, figure)


@functools.cache
def _rendered() -> dict[str, tuple[bytes, np.ndarray, np.ndarray]]:
    """{name: (file, inner square, figure)}."""
    return {name: _render(**entry) for name, entry in tomllib.loads(FILE.read_text(encoding="utf-8")).items()}


def _render(ground: list[Any], place: list[float], parts: list[Any]) -> tuple[bytes, np.ndarray, np.ndarray]:
    from PIL import Image, ImageDraw

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
    target, inner = io.BytesIO(), slice(MARGIN, MARGIN + SIDE)
    piece.save(target, "PNG")
    return target.getvalue(), np.asarray(piece)[inner, inner], np.asarray(small)[inner, inner] >= 128
