"""Compare the heads of a picture model with its own eager attention, on photographs:
`python -m benchmarks.eager_pictures [MODEL] [--pictures 3]`.

Compares all weights that Clearhead shows for a shipped photograph with those that a fresh copy of the model reports
under transformers' eager attention. The copy does not use Clearhead's capture.
"""
import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clearhead.model import sources
from clearhead.model.ask.desk import models
from clearhead.model.core import heads, pictures
from clearhead.model.core.query import Kind, quiet
from clearhead.model.pretrained import load
from clearhead.model.pretrained.vision.picture_model import open_processor, prepare


class Compared(NamedTuple):
    """The comparison for one photograph."""

    picture: str       # key of the photograph
    heads: int         # number of heads compared
    weights: int       # number of weights per head
    difference: float  # largest difference of any weight
    proof: float       # error of the outputs in this pass, as shown by the page's badge


def compared(model_id: str, count: int) -> Iterator[Compared]:
    """Compare the first shipped pictures and yield the results. Raises UserError if the model is not on this disk."""
    import torch
    from transformers import AutoModel

    folder: Path = load.locate(model_id).folder
    network, processor = AutoModel.from_pretrained(folder, attn_implementation="eager").eval(), open_processor(folder)
    for picture in pictures.shipped()[:count]:
        record = sources.open_query(model_id, "", image=picture.sha256).answer(models, quiet)
        pixels = prepare(processor, pictures.find(picture.sha256).pixels()).pixels
        with torch.inference_mode():
            eager = network(pixel_values=pixels, output_attentions=True).attentions
        differences = [float(np.abs(heads.weights(layer, head) - eager[layer.index][0, head].numpy()).max())
                       for layer in record[Kind.SELF].layers for head in range(layer.heads)]
        tokens = len(record[Kind.SELF].keys)
        yield Compared(picture.key, len(differences), tokens ** 2, max(differences),
                       float(record.verification.max_error))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="dinov2-small", help="a model of pictures that is on this disk")
    parser.add_argument("--pictures", type=int, default=3, help="how many of the shipped ones")
    given = parser.parse_args()
    for each in compared(given.model, given.pictures):
        print(f"{each.picture}: {each.heads} heads of {each.weights:,} weights, {each.difference:.1e} from eager, "
              f"proof of this pass {each.proof:.1e}", flush=True)


if __name__ == "__main__":
    main()
