"""A Streamlit session without a browser, which exchanges protobuf messages (streamlit/proto) over a WebSocket.

Like a browser, it stores widget ids by key, the page's address, and messages that the server may refer to by hash. Of
the page's content, it stores the last body of each component (viz/components/messages.py) with its time of arrival.
"""
import asyncio
import json
import time
from collections.abc import Callable
from typing import Self

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets import Subprotocol
from websockets.asyncio.client import ClientConnection, connect

from clearhead.viz.components.messages import unpack

PATIENCE = 120.0   # seconds
TRIGGER = "$$STREAMLIT_INTERNAL_KEY_{}__events"   # key of the widget that receives a component's events


class Session:
    """One person's page. `bodies` maps each component's key to (clock, header, arrays); `wrong` contains all errors
    that the page showed."""

    def __init__(self, socket: ClientConnection, address: str) -> None:
        self.socket, self.address = socket, address
        self.query = self.page = self.name = ""
        self.pages: dict[str, str] = {}             # by name in the URL
        self.running = True
        self.bodies: dict[str, tuple[float, dict, dict]] = {}
        self.seen: list[tuple[str, dict]] = []      # all received bodies, without their arrays
        self.ids: dict[str, str] = {}               # {widget key: id}
        self.typed: dict[str, WidgetState] = {}     # {widget id: state set by this person}
        self.known: dict[str, ForwardMsg] = {}      # {hash: message}
        self.wrong: list[str] = []
        self._news = asyncio.Event()
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def open(cls, address: str, query: str = "", name: str = "") -> Self:
        """Open a session on the server at http://… and request its first run. name: name of the page; "" for the
        default page."""
        socket = await connect(f"ws{address[4:]}/_stcore/stream", subprotocols=[Subprotocol("streamlit")],
                               max_size=None, compression=None)
        session = cls(socket, address)
        session.query, session.name = query, name
        await session.run()
        return session

    async def run(self, *triggers: WidgetState) -> None:
        """Request a run of the page with all widget states and these triggers."""
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_script_hash, state.page_name = self.query, self.page, self.name
        state.context_info.url, state.context_info.timezone = self.address, "UTC"
        state.widget_states.widgets.extend([*self.typed.values(), *triggers])
        state.cached_message_hashes.extend(self.known)
        self.running = True
        await self.socket.send(message.SerializeToString())

    async def type(self, key: str, text: str) -> None:
        """Type a text into the field with this key."""
        self.typed[self.ids[key]] = WidgetState(id=self.ids[key], string_value=text)
        await self.run()

    async def press(self, key: str) -> None:
        await self.run(WidgetState(id=self.ids[key], trigger_value=True))

    async def send(self, component: str, value) -> None:
        """Send an event of a component, as its JavaScript would."""
        events = json.dumps([{"event": "event", "value": value}])
        await self.run(WidgetState(id=TRIGGER.format(self.ids[component]), json_trigger_value=events))

    async def until(self, ready: Callable[[], bool], seconds: float = PATIENCE) -> None:
        """Wait until a condition is true. Raises TimeoutError after `seconds`, and ConnectionError if the connection is
        lost."""
        end = time.perf_counter() + seconds
        while not ready():
            if self._reader.done():
                raise ConnectionError("the server closed the session")
            self._news.clear()
            await asyncio.wait_for(self._news.wait(), max(0.0, end - time.perf_counter()))

    async def close(self) -> None:
        self._reader.cancel()
        await self.socket.close()

    def vanish(self) -> None:
        """Drop the connection without closing it, like a laptop whose lid is closed."""
        self._reader.cancel()
        self.socket.transport.abort()

    async def _read(self) -> None:
        try:
            async for data in self.socket:
                self._take(ForwardMsg.FromString(data))
                self._news.set()
        finally:
            self._news.set()

    def _take(self, message: ForwardMsg) -> None:
        if message.HasField("ref_hash"):
            message = self.known[message.ref_hash]
        elif message.metadata.cacheable:
            self.known[message.hash] = message
        kind = message.WhichOneof("type")
        if kind == "navigation":
            self.page = message.navigation.page_script_hash
            self.pages = {page.url_pathname: page.page_script_hash for page in message.navigation.app_pages}
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "session_status_changed":
            self.running = message.session_status_changed.script_is_running
        elif kind == "page_not_found":
            self.wrong.append("page not found")
        elif kind == "delta" and message.delta.HasField("new_element"):
            self._element(message.delta.new_element)

    def _element(self, element) -> None:
        kind = element.WhichOneof("type")
        drawn = getattr(element, kind)
        if kind == "exception":
            self.wrong.append(drawn.message)
        elif kind == "alert" and drawn.format == drawn.ERROR:
            self.wrong.append(drawn.body)
        identity = getattr(drawn, "id", "")
        if identity.startswith("$$ID-"):
            self.ids[identity.split("-", 2)[2]] = identity
        if kind == "bidi_component" and drawn.bytes:
            header, arrays = unpack(drawn.bytes)
            if header["part"] == "body":
                self.bodies[header["room"]] = (time.perf_counter(), header, arrays)
                self.seen.append((header["room"], header))
