"""Make the site: round the model, record the page's first answers, and write the files."""
import hashlib
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from clearhead.model import sources
from clearhead.model.core.files import ASSETS, make_folder, write
from clearhead.model.core.query import UserError, frozen, quiet
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import View
from clearhead.viz.app.examples import examples, token_of
from clearhead.viz.components.bundle import program
from clearhead.viz.export.document import as_json
from clearhead.viz.export.site import page, rounding
from clearhead.viz.style.text import strings

NAME, HEAD = "minilm", (3, 1)   # the model, and the head that is open at first: coreference
LICENCES = "LICENSES"
Ask = Callable[[str, str], AttentionRecord]   # the answer of a model to a text


@frozen
class Site:
    """The parts of the page in the browser."""

    opening: page.Opening
    model: bytes         # its file, with rounded weights
    weights: str         # SHA-256 of the weights before rounding

    def files(self) -> dict[str, bytes]:
        """Return the files for any host, by name."""
        rounded = hashlib.sha256(self.model).hexdigest()
        file = f"{page.MODEL}?{rounded[:8]}"   # so that no cache gives an older one
        index = page.page_html(self.opening, self.model, file)
        digest = hashlib.sha256(index).hexdigest()[:16]
        offline = program("site/offline.js", "self", as_json(digest), as_json(["./", file]))
        notice = strings("site")("licence", file=page.MODEL, weights=self.weights, rounded=rounded).strip()
        return {"index.html": index, page.MODEL: self.model,
                page.OFFLINE: offline.encode(), f"{LICENCES}/NOTICE.txt": notice.encode(),
                f"{LICENCES}/Apache-2.0.txt": (ASSETS.parent / "LICENSE").read_bytes()}

    def single(self) -> bytes:
        """Return the page as one HTML file, which needs no others."""
        return page.page_html(self.opening, self.model)


def site_of(ask: Ask) -> Site:
    """Make the site from the installed model. Raises UserError if it is missing."""
    folder, example = sources.fetch_now(NAME, quiet), next(each for each in examples() if each.swap and each.twin)
    texts = (example.text, str(example.twin))
    records = tuple(ask(NAME, text) for text in texts)
    with tempfile.TemporaryDirectory() as room:
        rounded = Path(room, "rounded")
        rounding.write_rounded(folder, rounded)
        checks = {text: ask(str(rounded), text) for text in texts}
    token = token_of(records[0].maps[0].keys, (example.text,), example.pair[0])
    view = View(layer=HEAD[0], head=HEAD[1], token=token)
    away = max(float(np.abs(rounding.all_weights(record) - rounding.all_weights(checks[text])).max())
               for text, record in zip(texts, records, strict=True))
    return Site(page.Opening(records, view, example.swap or ("", ""), away), rounding.packed_model(folder, checks),
                hashlib.sha256((folder / rounding.WEIGHTS).read_bytes()).hexdigest())


def refuse_others(folder: Path) -> None:
    """Raise UserError if a folder holds anything but a site, because the new files would be mixed with it."""
    own = {"index.html", page.MODEL, page.OFFLINE, LICENCES}
    others = [path.name for path in folder.iterdir() if path.name not in own] if folder.is_dir() else []
    if others:
        raise UserError(f"{folder} holds {others[0]}, which is not part of the site; choose a new or an empty folder.")


def write_folder(site: Site, folder: Path) -> int:
    """Write the site's files into a folder and return their size in bytes. Raises UserError if that fails."""
    files = site.files()
    make_folder(folder / LICENCES)
    for name, content in files.items():
        write(folder / name, content)
    return sum(map(len, files.values()))
