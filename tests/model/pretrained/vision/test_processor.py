"""What a processor makes of a picture is shown as it is, or refused."""
import json

import numpy as np
import pytest
import torch

from model.capture.forward_pass import Unsupported
from model.pretrained.vision.picture_model import open_processor, prepare
from tests.model import tiny_vision

PICTURE = np.random.default_rng(1).integers(0, 256, (60, 90, 3), np.uint8)


@pytest.mark.parametrize("changes", [{}, {"do_normalize": False}, {"do_center_crop": False},
                                     {"image_processor_type": "BitImageProcessor"},
                                     {"image_processor_type": "SiglipImageProcessor",
                                      "size": {"height": 24, "width": 40}, "do_center_crop": False},
                                     {"image_processor_type": "ViTImageProcessor",
                                      "size": {"height": 24, "width": 40}, "do_center_crop": False},
                                     {"image_processor_type": "BeitImageProcessor"}])
def test_the_picture_that_is_shown_makes_the_very_numbers_that_the_network_reads(changes, tmp_path):
    settings = tiny_vision.PROCESSOR | changes
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(settings), encoding="utf-8")
    processor = open_processor(tmp_path)
    pixels, shown = prepare(processor, PICTURE)
    assert shown.dtype == np.uint8 and shown.shape == (*pixels.shape[2:], 3)
    again = processor(images=shown, do_resize=False, do_center_crop=False, return_tensors="pt")["pixel_values"]
    torch.testing.assert_close(again, pixels, atol=1e-5, rtol=0)


def test_what_cannot_be_shown_is_refused(tmp_path):
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(tiny_vision.PROCESSOR), encoding="utf-8")
    processor = open_processor(tmp_path)
    with pytest.raises(Unsupported, match="where \\(1, 3, height, width\\) was expected"):
        prepare(lambda images, return_tensors: {"pixel_values": torch.zeros(2, 3, 8, 8)}, PICTURE)

    class Faded:
        do_normalize, do_rescale, rescale_factor = False, True, 1 / 255

        def __call__(self, images, return_tensors):
            return {"pixel_values": 1.5 * processor(images=images, return_tensors="pt")["pixel_values"]}

    with pytest.raises(Unsupported, match="cannot be converted back to colours"):
        prepare(Faded(), PICTURE)
