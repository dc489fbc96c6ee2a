"""Photographs of the screens of My lesson, for its HTML and PDF: which are missing, and taking them.

A screen is photographed in a browser of this server's own, which opens the server's own address. Photographs have one
worker, like downloads, so that one is taken at a time for all visitors, in turn.
"""
import base64
import hashlib
import html
import json
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

import streamlit as st

from clearhead.model.ask.jobs import JobQueue
from clearhead.model.core import pictures
from clearhead.model.core.limits import MB
from clearhead.model.core.query import Progress, UserError
from clearhead.model.sources import Cache
from clearhead.viz.app.link import PASSING, left_out
from clearhead.viz.app.page import LONG_TEXTS, PageContext, lessons, pages, state_of
from clearhead.viz.app.session import Kept, session
from clearhead.viz.app.state import QUESTION
from clearhead.viz.export.handout.entries import target
from clearhead.viz.export.handout.files import Handout, Item, make_words
from clearhead.viz.export.handout.photograph import MARK, TOKEN, Photograph, Screen, expected, photograph
from clearhead.viz.style.text import escape_markdown, page_titles, strings

if TYPE_CHECKING:
    from clearhead.viz.export.handout.page import Photographs

WORDS = strings("handout")

MEGABYTES = 0.2    # of a screen, about, whose figure may have several steps
POLL = 0.2         # seconds between two looks at a photograph that is being taken
_times = deque([8.0], maxlen=20)   # seconds of the last photographs
_SITTER = Kept(False)     # whether this session is the browser that takes the photograph
_TAKING = Kept(False)     # whether photographs are being taken
_REFUSED = Kept[dict[Screen, str]]({})   # why there is no photograph


def _take(screen: Screen, report: Progress) -> Photograph:
    begun = time.perf_counter()
    taken = photograph(screen, report)
    _times.append(time.perf_counter() - begun)
    return taken


QUEUE = JobQueue(_take, Cache(64 * MB))


def _own_server() -> str:
    """Return the address of this server's pages on this machine."""
    host, scheme = st.get_option("server.address"), "https" if st.get_option("server.sslCertFile") else "http"
    base = st.get_option("server.baseUrlPath").strip("/")
    here = "127.0.0.1" if host in (None, "", "0.0.0.0", "::") else host
    return f"{scheme}://{here}:{st.get_option('server.port')}/{base + '/' if base else ''}"


def arrive() -> None:
    """Take over the texts that a photographed page's address leaves out. The frame calls it on a session's first
    run."""
    texts = expected(st.query_params.get(TOKEN, ""))
    if texts is not None:
        _SITTER.value, LONG_TEXTS.value = True, dict(texts)


def state_what_is_shown(page: PageContext) -> None:
    """State on a page that is photographed what it shows. Call it when the page is drawn."""
    if _SITTER.value:
        shown = {field: getattr(page.state, field) for field in QUESTION}
        shown |= {"revision": revision_of(page), "failed": page.failed}
        st.html(f'<p {MARK}="{html.escape(json.dumps(shown))}" hidden></p>'
                "<style>.clearhead-line { visibility: hidden; }</style>")


def revision_of(page: PageContext) -> str:
    """Return the revision of the model that a page uses; "" if there is none."""
    with suppress(UserError):
        return page.revision if page.about.asks_with(page.controls) else ""
    return ""


def screen_of(item: Item, server: str = "") -> Screen | None:
    """Return what to photograph for an entry, None if its page does not exist here. A lesson without a named screen is
    photographed at its first section. server: the address of its pages, by default of this server's own."""
    from clearhead.viz.widgets.lesson import prompts, screens  # imports what would delay the first page

    name, params = target(item.link)
    if name not in pages():
        return None
    state, said = state_of(name, params, dict(item.said["texts"])), item.said
    stated = {each.removesuffix("_z").removesuffix("_id") for each in params} & QUESTION
    shows = {field: getattr(state, field) for field in sorted(stated)}
    shows |= dict.fromkeys(state.absent, "lost")   # no page can state this
    if said["revision"]:
        shows["revision"] = said["revision"]
    wanted = {each: value for each, value in params.items() if each not in ("entry", PASSING)} | {"present": "1"}
    if name in lessons():
        wanted = {"screen": next(iter(screens(name)), ""), "show": "1"} | wanted
        if any(prompt.get("screen") == wanted["screen"] for prompt in prompts(strings(f"lessons/{name}")).values()):
            wanted["screen"] += ".1"   # the picture comes after the question
    return Screen(server or _own_server(), name, tuple(wanted.items()), said["texts"], tuple(shows.items()))


