"""The lenses: ways to draw a head. Each name in LENSES (model/core/view.py) is a folder here.

A lens has its texts in en.toml, and plans its picture for paper: the lens of pictures an `Image`, any other lens heads
over the same tokens. NAME.js draws heads in the browser, and is listed in head_view/head_view.js.
"""
import importlib
from pathlib import Path
from types import ModuleType

from clearhead.viz.style.text import Texts, strings

FOLDER = Path(__file__).parent


def words_of(lens: str) -> Texts:
    """Return a lens's texts: its `name` in choices, as the `subject` of a file, and how to read it on paper."""
    return strings(str(FOLDER / lens / "en"))


def lens_of(lens: str) -> ModuleType:
    """Return a lens's module. Its function `plan` plans a picture for paper."""
    return importlib.import_module(f"{__name__}.{lens}")
