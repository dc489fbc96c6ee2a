"""The picture that a model looks at: one that is shipped, a file of one's own, or a camera shot."""
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import streamlit as st

from model.core import pictures
from model.core.limits import LIMITS
from model.core.query import UserError
from viz.components.files import module_code
from viz.page import PageContext
from viz.session import Kept, session
from viz.text import escape_markdown, strings
from viz.widgets.upload import most_megabytes, take

THUMB = 112   # pixels of the file as it was brought, on the side
OWN_PICTURES = Kept[dict[str, str]]({})   # names of those that were brought here, by sha256
_ERROR = Kept("")                         # what is wrong with the one that was brought last
_PASTE = st.components.v2.component("clearhead_paste", js=module_code("js/paste.js", "module.paste", otherwise=""))


def picture_name(sha256: str | None) -> str:
    """What a picture is called: the title of one that is shipped, the name of a file; "" of one that is not here."""
    if sha256 is None:
        return ""
    try:
        return pictures.find(sha256).name
    except UserError:
        return ""


def picture_options() -> dict[str, str]:
    """{sha256: name} of what one can choose: those that are shipped, those that were brought in this session, and the
    one of a link."""
    chosen = session().state.image
    known = {each.sha256: each.name for each in pictures.offered(session().state.model)} | OWN_PICTURES.value
    return known if chosen is None or chosen in known else known | {chosen: picture_name(chosen)
                                                                    or strings("pictures")["gone"]}


def _bring(page: PageContext, key: str) -> None:
    """Opens what was dropped, pasted or taken; what is wrong with it is said under its place."""
    _ERROR.value = ""
    if st.session_state[key] is None:
        return
    try:
        brought = take(key)
        if brought is None:
            return
        picture = pictures.keep(*brought, session().id)
    except UserError as error:
        _ERROR.value = str(error)
        return
    OWN_PICTURES.value = OWN_PICTURES.value | {picture.sha256: picture.name}
    page.set(image=picture.sha256)


def _choose(page: PageContext) -> None:
    page.set(image=st.session_state["ask_picture"])


def picture_widgets(page: PageContext) -> None:
    """Draws the choice, the place for a file, and the camera."""
    words, options, chosen = strings("pictures"), picture_options(), page.state.image
    st.session_state["ask_picture"] = chosen
    st.selectbox(words["picture"], list(options), format_func=options.__getitem__, key="ask_picture",
                 on_change=_choose, args=(page,))
    _about(chosen)
    # of any type: what is not read gets a sentence that names it, where Streamlit has three words for all files
    st.file_uploader(words["own"], key="ask_picture_file", help=words["own_help"],
                     max_upload_size=most_megabytes(LIMITS.picture_bytes), on_change=_bring,
                     args=(page, "ask_picture_file"))
    _PASTE(key="paste", data={"key": "ask_picture_file"})
    if _ERROR.value:
        st.error(escape_markdown(_ERROR.value))
    with st.expander(words["camera"], on_change="rerun", key="camera-open") as opened:
        if opened.open and not camera_works(st.context.url):
            st.caption(words["no_camera"])
        elif opened.open:
            st.camera_input(words["camera"], key="ask_camera", label_visibility="collapsed",
                            on_change=_bring, args=(page, "ask_camera"))


def _about(chosen: str | None) -> None:
    """Who made the picture that is chosen, and under which licence; of one's own, where it is, or that it is gone:
    other pages draw on, as long as they have the answer."""
    if chosen is None:
        return
    words = strings("pictures")
    try:
        picture = pictures.find(chosen)
    except UserError as error:
        st.caption(escape_markdown(str(error)))
        return
    said = words["made_by"].format(source=escape_markdown(picture.source), licence=picture.licence)
    st.caption(said if picture.licence else words["own_stays"])


def camera_works(url: str | None) -> bool:
    """Whether a browser lets the page of this address have its camera: over HTTPS, or on the same machine (W3C, Secure
    Contexts, 2023)."""
    address = urlsplit(url or "")
    host = (address.hostname or "").lower()
    return address.scheme == "https" or host in ("localhost", "127.0.0.1", "::1") or host.endswith(".localhost")


def picture_pills(page: PageContext) -> None:
    """The pictures as small buttons in a row, for a page that is about them."""
    options: dict[str, str] = picture_options()
    st.session_state["picture-pills"] = page.state.image
    st.pills(strings("pictures")["picture"], list(options), format_func=partial(_short, options), wrap=True,
             key="picture-pills", label_visibility="collapsed", on_change=_from_pills, args=(page,))


def _short(options: dict[str, str], sha256: str) -> Any:
    name = options[sha256]
    return escape_markdown(name if len(name) <= 28 else name[:27] + "…")


def _from_pills(page: PageContext) -> None:
    if st.session_state["picture-pills"] is not None:
        page.set(image=st.session_state["picture-pills"])
