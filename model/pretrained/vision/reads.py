"""What a model reads, told by the files of its folder alone."""
from pathlib import Path

from model.core.query import UserError
from model.pretrained import files
from model.pretrained.tokens import VOCABULARIES
from model.pretrained.vision.patches import TYPES

PICTURE_KEYS = ("image_size", "patch_size")
INSIDE = ("backbone_config", "vision_config")   # of a model of depths or classes by place: what reads the picture
CLASSIFIER = "ForImageClassification"   # in the names of transformers' classes


def reads_pictures(folder: Path) -> frozenset[str]:
    """image, of a model of pictures; image and text, of one with a tower for each; nothing of a model of texts. Raises
    UserError for a folder without a configuration, or whose type of model is no name."""
    config = files.read_json(folder / "config.json")
    model_type = config.get("model_type") or ""
    if not isinstance(model_type, str):
        raise UserError(f"{folder / 'config.json'} cannot be used as a configuration: model_type "
                        f"is a {type(model_type).__name__} and should be a name; copy or download it again.")
    if CLASSIFIER in str(config.get("architectures")):   # of CLIP, too: it has no text tower
        return frozenset(("image",))
    if model_type in TYPES:
        return frozenset(("image", "text"))
    named = model_type.endswith("vision_model")
    has_vocabulary = any(path for pattern in VOCABULARIES for path in folder.glob(pattern))
    parts = [config, *(part for name in INSIDE if isinstance(part := config.get(name), dict))]
    pictures = any(key in part for part in parts for key in PICTURE_KEYS) and not has_vocabulary
    return frozenset(("image",)) if named or pictures else frozenset()
