"""Our model that reads pictures: a canvas, or whatever else was made into one by its processor."""
from dataclasses import replace
from typing import Any

import numpy as np

from model.core import pictures
from model.core.query import Query, UserError
from model.core.record import AttentionRecord, Omission
from model.core.tokens import patch_tokens
from model.core.types import Progress
from model.scratch.models import ScratchModel
from model.scratch.pictures.canvas import COLUMNS, ROWS
from model.scratch.pictures.digits import SIDE
from model.scratch.reader import Sides
from model.scratch.tasks.marked_digit import ink

SIZE = (COLUMNS * SIDE, ROWS * SIDE)   # of a canvas: width, height in pixels
RESIZED = ("The picture was made grey and brought to {width} × {height} pixels; the model expects a canvas of that "
           "size, dark digits on white paper with a dot under one of them, and what it says of any other picture means "
           "nothing.")


def processed(pixels: np.ndarray) -> np.ndarray:
    """What the model gets of a picture (height, width, RGB): its largest middle part of a canvas's shape, grey, resized
    by the mean of what falls into a pixel; uint8 (row, column). A canvas stays as it is."""
    from PIL import Image

    grey = Image.fromarray(pixels).convert("L")
    if grey.size == SIZE:
        return np.asarray(grey)
    width, height = (min(grey.width, grey.height * SIZE[0] / SIZE[1]), min(grey.height, grey.width * SIZE[1] / SIZE[0]))
    left, top = (grey.width - width) / 2, (grey.height - height) / 2
    return np.asarray(grey.resize(SIZE, Image.Resampling.BOX, box=(left, top, left + width, top + height)))


class MarkedDigit(ScratchModel):
    """One picture, and at [CLS] the digit above the dot."""

    says = "label"

    def sides(self, query: Query) -> tuple[Sides, Omission | None, tuple[str, ...]]:
        """The patches. Raises UserError for a text, and where there is no picture."""
        self.refuse(query, "text_b", "target", "continuation")
        if query.text.strip():
            raise UserError(f"{self.card.title} reads pictures, and no text; leave the text empty.")
        size = self.picture(query).shape[:2][::-1]
        notes = () if size == SIZE else (RESIZED.format(width=SIZE[0], height=SIZE[1]),)
        return {"source": patch_tokens(ROWS, COLUMNS)}, None, notes

    def picture(self, query: Query) -> np.ndarray:
        """The picture of a query as it was brought, uint8 (height, width, RGB). Raises UserError for none."""
        if query.image is None:
            raise UserError(f"{self.card.title} reads a picture; choose or open one.")
        return pictures.find(query.image).pixels()

    def inputs(self, query: Query, sides: Sides) -> list[Any]:
        """The ink of the picture as the model gets it."""
        return [ink(processed(self.picture(query))).numpy()]

    def record(self, query: Query, report: Progress) -> AttentionRecord:
        """The record of one picture, with the picture as the model got it."""
        record = super().record(query, report)
        return replace(record, picture=np.repeat(processed(self.picture(query))[..., None], 3, -1))

    def positions(self, sides: Sides) -> list[int]:
        """[CLS]."""
        return [0]
