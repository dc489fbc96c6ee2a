"""Files that a visitor drops on a page."""
import math
from typing import Any

import streamlit as st

from model.core.limits import MB
from model.core.query import UserError
from viz.session import Kept
from viz.streamlit_patch import forget_upload, is_dropped
from viz.text import strings

_READ = Kept[dict[str, str]]({})   # the last file that each uploader gave to be read once


def most_megabytes(limit: int) -> int:
    """Return the whole megabytes that an uploader states for files of at most `limit` bytes: no more than the server
    takes."""
    return max(1, min(math.ceil(limit / MB), st.get_option("server.maxUploadSize")))


def take(key: str) -> tuple[bytes, str] | None:
    """Return (content, name) of the file that was dropped on the uploader of this key, for its on_change: read once,
    and then Streamlit keeps no copy. None where there is nothing new. Raises UserError for a file that is gone
    already."""
    file = st.session_state[key]
    if file is None or (is_dropped(file) and _READ.value.get(key) == file.file_id):
        return None
    if is_dropped(file):
        raise UserError(strings("frame")["upload_dropped"])
    content: bytes = file.getvalue()
    _READ.value = _READ.value | {key: file.file_id}
    forget_upload(file)
    return content, file.name


def uploader(label: str, key: str, **options: object) -> Any:
    """st.file_uploader for a file that a page reads in every run; says so where it was dropped to make room."""
    file = st.file_uploader(label, key=key, **options)
    if is_dropped(st.session_state[key]):
        st.warning(strings("frame")["upload_dropped"])
    return file
