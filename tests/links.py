"""Open links over Streamlit's protocol, without a browser, in which drawing takes seconds."""
import asyncio
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

from benchmarks.session import Session
from clearhead.viz.app.page_controls import Control
from clearhead.viz.style.text import addresses


def trains(control: Control) -> bool:
    """Return whether the control trains a model, which takes up to half a minute of processor time."""
    return control.start is False and control.name in ("run", "train", "copy")


class Page(Session):
    """A session that also keeps the texts that the server sends for its page."""

    def __init__(self, *place):
        self.said: list[str] = []
        super().__init__(*place)

    def _element(self, element) -> None:
        drawn = getattr(element, element.WhichOneof("type"))
        self.said.append(str(getattr(drawn, "body", "")))
        super()._element(element)

    @property
    def words(self) -> str:
        """All texts, without the backslashes that escape Markdown."""
        return "\n".join(self.said).replace("\\", "")


async def _visit(address: str, links: list[dict], name: str) -> list[Page]:
    pages = []
    for params in links:
        pages.append(await Page.open(address, urlencode(params), addresses().get(name, name)))
        await pages[-1].until(lambda: not pages[-1].running)
        await pages[-1].close()
    return pages


def opened(address: str, *links: dict, name: str = "") -> list[Page]:
    """Open this page, or the start page, with each link's parameters as a new visitor; return the finished pages."""
    with ThreadPoolExecutor(1) as thread:   # a thread without playwright's event loop
        return thread.submit(asyncio.run, _visit(address, list(links), name)).result()
