"""The pictures of the marked digit are the canvases that the program draws, and are listed with licence and hash."""
import hashlib

import numpy as np
from PIL import Image

from benchmarks import example_pictures
from model.core import pictures
from model.lessons.digit_patches import MODEL, PICTURES


def test_what_is_shipped_is_what_is_drawn():
    listed = pictures.examples()[MODEL]
    assert len(listed) == PICTURES and pictures.offered(MODEL) == (*listed, *pictures.shipped())
    assert pictures.offered("resolver-wide") == pictures.shipped() and pictures.offered(f"{MODEL}@0")[0] == listed[0]
    for entry, (key, title, canvas) in zip(listed, example_pictures.named(), strict=True):
        content = entry.path.read_bytes()
        assert (entry.key, entry.name, entry.licence) == (key, title, "CC-BY-4.0")
        assert hashlib.sha256(content).hexdigest() == entry.sha256
        assert (np.asarray(Image.open(entry.path)) == canvas.pixels()).all()
        assert pictures.find(entry.sha256).licence == "CC-BY-4.0" and "Kaynak" in entry.source
    files = {path.name for path in example_pictures.FOLDER.iterdir()}
    assert files == {"pictures.toml", *(each.file for each in listed)}


def test_the_same_files_are_written_again(tmp_path):
    example_pictures.write(tmp_path)
    assert (tmp_path / "pictures.toml").read_bytes() == (example_pictures.FOLDER / "pictures.toml").read_bytes()
