"""Present imported files as models that answer only the question about their own text. Files are held in memory
only."""
import hashlib
import io
from dataclasses import replace
from pathlib import PurePath
from typing import Any, cast

from clearhead.model.core.limits import LIMITS
from clearhead.model.core.models import Located, OpenModel
from clearhead.model.core.query import Progress, Query, UserError, frozen, quiet
from clearhead.model.core.record import AttentionRecord, Card
from clearhead.model.core.session_store import SessionStore
from clearhead.model.imported.reading import ImportedFile, read_attention
from clearhead.model.imported.record_file import read_record

PREFIX = "imported:"
READERS = {".npz": read_attention, ".safetensors": read_record}   # by file extension
ONLY_WEIGHTS = ("An imported file holds weights and tokens but no model, so nothing else can be computed; "
                "choose a model.")
GONE = ("That imported file is no longer in this server's memory, which holds {session} MB per visitor and "
        "{total} MB in all; open it again, or choose a model.")


_store: SessionStore[ImportedFile] = SessionStore(LIMITS.session_bytes, LIMITS.total_bytes, GONE)


def store(content: bytes, name: str, session: str = "") -> tuple[str, str]:
    """Store the file and return the (model id, text) that query it. session: the uploader's session, for the limit per
    session. Raises UserError if the file has no attention or is too large."""
    LIMITS.refuse_above("file_bytes", len(content), name, "save fewer layers")
    read = READERS.get(PurePath(name).suffix.lower())
    if read is None:
        raise UserError(f"{name} does not end in {' or '.join(READERS)}, the formats that can be opened; save the "
                        f"attention with numpy.savez.")
    file, fingerprint = read(io.BytesIO(content), name), hashlib.sha256(content).hexdigest()
    query = Query(PREFIX + fingerprint, fingerprint, file.record.query.text)
    card = replace(file.record.card, id=query.model, revision=file.record.card.revision or fingerprint)
    _store.put(fingerprint, replace(file, record=replace(file.record, query=query, card=card)), session)
    return query.model, query.text


def _file(model_id: str) -> ImportedFile:
    return _store.get(model_id.removeprefix(PREFIX))


def title(model_id: str) -> str:
    """Return the file's name, or a note that it is no longer in memory."""
    try:
        return _file(model_id).name
    except UserError:
        return "a file that is gone"


class OpenedFile:
    """An imported file that acts as a model. It holds no arrays, so evicting the file frees its memory."""

    nbytes = 0

    def __init__(self, model_id: str) -> None:
        self.id = model_id

    @property
    def card(self) -> Card:
        """A description of the model that the file came from. Raises UserError if the file is no longer in memory."""
        return _file(self.id).record.card

    def record(self, query: Query, report: Progress) -> AttentionRecord:
        """Return the file's attention as a record. Raises UserError for any other text and for edits."""
        file = _file(self.id)
        if query.edits or query.continuation:
            raise UserError(ONLY_WEIGHTS)
        if query != file.record.query:
            raise UserError(f"{file.name} holds the attention of one text only; open the file again to see it, or "
                            f"choose a model for another text.")
        return file.record

    def __getattr__(self, name: str) -> Any:
        """Raise UserError for all other attributes, which need the model."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise UserError(ONLY_WEIGHTS)


@frozen
class LocatedFile(Located):
    """An imported file as a model."""

    def open(self, report: Progress = quiet) -> OpenModel:
        """Return the file as a model."""
        return cast(OpenModel, OpenedFile(self.id))   # its __getattr__ refuses operations that need a model


def locate(model_id: str) -> LocatedFile:
    """Return the file as a model that can be opened. Raises UserError if it is missing."""
    _file(model_id)
    return LocatedFile(model_id, model_id.removeprefix(PREFIX))
