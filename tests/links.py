"""Links opened without a browser, over Streamlit's protocol: what the server answers does not depend on who draws it,
and drawing costs seconds."""
import asyncio
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

from benchmarks.session import Session

TRAINS = {"run", "train"}   # switches of lessons that train a model, for up to half a minute of a processor


class Page(Session):
    """A session that also keeps the words of its page, as they were sent."""

    def __init__(self, *place):
        self.said: list[str] = []
        super().__init__(*place)

    def _element(self, element) -> None:
        drawn = getattr(element, element.WhichOneof("type"))
        self.said.append(str(getattr(drawn, "body", "")))
        super()._element(element)

    @property
    def words(self) -> str:
        """All of them, without the backslashes that keep Markdown from acting."""
        return "\n".join(self.said).replace("\\", "")


async def _visit(address: str, links: list[dict], name: str) -> list[Page]:
    pages = []
    for params in links:
        pages.append(await Page.open(address, urlencode(params), name))
        await pages[-1].until(lambda: not pages[-1].running)
        await pages[-1].close()
    return pages


def opened(address: str, *links: dict, name: str = "") -> list[Page]:
    """The start page, or the one of this name, by each of these links, one after the other, as newcomers; each has come
    to rest and is closed."""
    with ThreadPoolExecutor(1) as thread:   # where no loop of a browser runs
        return thread.submit(asyncio.run, _visit(address, list(links), name)).result()
