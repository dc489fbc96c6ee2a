"""Whether a model looks at text or at pictures, and which one a page opens that takes only one of the two."""
import contextlib

from model.ask import sources
from model.core import pictures
from model.core.query import UserError
from viz.page import PageContext
from viz.session import Kept, session
from viz.state import State
from viz.text import strings
from viz.widgets.pictures.choice import OWN_PICTURES

FETCHED = "dinov2-small"   # offered where no model of pictures is on disk
_TEXT_MODEL = Kept("")      # the last model of text, for pages that take no other
_PICTURE_MODEL = Kept("")   # the last model of pictures, for the page Pictures
_PICTURE = Kept("")         # the last picture, by its sha256


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
    if image is None or image in OWN_PICTURES.value:
        return
    with contextlib.suppress(UserError):   # one that is gone is said to be where it would be drawn
        picture = pictures.join(image, session().id)
        if not picture.licence:
            OWN_PICTURES.value = OWN_PICTURES.value | {image: picture.name}


def fit_question(page: PageContext) -> None:
    """Puts a model that the page takes in the place of one that it does not, and a picture beside a model of pictures;
    what was there comes back with the next page that takes it."""
    if not page.about.asks_with(page.controls):
        return
    wanted, reads = page.about.reads, what_it_reads(page.state.model)
    if wanted != "both" and wanted not in reads and not is_unknown(page.state.model):
        if wanted == "picture":
            _TEXT_MODEL.value = page.state.model
            model = _PICTURE_MODEL.value or next(iter(picture_models()), FETCHED)
        else:
            _PICTURE_MODEL.value = page.state.model
            model = _TEXT_MODEL.value or State().model
        page.correct(**vars(page.state.with_question(model=model)))
        reads = what_it_reads(model)
    state, pictured = page.state, "picture" in reads and wanted != "text"
    if pictured:
        if state.image is None:
            last = _PICTURE.value or pictures.offered(state.model)[0].sha256
            page.correct(image=last if state.model == _PICTURE_MODEL.value else pictures.fitting(state.model, last))
        _join(page.state.image)
    elif state.image is not None:
        _PICTURE.value = state.image
        page.correct(image=None)
    # in the place of the sentence that nobody typed, texts that a picture is compared with, or the other way round
    plain, compared = State().text, strings("pictures")["compared"]
    known, fitting = (plain, compared) if pictured and "text" in reads else (compared, plain)
    if state.text == known:
        page.correct(text=fitting)
