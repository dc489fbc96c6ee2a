"""Heads of a picture model that look at the figure, and heads that look at what is round it (Caron et al. 2021).

assets/cases/figures.csv has a rough outline of the figure in each shipped photograph that has one, as x and y in shares
of the square that the model gets, by hand and before anything was measured. As they are few, drawings join them whose
figure is known to the pixel (drawn.py). """
import csv
import functools
import io
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from model.core import heads, pictures
from model.core.files import ASSETS
from model.core.measures import head_ids
from model.core.models import Models, NamesModel
from model.core.query import Query, UserError
from model.core.record import AttentionMap
from model.core.statistics import LEVEL, SEED, mean_intervals
from model.core.types import HeadId, Progress, quiet
from model.studies.claims.claim import Finding, Measurement, Picture, finding
from model.studies.claims.measured import held_out
from model.studies.claims.rule import LUCKY_DRAWS

DRAWINGS = ASSETS / "cases" / "drawn_figures.toml"
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
    return {name: _render(**entry) for name, entry in tomllib.loads(DRAWINGS.read_text(encoding="utf-8")).items()}


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


FILE = ASSETS / "cases" / "figures.csv"
ROUNDING = 2   # steps of 255


@functools.cache
def shipped() -> dict[str, np.ndarray]:
    """{key of a shipped picture: the outline of its figure, float64 (corner, 2)}."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return {row["picture"]: np.array(row["outline"].split(), float).reshape(-1, 2) for row in csv.DictReader(file)}


def with_figures() -> Iterator[tuple[str, Callable[[int, int], np.ndarray], np.ndarray | None]]:
    """(sha256, the patches of its figure for so many rows and columns, what the model has to get) of every picture, the
    photographs first; of these the last is None."""
    for picture in pictures.shipped():
        if picture.key in shipped():
            yield picture.sha256, functools.partial(inside, shipped()[picture.key]), None
    for one in drawn():
        yield one.sha256, one.mask, one.inner


def _equal(picture: np.ndarray | None, expected: np.ndarray) -> bool:
    """Whether two pictures are the same, but for the rounding of a normalisation."""
    return (picture is not None and picture.shape == expected.shape
            and bool((np.abs(picture.astype(int) - expected) <= ROUNDING).all()))


def figure_and_ground(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """By how much more of [CLS]'s attention than its share of the area the figure gets from the best head, and the
    ground from the best other one; each chosen on the other half of the pictures. Luck moves the outline about."""
    opened, looks, masks = models.open(asked, report), [], []
    known = list(with_figures())
    for number, (sha256, mask, expected) in enumerate(known):
        report(number / len(known), f"picture {number + 1} of {len(known)}")
        record = opened.record(Query(asked.model, asked.revision, "", image=sha256), quiet)
        attention_map = record.maps[0]
        grid = attention_map.keys.grid
        if grid is None or not attention_map.keys.special[0]:
            raise UserError("This model has no token for the whole picture over a grid of patches; choose DINOv2.")
        if expected is not None and not _equal(record.picture, expected):
            raise UserError("This model gets another part of a picture than the one that the figures are known in; "
                            "choose DINOv2.")
        looks.append(patch_shares(attention_map))
        masks.append(mask(*grid))
    ids, lucky = head_ids(attention_map), moved(looks, masks)
    values = np.array([look[:, mask].sum(-1) - mask.mean() for look, mask in zip(looks, masks, strict=True)])
    found = (_finding("figure", values, lucky, ids), _finding("ground", -values, -lucky, ids))
    return Measurement(found, Picture("heads", asked.model, head=found[0].heads[0], image=known[0][0]))


def _finding(name: str, values: np.ndarray, lucky: np.ndarray, ids: tuple[HeadId, ...]) -> Finding:
    scored, chosen = held_out(values)
    found = finding(name, mean_intervals(scored[:, None])[0], 0.0, "pictures", "share")
    return replace(found, best=float(values.mean(0).max()), luck=float(np.quantile(lucky.max(1), LEVEL)),
                   heads=tuple(ids[number] for number in chosen))


def patch_shares(attention_map: AttentionMap) -> np.ndarray:
    """How the first token's attention to patches is shared among them, float64 (head, row, column)."""
    patches, grid = list(attention_map.keys.patches), attention_map.keys.grid
    rows = np.stack([heads.weights(layer, head, slice(0, 1))[0, patches] for layer in attention_map.layers
                     for head in range(layer.heads)]).astype(np.float64)
    return (rows / rows.sum(-1, keepdims=True)).reshape(len(rows), *(grid or ()))


def inside(outline: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Which patches have their middle inside an outline (corner, 2) of x and y: bool (row, column)."""
    y, x = np.meshgrid((np.arange(rows) + 0.5) / rows, (np.arange(columns) + 0.5) / columns, indexing="ij")
    found = np.zeros((rows, columns), bool)
    for (x0, y0), (x1, y1) in zip(outline, np.roll(outline, -1, axis=0), strict=True):
        if y0 != y1:   # each side that a line to the right crosses changes whether the middle is inside
            found ^= ((y0 > y) != (y1 > y)) & (x < (x1 - x0) * (y - y0) / (y1 - y0) + x0)
    return found


def moved(looks: list[np.ndarray], masks: list[np.ndarray]) -> np.ndarray:
    """What each head gives to outlines that are moved to a random place, in the mean over pictures and less their area:
    float64 (draw, head)."""
    rng, drawn = np.random.default_rng(SEED), []
    for _ in range(LUCKY_DRAWS):
        rolled = [np.roll(mask, rng.integers(0, mask.shape), axis=(0, 1)) for mask in masks]
        drawn.append(np.mean([look[:, mask].sum(-1) - mask.mean()
                              for look, mask in zip(looks, rolled, strict=True)], axis=0))
    return np.array(drawn)
