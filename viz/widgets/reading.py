"""Whether a model looks at text or at pictures, and which one a page opens that takes only one of the two."""
import contextlib
from dataclasses import replace

from model.ask import sources
from model.core import pictures
from model.core.query import UserError
from viz.page import PageContext
from viz.session import session
from viz.state import State
from viz.text import strings

FETCHED = "dinov2-small"   # offered where no model of pictures is on disk


def what_it_reads(model: str) -> frozenset[str]:
    """"text", "picture", or both. Of a model that is not there it is what the catalogue says."""
    offer = next((offer for offer in sources.catalogue() if offer.id == model), None)
    try:
        sides = sources.sides(model)
    except UserError:
        return frozenset({"picture" if offer is not None and offer.pictures else "text"})
    if "image" not in sides:
        return frozenset({"text"})
    return frozenset({"picture", "text"} if "text" in sides else {"picture"})


def is_unknown(model: str) -> bool:
    """Whether nobody can say what it reads: an id of the hub, or a folder, that is not on this disk."""
    try:
        sources.sides(model)
    except UserError:
        return all(offer.id != model for offer in sources.catalogue())
    return False


def picture_models() -> list[str]:
    """The catalogue's models of pictures that are on this disk, those that were trained here last."""
    return [offer.id for offer in sources.catalogue() if offer.pictures and offer.on_disk]


def _join(image: str | None) -> None:
    """Keeps a picture that a link or a reloaded page named as long as this session, as if it had been brought here."""
    now = session()
    if image is None or image in now.own_pictures:
        return
    with contextlib.suppress(UserError):   # one that is gone is said to be where it would be drawn
        picture = pictures.join(image, now.id)
        if not picture.licence:
            now.own_pictures[image] = picture.name


def fit_question(page: PageContext) -> None:
    """Puts a model that the page takes in the place of one that it does not, and a picture beside a model of pictures;
    what was there comes back with the next page that takes it."""
    if not page.about.asks_with(page.controls):
        return
    now, wanted = session(), page.about.reads
    reads = what_it_reads(now.state.model)
    if wanted != "both" and wanted not in reads and not is_unknown(now.state.model):
        if wanted == "picture":
            now.text_model = now.state.model
            page.set(model=now.picture_model or next(iter(picture_models()), FETCHED))
        else:
            now.picture_model = now.state.model
            page.set(model=now.text_model or State().model)
        reads = what_it_reads(now.state.model)
    pictured = "picture" in reads and wanted != "text"
    if pictured:
        if now.state.image is None:
            last = now.picture or pictures.offered(now.state.model)[0].sha256
            image = last if now.state.model == now.picture_model else pictures.fitting(now.state.model, last)
            now.state = replace(now.state, image=image)
        _join(now.state.image)
    elif now.state.image is not None:
        now.picture, now.state = now.state.image, replace(now.state, image=None)
    _fit_text(pictured and "text" in reads)


def _fit_text(beside: bool) -> None:
    """In the place of the sentence that nobody typed, texts that a picture is compared with, or the other way round.
    beside: whether texts stand beside a picture."""
    now, plain, compared = session(), State().text, strings("pictures")["compared"]
    known, fitting = (plain, compared) if beside else (compared, plain)
    if now.state.text == known:
        now.state = replace(now.state, text=fitting)
