"""Build a small model of any picture family in transformers, with random weights that would reveal incorrect attention,
and a picture for it."""
import io
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import families_models
from clearhead.model.capture.transformers_internals import made_of
from clearhead.model.core import pictures
from clearhead.model.core.query import Kind, Query
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.tokens import Tokens

# mappings of transformers whose types read pictures
LISTS = ("IMAGE_CLASSIFICATION", "IMAGE", "MASKED_IMAGE_MODELING", "BACKBONE", "ZERO_SHOT_IMAGE_CLASSIFICATION",
         "IMAGE_SEGMENTATION", "SEMANTIC_SEGMENTATION", "INSTANCE_SEGMENTATION", "UNIVERSAL_SEGMENTATION",
         "DEPTH_ESTIMATION", "OBJECT_DETECTION", "ZERO_SHOT_OBJECT_DETECTION", "IMAGE_TO_IMAGE", "KEYPOINT_DETECTION",
         "KEYPOINT_MATCHING", "MASK_GENERATION")
# picture types in the mapping of base models: a suffix of their names, and names without it
NAMED = "_vision"
OTHERS = ("pixtral", "radio", "mgp-str", "seggpt", "sam3_vit_model", "sam2_hiera_det_model")
SIDES = 37, 59         # size of the query's picture in pixels, before processing
PROBABLE = 0.5         # mean and standard deviation for normalisation, which give values of about 1


def mappings() -> dict[str, str]:
    """Return {type: class to build} for every type in transformers that reads pictures: a classifier if there is one,
    else the network without a head."""
    from transformers.models.auto import modeling_auto

    lists = [getattr(modeling_auto, f"MODEL_FOR_{name}_MAPPING_NAMES") for name in LISTS]
    named = [name for name in modeling_auto.MODEL_MAPPING_NAMES if NAMED in name or name in OTHERS]
    known = [lists[0], modeling_auto.MODEL_MAPPING_NAMES, *lists[1:]]
    types = sorted({model_type for each in (*lists, named) for model_type in each})
    return {model_type: _one(next(each[model_type] for each in known if model_type in each)) for model_type in types}


def _one(names: str | tuple[str, ...]) -> str:
    return names if isinstance(names, str) else names[0]


def build(model_type: str, implementation: str, seed: int = 0) -> Any:
    """Build a family's small network with random weights and this attention implementation, in evaluation mode."""
    import torch
    import transformers

    sizes = families_models.sizes()["picture"]
    config = families_models.small_config(transformers.CONFIG_MAPPING[model_type], sizes, sizes.get(model_type, {}))
    torch.manual_seed(seed)
    network = made_of(getattr(transformers, mappings()[model_type]), config, implementation).eval()
    families_models.draw(network, seed, sizes["gain"].get(model_type, families_models.GAIN))
    return network


def processor(network: Any) -> Any:
    """Return an image processor that crops squares of the network's input size."""
    from transformers import CLIPImageProcessorPil

    side = _side(network.config)
    return CLIPImageProcessorPil(size={"shortest_edge": side}, crop_size={"height": side, "width": side},
                                 image_mean=[PROBABLE] * 3, image_std=[PROBABLE] * 3)


def _side(config: Any) -> int:
    for each in (config, getattr(config, "backbone_config", None), getattr(config, "vision_config", None)):
        size = getattr(each, "image_size", None)
        if size:
            return int(size if isinstance(size, int) else size[0])
    return families_models.sizes()["picture"]["everywhere"]["image_size"]


def open_built(model_type: str, network: Any) -> Any:
    """Open the network as a picture model."""
    from clearhead.model.pretrained import load
    from clearhead.model.pretrained.vision.build import build_picture_model

    place = load.ModelFiles(model_type, folder=Path("/nowhere"), title=model_type, licence="walk")
    head = "label" if type(network).__name__.endswith("ForImageClassification") else "none"
    return build_picture_model(place, network, processor(network), head)


def query(seed: int) -> Query:
    """Return a query with a picture of random noise."""
    from PIL import Image

    noise, target = np.random.default_rng(seed).integers(0, 256, (*SIDES, 3), np.uint8), io.BytesIO()
    Image.fromarray(noise).save(target, "PNG")
    return Query("walk", "walk", "", image=pictures.keep(target.getvalue(), f"noise {seed}.png").sha256)


def eager_output(model_type: str, pixels: Any = None) -> Any:
    """Return the output of a fresh copy of the model in unmodified transformers, with eager attention. The default
    pixels are noise of the network's input size."""
    import torch

    network = build(model_type, "eager")
    if pixels is None:
        side = _side(network.config)
        pixels = torch.randn(1, 3, side, side, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        return network(pixel_values=pixels, output_attentions=True)


def eager_weights(model_type: str, model: Any, record: AttentionRecord) -> dict[Kind, list[np.ndarray]]:
    """Return the weights that unmodified transformers reports for the record's picture, {kind: (head, query, key) per
    layer}. Does not use Clearhead's capture."""
    from clearhead.model.pretrained.vision.picture_model import prepare

    pixels = prepare(model.processor, pictures.find(str(record.query.image)).pixels()).pixels
    found = getattr(eager_output(model_type, pixels=pixels), "attentions", None) or ()
    return {Kind.SELF: [each[0].float().numpy() for each in found if getattr(each, "ndim", 0) == 4]}


def probe(model: Any) -> tuple[Any, tuple[int, None]]:
    """Return further arguments of `verify.wire`: a pass over the picture used at load, and the numbers of its
    tokens."""
    from clearhead.model.pretrained.vision.build import picture_probe

    found = picture_probe(model.network, model.processor)
    return found, (len(model.measured[tuple(found.tensors["pixel_values"].shape[2:])]), None)


def transposed(call: Any, tokens: Tokens) -> dict[str, np.ndarray]:
    """Return the queries, keys and values of a call with the patches reordered column by column."""
    rows, columns = tokens.grid or (0, 0)
    order = np.arange(len(tokens))
    order[list(tokens.patches)] = order[list(tokens.patches)].reshape(rows, columns).T.ravel()
    return {name: getattr(call, name)[:, order] for name in ("query", "key", "value")}
