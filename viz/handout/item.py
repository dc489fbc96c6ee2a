"""One figure of a handout: what it draws, what is said of it, and the way back to where it came from."""
import uuid
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from model.core.limits import LIMITS, parse_json
from model.core.query import UserError
from viz.handout import charts, parts, pictures, tables

KINDS = ("head_view", "head_grid", *parts.PARTS, "chart", "table")


@dataclass(frozen=True)
class Item:
    """A figure with its words. Raises UserError for anything that an item cannot be, so that whatever comes from a file
    is checked by being made."""

    kind: str           # of KINDS: the component that draws it, or a chart or a table
    body: bytes         # the component's message (viz/components/messages.py); plotly's JSON; a table's cells as JSON
    state: bytes = b""  # the component's second message; charts and tables have none
    caption: str = ""   # what the reader is told
    about: str = ""     # where it comes from, in words
    link: str = ""      # the address of the state, "" if there is none
    source: str = ""    # its provenance as JSON, for machines
    # of the item in its handout
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UserError("This handout holds a figure of a kind that Clearhead does not draw; save it again with "
                            "the version that made it.")
        for name, limit in (("caption", "handout_caption"), ("about", "handout_about"), ("link", "link_length"),
                            ("source", "handout_source")):
            LIMITS.refuse_above(limit, len(getattr(self, name)), f"The {name} of a figure", "shorten it")
        if self.link and urlsplit(self.link).scheme not in ("http", "https"):
            raise UserError("The link of a figure is not the address of a web page; remove it.")
        _object(self.source)
        own = {"chart": charts.check_chart, "table": tables.check_table}.get(self.kind)
        body, state = (own(self.body, self.state) if own
                       else pictures.check_picture(self.kind, self.body, self.state, self.id))
        object.__setattr__(self, "body", body)
        object.__setattr__(self, "state", state)

    @property
    def nbytes(self) -> int:
        """Bytes of the figure and its words."""
        return sum(map(len, (self.body, self.state, self.caption, self.about, self.link, self.source)))

    def with_caption(self, caption: str) -> "Item":
        """The same figure with another caption."""
        return replace(self, caption=caption)


def _object(source: str) -> None:
    """A provenance is an object of JSON, or nothing."""
    try:
        whole = source.encode("utf-8", "replace")
        fits = not source or isinstance(parse_json(whole, "The provenance of a figure"), dict)
    except ValueError:
        fits = False
    if not fits:
        raise UserError("The provenance of a figure cannot be read; take the figure out of the handout.")
