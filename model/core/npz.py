"""The weights of all heads as an NPZ file, written head by head, so that they are never all in memory."""
import json
import zipfile
from pathlib import Path
from typing import BinaryIO

import numpy as np

from model.core import heads
from model.core.record import AttentionMap, AttentionRecord, Layer, Reported, Tokens


def write_npz(record: AttentionRecord, target: str | Path | BinaryIO, provenance: str | None = None) -> None:
    """Float32 arrays KIND (layer, head, query, key), or KIND_INDEX (head, query, key) a layer where head counts differ,
    with queries_KIND and keys_KIND (token texts), layers_KIND (the layers' numbers) and provenance (JSON; unless given,
    the question and its check). NUL in a token's text is written U+0000, because numpy drops it from the end of a
    string."""
    asked = {"model": record.query.model, "revision": record.query.revision, "text": record.query.text,
             "text_b": record.query.text_b,
             "target": record.query.target, "verification": record.verification.status}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for each in record.maps:
            _write_map(archive, each)
            for name, values in (("queries", _texts(each.queries)), ("keys", _texts(each.keys)),
                                 ("layers", [layer.index for layer in each.layers])):
                _write(archive, f"{name}_{each.kind}", np.array(values))
        _write(archive, "provenance", np.array(provenance or json.dumps(asked)))


def _texts(tokens: Tokens) -> list[str]:
    return [text.replace("\0", "U+0000") for text in tokens.texts]


def _write(archive: zipfile.ZipFile, name: str, array: np.ndarray) -> None:
    with archive.open(f"{name}.npy", "w") as file:
        np.lib.format.write_array(file, array, allow_pickle=False)


def _write_map(archive: zipfile.ZipFile, each: AttentionMap) -> None:
    if len({layer.heads for layer in each.layers}) == 1:
        _write_layers(archive, str(each.kind), each.layers, (len(each.layers), *each.layers[0].shape))
    else:
        for layer in each.layers:
            _write_layers(archive, f"{each.kind}_{layer.index}", (layer,), layer.shape)


def _write_layers(archive: zipfile.ZipFile, name: str, layers: tuple[Layer | Reported, ...],
                  shape: tuple[int, ...]) -> None:
    with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
        for layer in layers:
            for head in range(layer.heads):
                file.write(np.ascontiguousarray(heads.weights(layer, head), "<f4").tobytes())
