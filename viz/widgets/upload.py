"""Files and texts that a visitor uploads, read in batches that can be stopped."""
import io
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import islice, takewhile
from typing import Any

import streamlit as st

from clearhead.model.ask import desk
from clearhead.model.core.models import Question
from clearhead.model.core.query import UserError
from clearhead.model.studies.corpus import FIELD, SUFFIXES, columns, texts
from clearhead.viz.app.session import Kept
from clearhead.viz.app.streamlit_patch import forget_upload, is_dropped
from clearhead.viz.app.waiting import ask_each
from clearhead.viz.style.text import strings
from clearhead.viz.widgets.fields import most_megabytes
from clearhead.viz.widgets.layout import note, split

WORDS = strings("measures")

MOST_TEXTS, MEGABYTES = 1000, 5   # limits per upload; the command line has none
BATCH = 8                         # texts per question: other visitors are served between batches
Given = tuple[bytes, str]         # (content, name)
Texts = tuple[tuple[int, str], ...]   # (line, text) of each

_READ = Kept[dict[str, str]]({})   # the last file from each uploader, until it is read
_STOPPED = Kept(frozenset[str]())  # keys of runs waiting to be resumed


def take(key: str) -> tuple[bytes, str] | None:
    """Return (content, name) of the file dropped on this uploader, or None if there is no new one. Call it in
    on_change: the file is read once, and Streamlit keeps no copy. Raises UserError if it was already dropped from
    memory."""
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
    """Draw st.file_uploader for a file that a page reads in every run; say so if it was dropped to free memory."""
    file = st.file_uploader(label, key=key, **options)
    if is_dropped(st.session_state[key]):
        st.warning(strings("frame")["upload_dropped"])
    return file


def given_texts(key: str, suffixes: Sequence[str] = SUFFIXES) -> Given | None:
    """Draw a field for pasted texts and one for a file, which takes precedence. Return None while both are empty.
    Raises UserError if the input is too large."""
    megabytes = most_megabytes(MEGABYTES * 10**6)
    note(WORDS("many_about", texts=MOST_TEXTS, megabytes=megabytes))
    left, right = split()
    pasted = left.text_area(WORDS["paste"], key=f"{key}-paste", height=120, max_chars=MEGABYTES * 10**6 // 4,
                            placeholder=WORDS["paste_example"], on_change=_stop, args=(key, False))
    with right:
        file = uploader(WORDS["drop"], f"{key}-file", type=[suffix.removeprefix(".") for suffix in suffixes],
                        max_upload_size=megabytes, on_change=_stop, args=(key, False))
    if file is None:
        return (pasted.encode("utf-8", "replace"), WORDS["pasted"]) if pasted.strip() else None
    content = file.getvalue()
    if len(content) > MEGABYTES * 10**6:
        raise UserError(WORDS("many_large", name=file.name, texts=MOST_TEXTS, megabytes=MEGABYTES))
    return content, file.name


def texts_of(given: Given, key: str) -> Texts | None:
    """Return (line, text) for every text, or None until the text column is chosen. Raises UserError if there are no
    texts or too many."""
    content, name = given
    offered = columns(io.BytesIO(content), name)
    field = offered[0] if len(offered) == 1 else FIELD
    if len(offered) > 1:
        field = st.selectbox(WORDS["many_column"], offered, offered.index(FIELD) if FIELD in offered else None,
                             placeholder=WORDS["many_column_pick"], key=f"{key}-column", on_change=_stop,
                             args=(key, False))
    if field is None:
        return None
    found = tuple(islice(texts(io.BytesIO(content), name, field), MOST_TEXTS + 1))
    if len(found) > MOST_TEXTS:
        raise UserError(WORDS("many_large", name=name, texts=MOST_TEXTS, megabytes=MEGABYTES))
    return found


def answers_over_texts(key: str, question: Callable[[str, Texts], Question[Any]]) -> tuple[str, int, list[Any]] | None:
    """Draw the fields for texts and ask question(name, texts) for every BATCH of them, with progress and a stop button.
    Return the name of what was given, the number of texts, and the answers; if stopped, those finished so far, which
    stay cached. Return None while there are no texts. Raises UserError if there are too many."""
    given = given_texts(key)
    found = None if given is None else texts_of(given, key)
    if given is None or found is None:
        return None
    place, stopped, total = st.empty(), key in _STOPPED.value, len(found)
    questions = [question(given[1], found[start:start + BATCH]) for start in range(0, total, BATCH)]
    place.button(WORDS["many_go_on" if stopped else "many_stop"], key=f"{key}-stop", on_click=_stop,
                 args=(key, not stopped))
    if stopped:
        answers = list(takewhile(lambda answer: answer is not None, map(desk.cached, questions)))
        if len(answers) < len(questions):
            st.caption(WORDS("many_stopped", done=BATCH * len(answers), total=total))
            return given[1], total, answers
    else:
        with closing(ask_each(questions, say=lambda number, text: WORDS("many_progress", done=BATCH * number,
                                                                        total=total))) as asked:
            answers = list(asked)
    place.empty()
    return given[1], total, answers


def _stop(key: str, stopped: bool) -> None:
    _STOPPED.value = _STOPPED.value | {key} if stopped else _STOPPED.value - {key}
