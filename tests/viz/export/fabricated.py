"""Records with chosen tokens for the exports, and readers of their files that share no code with what wrote them."""
import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from html.parser import HTMLParser

import numpy as np
import pypdf
from PIL import Image

from model.core.masks import Causal, Full
from model.core.query import Kind, Query
from model.core.record import AttentionMap, AttentionRecord, Card, Layer, Tokens, Verification

HOSTILE = ("$x_1$", "<script>alert(1)</script>", "=SUM(A1)", "+1", "-", "@here", "'quoted", "\t=1", " =1", "a\0b",
           "\0", "\ud800", "x\u202ey",
           "\ufffe", "👨‍👩‍👧‍👦", "العربية", "שלום", "中文字", "한국어", "हिन्दी", "it", "it", "", " ", "\n", '"', "a,b",
           "]]>", "&amp;", "\\",
           "W" * 60, "[UNK]")
LAYERS, HEADS, D_K = 2, 3, 5


def tokens(texts, special=()) -> Tokens:
    n = len(texts)
    return Tokens(tuple(texts), tuple(range(n)), tuple(place in special for place in range(n)),
                  tuple((place, place + 1) for place in range(n)),
                  tuple(range(n)), (0,) * n, tuple(text == "[UNK]" for text in texts))


def record(texts, kind: Kind = Kind.SELF, keys=None, text: str | None = None, special=(),
           layers: int = LAYERS) -> AttentionRecord:
    """A record over these tokens (and these keys, for cross-attention), with random sharp heads."""
    rng = np.random.default_rng(7)
    sides = tokens(texts, special), tokens(texts if keys is None else keys, special)
    shapes = {"query": (HEADS, len(sides[0]), D_K), "key": (HEADS, len(sides[1]), D_K),
              "value": (HEADS, len(sides[1]), D_K)}
    made = tuple(Layer(index, **{name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()},
                       scale=1.3,
                       allowed=Causal() if kind is Kind.CAUSAL else Full()) for index in range(layers))
    card = Card("fake/model", "Fabricated", "f" * 40, "none", 0, HEADS * D_K, D_K, layers, HEADS, HEADS, "none",
                "none", "none", 512)
    asked = Query("fake/model", "f" * 40, "".join(texts) if text is None else text)
    return AttentionRecord(asked, card, (AttentionMap(kind, *sides, made),), Verification("verified", 1e-7, 1e-7, 1e-7))


def provenance_of(suffix: str, content: bytes) -> dict:
    """The provenance, from where the format keeps it."""
    return json.loads({".png": _png, ".svg": _svg, ".pdf": _pdf, ".csv": _csv, ".npz": _npz,
                       ".html": _html}[suffix](content))


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


def _csv(content: bytes) -> str:
    rows = list(csv.reader(io.StringIO(content.decode("utf-8"), newline="")))
    assert rows[0][-1] == "provenance" and all(row[-1] == "" for row in rows[2:])
    return rows[1][-1]


def _html(content: bytes) -> str:
    return re.search(r'<script type="application/json" class="source">([^<]*)</script>', content.decode("utf-8"))[1]


def _npz(content: bytes) -> str:
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return str(arrays["provenance"])


ACTIVE = ("script", "iframe", "object", "embed", "foreignObject", "a", "img", "image", "form", "link", "use",
          "animate", "set")


class _Page(HTMLParser):
    """What a browser would find in a page: how many elements that act or load, and every attribute that runs."""

    def __init__(self):
        super().__init__()
        self.found: Counter = Counter()

    def handle_starttag(self, tag, attributes):
        self.found[tag] += tag in ACTIVE
        self.found["runs"] += sum(name.startswith("on") or (value or "").lower().startswith("javascript")
                                  for name, value in attributes)


def acting(suffix: str, content: bytes) -> Counter:
    """How many parts of a file act, load or run when somebody opens it, as a parser sees that shares no code with what
    wrote it."""
    if suffix == ".html":
        page = _Page()
        page.feed(content.decode("utf-8"))
        page.close()
        return +page.found
    if suffix == ".svg":
        each = list(ET.fromstring(content).iter())
        names = Counter(element.tag.rsplit("}", 1)[-1] for element in each)
        runs = sum(name.rsplit("}", 1)[-1].startswith("on")
                   or value.lower().startswith(("javascript", "http:", "https:"))
                   for element in each for name, value in element.attrib.items() if not name.endswith("resource"))
        return +Counter({name: names[name] for name in ("script", "foreignObject", "a", "iframe")} | {"runs": runs})
    if suffix == ".pdf":
        return +Counter({name.decode(): content.count(name)
                         for name in (b"/JavaScript", b"/JS", b"/OpenAction", b"/Launch", b"/EmbeddedFile")})
    return Counter()


def tokens_of(suffix: str, content: bytes) -> list[str] | None:
    """The tokens' texts where the format has them one by one."""
    if suffix == ".csv":
        return [cell.removeprefix("'")
                for cell in next(csv.reader(io.StringIO(content.decode("utf-8"), newline="")))[1:-1]]
    if suffix == ".npz":
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return arrays["queries_self"].tolist()
    return None
