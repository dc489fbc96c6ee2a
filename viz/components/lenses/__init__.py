"""The lenses: ways to draw a head. Each name in LENSES (model/core/view.py) is a folder here.

A lens has its texts in en.toml, and its function `plan` plans a picture for paper: of an `Image` in the lens of
pictures, and of heads over the same tokens in the others. NAME.js, which head_view/head_view.js imports, draws heads in
the browser.
"""
import importlib
from pathlib import Path
from types import ModuleType

from clearhead.viz.style.text import Texts, strings

FOLDER = Path(__file__).parent


def words_of(lens: str) -> Texts:
    """Return a lens's texts: its `name` in menus, the `subject` of its files, and how to read it on paper."""
    return strings(str(FOLDER / lens / "en"))


def lens_of(lens: str) -> ModuleType:
    """Import a lens's module."""
    return importlib.import_module(f"{__name__}.{lens}")
