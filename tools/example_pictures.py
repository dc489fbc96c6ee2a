"""Draw the example pictures for the model *Marked digit*: `python -m tools.example_pictures`.

Writes the first test canvases as PNG files, and their list.
"""
import hashlib
import io
import json
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from clearhead.model.core import files
from clearhead.model.core.pictures import EXAMPLES
from clearhead.model.lessons.digit_patches import MODEL, canvases
from clearhead.model.scratch.canvas import Canvas

FOLDER = EXAMPLES / MODEL
LICENCE = "CC-BY-4.0"
SOURCE = "put together from digits of E. Alpaydin and C. Kaynak, UCI Machine Learning Repository (assets/digits)"


def encoded(canvas: Canvas) -> bytes:
    """Return the shipped PNG file of a canvas."""
    target = io.BytesIO()
    Image.fromarray(canvas.pixels()).save(target, "PNG", optimize=True)
    return target.getvalue()


def named() -> Iterator[tuple[str, str, Canvas]]:
    """Yield (key, title, canvas) of each picture. Twins have the suffixes a and b."""
    for number, canvas in enumerate(canvases()):
        others = ", ".join(str(label) for place, label in sorted(zip(canvas.places, canvas.labels, strict=True)))
        key = f"{MODEL}-{number // 2 + 1}{'ab'[number % 2]}"
        yield key, f"Digits {others}: dot under {canvas.answer}", canvas


def write(folder: Path = FOLDER) -> None:
    """Write the files and pictures.toml."""
    files.make_folder(folder)
    lines = ["# Pictures of the model Marked digit, twins beside each other: python -m tools.example_pictures"]
    for key, title, canvas in named():
        content = encoded(canvas)
        files.write(folder / f"{key}.png", content)
        entry = {"file": f"{key}.png", "name": title, "licence": LICENCE, "source": SOURCE,
                 "sha256": hashlib.sha256(content).hexdigest()}
        lines += ["", f"[{key}]", *(f"{name} = {json.dumps(value)}" for name, value in entry.items())]
    files.write(folder / "pictures.toml", "\n".join([*lines, ""]).encode("utf-8"))


if __name__ == "__main__":
    write()
