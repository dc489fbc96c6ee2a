"""The model's input picture: choosing it, its strip, and which pages accept pictures."""
import contextlib
from collections.abc import Callable

import numpy as np
import streamlit as st

from clearhead.model import sources
from clearhead.model.core import pictures
from clearhead.model.core.limits import LIMITS
from clearhead.model.core.query import UserError
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import View
from clearhead.viz.app.page import PageContext
from clearhead.viz.app.session import Kept, session
from clearhead.viz.app.state import State
from clearhead.viz.components.component import Selection, registered
from clearhead.viz.components.from_record import hidden_tokens, patches_of
from clearhead.viz.components.picture import Image, Patches, PatchValues
from clearhead.viz.components.picture_view import picture_view
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.fields import bind, most_megabytes
from clearhead.viz.widgets.fragment import reads
from clearhead.viz.widgets.upload import take
from clearhead.viz.widgets.vocabulary import example_of

WORDS = strings("pictures")

OWN_PICTURES = Kept[dict[str, str]]({})   # names of pictures uploaded in this session, by sha256
_ERROR = Kept("")                         # the error of the last upload


def picture_name(sha256: str | None) -> str:
    """Return a picture's name: a shipped picture's title or the uploaded file's name; "" if it is not stored here."""
    with contextlib.suppress(UserError):
        return pictures.find(sha256).name if sha256 else ""
    return ""


def picture_options() -> dict[str, str]:
    """Return {sha256: name} of the pictures to choose from: shipped ones, this session's uploads, and a link's."""
    chosen = session().state.image
    known = {each.sha256: each.name for each in pictures.offered(session().state.model)} | OWN_PICTURES.value
    return known if chosen is None or chosen in known else known | {chosen: picture_name(chosen)
                                                                    or WORDS["gone"]}


def _bring(page: PageContext) -> None:
    """Open a dropped or pasted picture, or show an error below the field."""
    _ERROR.value = ""
    try:
        brought = take("ask_picture_file")
        if brought is None:
            return
        picture = pictures.keep(*brought, session().id)
    except UserError as error:
        _ERROR.value = str(error)
        return
    OWN_PICTURES.value = OWN_PICTURES.value | {picture.sha256: picture.name}
    page.set(image=picture.sha256)


def picture_widgets(page: PageContext) -> None:
    """Draw the choice of picture and the upload field."""
    options, chosen = picture_options(), page.state.image
    st.selectbox(WORDS["picture"], list(options), format_func=options.__getitem__,
                 **bind(page.set, "image", chosen, "ask_picture", ""))
    _about(chosen)
    # accept any type: Clearhead's error names the file, while Streamlit shows the same message for every file
    st.file_uploader(WORDS["own"], key="ask_picture_file", help=WORDS["own_help"],
                     max_upload_size=most_megabytes(LIMITS.picture_bytes), on_change=_bring, args=(page,))
    registered("paste", "js/paste.js", "module.paste")(key="paste", data={"key": "ask_picture_file"})
    if _ERROR.value:
        st.error(escape_markdown(_ERROR.value))


def _about(chosen: str | None) -> None:
    """Draw the chosen picture's author and licence. For an upload, say where it is stored, or that it was deleted;
    other pages still work as long as the answer is cached."""
    if chosen is None:
        return
    try:
        picture = pictures.find(chosen)
    except UserError as error:
        st.caption(escape_markdown(error))
        return
    said = WORDS("made_by", source=escape_markdown(picture.source), licence=picture.licence)
    st.caption(said if picture.licence else WORDS["own_stays"])


HIGH = 150   # height of the picture strip in pixels


def named_patches(record: AttentionRecord, view: View) -> Patches:
    """Return a record's picture, described by its name, and its tokens."""
    return patches_of(record, view.kind, picture_name(record.query.image))


def patch_strip(record: AttentionRecord, view: View, *, key: str, says: str = "", height: int = HIGH,
                on_event: Callable[[Selection], None] | None = None) -> None:
    """Draw a small picture in which the token in focus can be chosen, like a token strip. says: replaces the
    instruction."""
    patches, words = named_patches(record, view), strings("components")["picture"]
    nothing = PatchValues(np.full(len(patches.texts), np.nan, np.float32), patches.label, kind="none")
    shown = Image(patches, nothing, view.token, opacity=0.0, hidden=hidden_tokens(record), says=says or words["choose"])
    picture_view(shown, height=height, key=key, on_event=on_event)


_PICTURE = Kept("")   # the last picture's sha256


def what_it_reads(model: str) -> frozenset[str]:
    """Return what a model reads: "text", "picture" or both. For a model that is not on disk, use the catalogue."""
    fields = reads(model)
    if fields is None:
        offer = sources.catalogue().get(model)
        fields = frozenset({"image"} if offer is not None and offer.pictures else {"text"})
    return frozenset({"picture", *fields & {"text"}} if "image" in fields else {"text"})


def answers_about(model: str) -> bool:
    """Return whether a model on this disk answers a question about a picture."""
    return "prompt" in (reads(model) or ())


def is_unknown(model: str) -> bool:
    """Return whether a model's input is unknown: a hub id or folder that is not on this disk."""
    return reads(model) is None and model not in sources.catalogue()


def _join(image: str | None) -> None:
    """Keep a picture named by a link or a reloaded page for this session, like an upload."""
    if image is None or image in OWN_PICTURES.value:
        return
    with contextlib.suppress(UserError):   # a picture that is gone shows its error where it would be drawn
        picture = pictures.join(image, session().id)
        if not picture.licence:
            OWN_PICTURES.value = OWN_PICTURES.value | {image: picture.name}


def fit_question(page: PageContext) -> None:
    """Replace a vision model on a page of texts, add a picture for a vision model, and give a small model a text that
    it can read instead of the default one. A picture returns with the next vision model."""
    if not page.about.asks_with(page.controls):
        return
    pictured = page.about.pictures and "picture" in what_it_reads(page.model)
    if not (pictured or "text" in what_it_reads(page.model) or is_unknown(page.model)):
        page.correct(**vars(page.state.with_question(model=State().model)))
    state = page.state
    if pictured:
        if state.image is None:
            last = _PICTURE.value or pictures.offered(state.model)[0].sha256
            page.correct(image=pictures.fitting(state.model, last))
        _join(page.state.image)
    elif state.image is not None:
        _PICTURE.value = state.image
        page.correct(image=None)
    # swap the default texts for each other, or for a sentence whose words a small model knows
    plain, compared, question = State().text, WORDS["compared"], WORDS["question"]
    if page.text in (plain, compared, question):
        asks, both = pictured and answers_about(page.model), pictured and "text" in what_it_reads(page.model)
        fitting = example_of(page.model) or (question if asks else compared if both else plain)
        if fitting != page.text and question in (fitting, page.text):   # a question is a turn of a chat
            page.correct(chat=asks and "chat" in sources.locate(page.model).reads)
        page.correct(text=fitting)
