"""Stored pictures: upright, without metadata, named by their file's hash; and the shipped pictures."""
import hashlib
import io

import numpy as np
import pytest
from PIL import Image

from model.core import pictures
from model.core.query import UserError
from tests.uploads import packed

NOISE = np.random.default_rng(0).integers(0, 256, (30, 40, 3), np.uint8)


def test_kept_picture_has_its_pixels_and_hash():
    content = packed(Image.fromarray(NOISE))
    picture = pictures.keep(content, "noise.png", "me")
    assert picture.sha256 == hashlib.sha256(content).hexdigest() and (picture.width, picture.height) == (40, 30)
    assert (picture.pixels() == NOISE).all() and pictures.find(picture.sha256) is picture
    assert (picture.licence, picture.source) == ("", pictures.OWN)
    pictures.forget("me")
    with pytest.raises(UserError, match="no longer in this server's memory"):
        pictures.find(picture.sha256)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_photograph_is_turned_without_metadata(orientation):
    image = Image.fromarray(NOISE)
    exif = image.getexif()
    exif[0x0112], exif[0x010F] = orientation, "A telephone"
    exif.get_ifd(0x8825)[2] = (48.0, 8.0, 14.0)
    picture = pictures.keep(packed(image, exif=exif), "photo.png")
    turns = {1: lambda a: a, 2: lambda a: a[:, ::-1], 3: lambda a: a[::-1, ::-1], 4: lambda a: a[::-1],
             5: lambda a: a.swapaxes(0, 1), 6: lambda a: a[::-1].swapaxes(0, 1),
             7: lambda a: a[::-1, ::-1].swapaxes(0, 1), 8: lambda a: a[:, ::-1].swapaxes(0, 1)}
    assert (picture.pixels() == turns[orientation](NOISE)).all()
    assert b"telephone" not in picture.encoded and not Image.open(io.BytesIO(picture.encoded)).getexif()
