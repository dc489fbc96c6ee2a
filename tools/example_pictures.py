"""Draw the example pictures for the models *Marked digit* and *Picture questions*: `python -m tools.example_pictures`.

Writes the first test pictures of each as PNG files, and their list.
"""
import hashlib
import io
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from clearhead.model.core import files
from clearhead.model.core.pictures import EXAMPLES
from clearhead.model.lessons import digit_patches, picture_answers
from clearhead.model.scratch.canvas import Canvas

LICENCE = "CC-BY-4.0"
SOURCE = "put together from digits of E. Alpaydin and C. Kaynak, UCI Machine Learning Repository (assets/digits)"
ABOUT = {digit_patches.MODEL: "Pictures of the model Marked digit, twins beside each other",
         picture_answers.MODEL: "Pictures of the model Picture questions"}


def encoded(pixels: np.ndarray) -> bytes:
    """Return the shipped PNG file of a grey picture, uint8 (row, column)."""
    target = io.BytesIO()
    Image.fromarray(pixels).save(target, "PNG", optimize=True)
    return target.getvalue()


def named(model: str) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield (key, title, pixels) of each of a model's pictures. Twins have the suffixes a and b."""
    drawn = picture_answers.scenes() if model == picture_answers.MODEL else digit_patches.canvases()
    for number, drawing in enumerate(drawn):
        digits = "Digits " + ", ".join(str(label) for _, label in sorted(drawing.labels.items()))
        if isinstance(drawing, Canvas):
            key = f"{model}-{number // 2 + 1}{'ab'[number % 2]}"
            yield key, f"{digits}: dot under {drawing.answer}", drawing.pixels()
        else:
            yield f"{model}-{number + 1}", digits, drawing.pixels()


def write(model: str, folder: Path) -> None:
    """Write a model's files and pictures.toml into a folder."""
    files.make_folder(folder)
    lines = [f"# {ABOUT[model]}: python -m tools.example_pictures"]
    for key, title, pixels in named(model):
        content = encoded(pixels)
        files.write(folder / f"{key}.png", content)
        entry = {"file": f"{key}.png", "name": title, "licence": LICENCE, "source": SOURCE,
                 "sha256": hashlib.sha256(content).hexdigest()}
        lines += ["", f"[{key}]", *(f"{name} = {json.dumps(value)}" for name, value in entry.items())]
    files.write(folder / "pictures.toml", "\n".join([*lines, ""]).encode("utf-8"))


if __name__ == "__main__":
    for model in ABOUT:
        write(model, EXAMPLES / model)