def screen_item(page: PageContext, link: str, title: str) -> Item:
    """Create an entry that shows this page, with what its link cannot hold: long texts and the visitor's own picture.
    Raises UserError if that is too large."""
    image, picture = page.state.image, ""
    if image and image in link and not (own := pictures.find(image)).licence:
        picture = base64.b64encode(own.encoded).decode()
        link = link.replace(image, hashlib.sha256(own.encoded).hexdigest())
    texts = left_out(page.state, page.name, page.about.controls)
    return make_words("screen", "", link=link, title=title, picture=picture, revision=revision_of(page),
                      texts=tuple((short, text) for short, text in texts.items() if short in link))


def bring_picture(item: Item, owner: str = "") -> None:
    """Keep an entry's own picture in this server's memory, where the page in its link looks for it. owner: by default
    this session."""
    if item.said["picture"]:
        pictures.keep(base64.b64decode(item.said["picture"]), item.said["title"], owner or session().id)


def photographs(handout: Handout) -> tuple["Photographs", list[Screen]]:
    """Return {id: photograph or the reason why there is none}, and the screens to be photographed before the list is
    saved."""
    from clearhead.viz.export.handout.pdf import browser  # imports what would delay the first page

    found, missing = dict[str, Photograph | str](), list[Screen]()
    for item in handout.items:
        screen = screen_of(item) if item.kind == "screen" else None
        if screen is None:
            continue
        taken = QUEUE.cache.get(screen) or _REFUSED.value.get(screen)
        if taken:
            found[item.id] = taken
        elif browser():
            bring_picture(item)
            missing.append(screen)
    return found, missing


def begin() -> None:
    """Take the missing photographs, also those refused before, in a callback."""
    _TAKING.value, _REFUSED.value = True, {}


def _stop(missing: list[Screen]) -> None:
    _TAKING.value = False
    _REFUSED.value = _REFUSED.value | dict.fromkeys(missing, WORDS["photograph_stopped"])


def take_missing(found: "Photographs", missing: list[Screen]) -> None:
    """Say what taking the missing photographs costs, or take them, with progress and a stop button. Say which were
    refused."""
    if not missing:
        _TAKING.value = False
        reasons = [reason for reason in found.values() if isinstance(reason, str)]
        if reasons:
            said = " ".join(dict.fromkeys(reasons))
            st.warning(escape_markdown(WORDS("photographs_refused", count=len(reasons), reasons=said)))
            st.button(WORDS["photograph_again"], key="photographs-again", on_click=begin)
        elif found:
            st.caption(WORDS["photographed"])
    elif _TAKING.value:
        _take_all(missing)
    else:
        st.caption(WORDS("photograph_first", count=len(missing), megabytes=len(missing) * MEGABYTES,
                         seconds=len(missing) * sum(_times) / len(_times)))


def _take_all(missing: list[Screen]) -> None:
    who, bar = session().id, st.progress(0.0)
    st.button(WORDS["stop"], key="photographs-stop", on_click=_stop, args=(missing,))
    jobs = {screen: QUEUE.ask(screen, who) for screen in dict.fromkeys(missing)}
    try:
        for place, (screen, job) in enumerate(jobs.items()):
            said = WORDS("photographing", at=place + 1, of=len(jobs), title=page_titles()[screen.page])
            while not job.wait(POLL):   # a Streamlit call, which a click interrupts
                bar.progress(place / len(jobs), text=said)
            try:
                job.result()
            except UserError as error:
                _REFUSED.value = _REFUSED.value | {screen: str(error)}
    finally:
        for job in jobs.values():
            job.withdraw(who)
    st.rerun()
