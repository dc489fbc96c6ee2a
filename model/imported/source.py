"""Imported files as if they were models: each answers one question, its own text, and nothing else. Kept in this
process only."""
import hashlib
import io
import threading
from collections import OrderedDict
from typing import Any

from model.core.query import Query, UserError
from model.core.record import ROW_SUM_TOLERANCE, AttentionRecord, Card, Verification
from model.core.types import Progress, quiet
from model.imported.reading import LIMIT, ImportedFile, read_attention

PREFIX = "imported:"
STORE = 2 * LIMIT    # bytes of all files together; the least recently used goes first
ONLY_WEIGHTS = ("An imported file holds weights and tokens and not the model, so that nothing else can be computed; "
                "choose a model.")
GONE = "That imported file is no longer in this server's memory; open it again, or choose a model."

_files: OrderedDict[str, ImportedFile] = OrderedDict()
_lock = threading.Lock()


def is_imported(model_id: str) -> bool:
    return model_id.startswith(PREFIX)


def store(content: bytes, name: str) -> tuple[str, str]:
    """(model id, text) under which the file can be asked for from now on. Raises UserError for one that is no attention
    or too large."""
    found = read_attention(io.BytesIO(content), name)
    fingerprint = hashlib.sha256(content).hexdigest()
    with _lock:
        _files[fingerprint] = found
        _files.move_to_end(fingerprint)
        while sum(each.nbytes for each in _files.values()) > STORE and len(_files) > 1:
            _files.popitem(last=False)
    return PREFIX + fingerprint, found.text


def _file(model_id: str) -> ImportedFile:
    with _lock:
        found = _files.get(model_id.removeprefix(PREFIX))
        if found is None:
            raise UserError(GONE)
        _files.move_to_end(model_id.removeprefix(PREFIX))
        return found


def title(model_id: str) -> str:
    """The file's name, or what is wrong."""
    with _lock:
        found = _files.get(model_id.removeprefix(PREFIX))
    return found.name if found else "a file that is gone"


def revision(model_id: str) -> str:
    """The fingerprint of the file. Raises UserError if it is not there."""
    _file(model_id)
    return model_id.removeprefix(PREFIX)


class OpenedFile:
    """An imported file as the desk sees a model. It holds no arrays itself, so that a file that is dropped is gone."""

    nbytes = 0

    def __init__(self, model_id: str) -> None:
        self.id = model_id

    @property
    def card(self) -> Card:
        found = _file(self.id)
        sizes = {(len(each.layers), each.layers[0].heads) for each in found.maps}
        layers, heads = max(sizes)
        note = f"Imported from {found.name}, not verified. " + (f"The file says: {found.stated_source[:300]}" if found.stated_source
                                                                else "The file says no more.")
        return Card(self.id, found.name, revision(self.id), "imported", 0, 0, 0, layers, heads, heads, "not stated",
                    "not stated", "not stated",
                    len(found.maps[0].queries), note=note)

    def answer(self, query: Query, report: Progress) -> AttentionRecord:
        found = _file(self.id)
        if query.edits or query.continuation:
            raise UserError(ONLY_WEIGHTS)
        if query.text != found.text or query.text_b or query.target:
            raise UserError(f"{found.name} holds the attention of one text only; open the file again to see it, or "
                            f"choose a model for another text.")
        rows = sum(layer.heads * layer.shape[1] for each in found.maps for layer in each.layers)
        checked = Verification("imported", row_sum_error=found.row_sum_error, tolerance=ROW_SUM_TOLERANCE,
                               rows_checked=rows,
                               reasons=("There was no model to check it against.",))
        return AttentionRecord(query, self.card, found.maps, checked)

    def __getattr__(self, name: str) -> Any:
        """Whatever else a model can do needs the model."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise UserError(ONLY_WEIGHTS)


def open_model(model_id: str, report: Progress = quiet) -> OpenedFile:
    """Raises UserError if the file is not there."""
    _file(model_id)
    return OpenedFile(model_id)
