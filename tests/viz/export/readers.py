"""Readers of exported files that share no code with the writers."""
import csv
import io
import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pypdf
from PIL import Image

from clearhead.viz.export.tables import BEGINS, RUNS


def provenance_of(suffix: str, content: bytes) -> dict:
    """Return the provenance embedded in a file."""
    return json.loads({".png": _png, ".svg": _svg, ".pdf": _pdf, ".npz": _npz, ".html": _html,
                       ".json": bytes.decode}[suffix](content))


def _png(content: bytes) -> str:
    with Image.open(io.BytesIO(content)) as image:
        image.load()
        return image.text["provenance"]


def _svg(content: bytes) -> str:
    root = ET.fromstring(content)
    described = root.find("{http://www.w3.org/2000/svg}desc").text
    assert described == root.find(".//{http://purl.org/dc/elements/1.1/}description").text
    return described


def _pdf(content: bytes) -> str:
    reader = pypdf.PdfReader(io.BytesIO(content), strict=True)
    assert len(reader.pages) == 1
    return reader.metadata.subject


def _html(content: bytes) -> str:
    return re.search(r'<script type="application/json" class="source">([^<]*)</script>', content.decode("utf-8"))[1]


def _npz(content: bytes) -> str:
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return str(arrays["provenance"])


def tokens_of(suffix: str, content: bytes) -> list[str] | None:
    """Return the tokens' texts, or None if the format does not store them separately."""
    if suffix == ".csv":
        header = next(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))
        return [unguard_cell(cell) for cell in header[1:]]
    if suffix == ".npz":
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return arrays["queries_self"].tolist()
    return None


def unguard_cell(cell: str) -> str:
    """Undo `guard_cell`, except for NUL and surrogates."""
    return re.sub(f"{BEGINS}'{RUNS}", r"\1", cell)
