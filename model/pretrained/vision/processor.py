"""A model's own processor: what it makes of a picture, as the network reads it and as a person sees it."""
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from model.capture.forward_pass import Unsupported
from model.core.limits import LIMITS
from model.core.query import UserError
from model.pretrained.damage import blame
from model.pretrained.files import read_json
from model.pretrained.tokens import LOAD_OPTIONS

if TYPE_CHECKING:
    from torch import Tensor

FILES = ("preprocessor_config.json", "processor_config.json")
HALF = 0.51   # of a step of 1/255: how far a picture of bytes may be from what the network reads


class Prepared(NamedTuple):
    """A picture as a model gets it."""

    pixels: "Tensor"    # float32 (1, 3, height, width), normalised
    shown: np.ndarray   # uint8 (height, width, 3): the same, not normalised


def open_processor(folder: Path) -> Any:
    """The folder's image processor, of transformers, which works with Pillow and needs no torchvision. Raises
    UserError, with the file's name, for a folder without one and for a damaged one."""
    from transformers import AutoImageProcessor

    path = next((folder / name for name in FILES if (folder / name).is_file()), None)
    if path is None:
        raise UserError(f"{folder} has no {FILES[0]}, which says how a picture is resized, cropped and normalised; "
                        f"copy it from where the model is from.")
    _check_sizes(path)
    with blame(path, "an image processor"):
        return AutoImageProcessor.from_pretrained(folder, backend="pil", **LOAD_OPTIONS)


def _check_sizes(path: Path) -> None:
    """Raises UserError for a file that makes pictures larger than is allowed."""
    content = read_json(path)
    for part in (content, content.get("image_processor")):
        for name, size in (part.items() if isinstance(part, dict) else ()):
            sides = size.values() if isinstance(size, dict) else (size,)
            if name.endswith("size"):
                for side in sides:
                    if isinstance(side, int | float):
                        LIMITS.refuse_above("picture_side", side, f"{path}: {name}", "choose another model")


def prepare(processor: Any, picture: np.ndarray) -> Prepared:
    """What the processor makes of a picture: uint8 (height, width, 3). Raises Unsupported where it makes anything but
    one picture, or one that cannot be shown as it is."""
    from PIL import Image

    made = processor(images=Image.fromarray(picture), return_tensors="pt")
    pixels = made.get("pixel_values")
    if pixels is None or pixels.ndim != 4 or tuple(pixels.shape[:2]) != (1, 3):
        raise Unsupported(f"its processor makes {None if pixels is None else tuple(pixels.shape)} of a picture, where "
                          f"(1, 3, height, width) was expected")
    mean, deviation, step = _scale(processor)
    plain = pixels[0].float().numpy() * deviation + mean
    shown = (plain / step).round().clip(0, 255).astype(np.uint8)
    if np.abs(shown * step - plain).max() > HALF * step:
        raise Unsupported("what its processor makes of a picture cannot be turned back into colours")
    return Prepared(pixels.float(), np.ascontiguousarray(shown.transpose(1, 2, 0)))


def _scale(processor: Any) -> tuple[np.ndarray, np.ndarray, float]:
    """(mean, deviation) of each channel (3, 1, 1), and what one step of a byte is, before they are taken."""
    as_column = lambda values: np.broadcast_to(np.asarray(values, np.float32).reshape(-1, 1, 1), (3, 1, 1))
    normalises = getattr(processor, "do_normalize", False)
    mean, deviation = ((as_column(processor.image_mean), as_column(processor.image_std)) if normalises
                       else (as_column(0), as_column(1)))
    return mean, deviation, float(processor.rescale_factor) if getattr(processor, "do_rescale", False) else 1.0
