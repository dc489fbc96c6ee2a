"""A visitor without a browser who uploads files, over Streamlit's protocol and its upload endpoint; and such files."""
import asyncio
import http.client
import io
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from PIL import Image
from streamlit.proto.WidgetStates_pb2 import WidgetState

from tests.links import Page


class Visitor(Page):
    """A session that knows its id, and the size that each uploader says."""

    def __init__(self, *place):
        self.id, self.uploads = "", 0
        self.megabytes: dict[str, int] = {}
        super().__init__(*place)

    def _take(self, message) -> None:
        if message.WhichOneof("type") == "new_session":
            self.id = message.new_session.initialize.session_id
        super()._take(message)

    def _element(self, element) -> None:
        super()._element(element)
        if element.WhichOneof("type") == "file_uploader":
            self.megabytes[element.file_uploader.id.split("-", 2)[2]] = element.file_uploader.max_upload_size_mb

    async def put(self, content: bytes, name: str = "x.npz") -> tuple[int, str]:
        """(HTTP status, id) of a file that is sent to the upload endpoint."""
        self.uploads += 1
        identity = f"file-{self.uploads}"
        return await asyncio.to_thread(put, self.address, f"{self.id}/{identity}", content, name), identity

    async def drop(self, key: str, content: bytes, name: str) -> int:
        """The HTTP status of a file that is dropped on the uploader of this key, whose page then has run."""
        status, identity = await self.put(content, name)
        if status == 204:
            state = WidgetState(id=self.ids[key])
            state.file_uploader_state_value.uploaded_file_info.add(file_id=identity, name=name, size=len(content))
            self.typed[self.ids[key]] = state
            await self.rest()
        return status

    async def rest(self) -> None:
        """A run of the page to its end; `said` and `wrong` are of this run."""
        self.said.clear()
        self.wrong.clear()
        await self.run()
        await self.until(lambda: not self.running)


def put(address: str, file: str, content: bytes, name: str) -> int:
    """The status of a file that is put to the upload endpoint, as a browser does."""
    place = urlsplit(address)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
    try:
        connection.request("GET", place.path + "/_stcore/health")
        answer = connection.getresponse()
        answer.read()
        token = answer.headers["set-cookie"].split("=", 1)[1].split(";")[0]
        head = f'--edge\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        body = head.encode() + content + b"\r\n--edge--\r\n"
        connection.request("PUT", f"{place.path}/_stcore/upload_file/{file}", body,
                           {"X-Xsrftoken": token, "Cookie": f"_streamlit_xsrf={token}",
                            "Content-Type": "multipart/form-data; boundary=edge"})
        return connection.getresponse().status
    except (BrokenPipeError, ConnectionResetError):   # the server has refused and does not read on
        return 413
    finally:
        connection.close()


def npz(weights: np.ndarray, tokens: list[str]) -> bytes:
    """A file of attention as another tool saves it, not compressed."""
    target = io.BytesIO()
    np.savez(target, attention=weights.astype(np.float32), tokens=tokens)
    return target.getvalue()


def packed(image: Image.Image, form: str = "PNG", **options: Any) -> bytes:
    """The file of a picture, in a format of Pillow's."""
    target = io.BytesIO()
    image.save(target, form, **options)
    return target.getvalue()


def png(pixels: np.ndarray) -> bytes:
    """A picture of these pixels, uint8."""
    return packed(Image.fromarray(pixels))


def visited(address: str, act: Callable[[Visitor], Coroutine[Any, Any, Any]], query: str = "", name: str = "") -> Any:
    """What `act` returns for a newcomer whose first page is drawn, or the page of this name by this link."""
    async def visit() -> Any:
        visitor = await Visitor.open(address, query, name)
        try:
            await visitor.until(lambda: not visitor.running)
            return await act(visitor)
        finally:
            await visitor.close()

    with ThreadPoolExecutor(1) as thread:   # where no loop of a browser runs
        return thread.submit(asyncio.run, visit()).result()
