"""Write the weights of all heads to an NPZ file, one head at a time to save memory."""
import json
import zipfile
from contextlib import nullcontext
from pathlib import Path
from typing import BinaryIO

import numpy as np

from clearhead.model.core import files, heads
from clearhead.model.core.record import AttentionMap, AttentionRecord
from clearhead.model.core.record_file import plain
from clearhead.model.core.tokens import Tokens


def write_npz(record: AttentionRecord, target: str | Path | BinaryIO, provenance: str | None = None) -> None:
    """Write float32 arrays KIND (layer, head, query, key), padded with NaN where layers have fewer heads; heads_KIND
    (layer) then holds the number of heads per layer. The other arrays are queries_KIND and keys_KIND (token texts),
    layers_KIND (layer numbers) and provenance (JSON; by default the question and its verification). Raises UserError if
    the file cannot be written.

    If tokens are patches of a picture, boxes_KIND, float32 (token, 4), holds left, top, right and bottom as fractions
    of the picture's size, NaN for a token without a box; special_KIND, bool (token), marks [CLS], registers and similar
    tokens. Both describe the keys, which are also the queries of such models.

    If a layer has a sink, rows sum to 1 minus the sink's share, which is stored in sink_KIND, float32 (layer, head,
    query): 0 in layers without a sink, NaN for missing heads.

    NUL characters in a token's text are written as "U+0000", because numpy drops trailing ones.
    """
    query = record.asked
    asked: dict[str, object] = {"model": query.model, "revision": query.revision, "text": query.text,
                             "text_b": query.text_b, "target": query.target, "verification": record.verification.status}
    asked |= {"edits": plain(query.edits, np.ndarray.tolist)} if query.edits else {}
    asked |= ({} if query.image is None else {"image": query.image}) | ({"chat": True} if query.chat else {})
    with (files.writing(Path(target)) if isinstance(target, str | Path) else nullcontext(target) as file,
          zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive):
        for attention_map in record.maps:
            _write_map(archive, attention_map)
            for name, values in (("queries", _texts(attention_map.queries)), ("keys", _texts(attention_map.keys)),
                                 ("layers", [layer.index for layer in attention_map.layers])):
                _write(archive, f"{name}_{attention_map.kind}", np.array(values))
            if attention_map.keys.boxes:
                _write(archive, f"boxes_{attention_map.kind}", np.array(
                    [box or (np.nan,) * 4 for box in attention_map.keys.boxes], np.float32))
                _write(archive, f"special_{attention_map.kind}", np.array(attention_map.keys.special))
        _write(archive, "provenance", np.array(provenance or json.dumps(asked)))


def _texts(tokens: Tokens) -> list[str]:
    return [text.replace("\0", "U+0000") for text in tokens.texts]


def _write(archive: zipfile.ZipFile, name: str, array: np.ndarray) -> None:
    with archive.open(f"{name}.npy", "w") as file:
        np.lib.format.write_array(file, array, allow_pickle=False)


def _write_map(archive: zipfile.ZipFile, attention_map: AttentionMap) -> None:
    layers, counts = attention_map.layers, [layer.heads for layer in attention_map.layers]
    shape = (len(layers), max(counts), *layers[0].shape[1:])
    shares = np.full(shape[:3], np.nan, np.float32)
    with archive.open(f"{attention_map.kind}.npy", "w", force_zip64=True) as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
        for place, head in np.ndindex(shape[:2]):
            there = head < counts[place]
            weights = heads.weights(layers[place], head) if there else np.full(shape[2:], np.nan)
            file.write(weights.astype("<f4").tobytes())
            share = heads.sink_share(layers[place], head) if there else np.nan
            shares[place, head] = 0 if share is None else share
    if min(counts) < max(counts):
        _write(archive, f"heads_{attention_map.kind}", np.array(counts))
    if np.nan_to_num(shares).any():
        _write(archive, f"sink_{attention_map.kind}", shares)
