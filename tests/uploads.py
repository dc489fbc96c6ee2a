"""Upload files without a browser, over Streamlit's protocol and its upload endpoint, and create such files."""
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
    """A session that also records its id and each uploader's size limit."""

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
        """Send a file to the upload endpoint and return (HTTP status, file id)."""
        self.uploads += 1
        identity = f"file-{self.uploads}"
        return await asyncio.to_thread(put, self.address, f"{self.id}/{identity}", content, name), identity

    async def drop(self, key: str, content: bytes, name: str) -> int:
        """Drop a file on the uploader with this key, wait for the page's run, and return the HTTP status."""
        status, identity = await self.put(content, name)
        if status == 204:
            state = WidgetState(id=self.ids[key])
            state.file_uploader_state_value.uploaded_file_info.add(file_id=identity, name=name, size=len(content))
            self.typed[self.ids[key]] = state
            await self.rest()
        return status

    async def rest(self) -> None:
        """Run the page to its end, after clearing `said` and `wrong`."""
        self.said.clear()
        self.wrong.clear()
        await self.run()
        await self.until(lambda: not self.running)


def put(address: str, file: str, content: bytes, name: str) -> int:
    """Send a file to the upload endpoint like a browser and return the HTTP status."""
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
    except (BrokenPipeError, ConnectionResetError):   # the server refused the file and stopped reading
        return 413
    finally:
        connection.close()


def npz(weights: np.ndarray, tokens: list[str]) -> bytes:
    """Return an uncompressed file of attention weights, as saved by other tools."""
    target = io.BytesIO()
    np.savez(target, attention=weights.astype(np.float32), tokens=tokens)
    return target.getvalue()


def packed(image: Image.Image, form: str = "PNG", **options: Any) -> bytes:
    """Return a picture as a file in one of Pillow's formats."""
    target = io.BytesIO()
    image.save(target, form, **options)
    return target.getvalue()


def png(pixels: np.ndarray) -> bytes:
    """Return a PNG file of these pixels, uint8."""
    return packed(Image.fromarray(pixels))


def visited(address: str, act: Callable[[Visitor], Coroutine[Any, Any, Any]], query: str = "", name: str = "") -> Any:
    """Return act(visitor) for a new visitor, once the start page, or the page with this name and query, is drawn."""
    async def visit() -> Any:
        visitor = await Visitor.open(address, query, name)
        try:
            await visitor.until(lambda: not visitor.running)
            return await act(visitor)
        finally:
            await visitor.close()

    with ThreadPoolExecutor(1) as thread:   # a thread without playwright's event loop
        return thread.submit(asyncio.run, visit()).result()
