"""A session of Streamlit without a browser: protobuf messages over a WebSocket (streamlit/proto), as a browser sends
and reads them.

It keeps what a browser keeps: the ids of widgets by their keys, the page's address, and messages that the server may
name by their hash. Of what is drawn it keeps the last body of each component (viz/components/messages.py), with the
clock's time at which it came. """
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

from viz.components.messages import unpack

PATIENCE = 120.0   # seconds
TRIGGER = "$$STREAMLIT_INTERNAL_KEY_{}__events"   # the widget under which a component's events go


class Session:
    """One person's page. `bodies` maps a component's key to (clock, header, arrays); `wrong` holds every error that the
    page showed."""

    def __init__(self, socket: ClientConnection, address: str) -> None:
        self.socket, self.address = socket, address
        self.query = self.page = self.name = ""
        self.pages: dict[str, str] = {}             # by their name in the address
        self.running = True
        self.bodies: dict[str, tuple[float, dict, dict]] = {}
        self.seen: list[tuple[str, dict]] = []      # every body that came, without its arrays
        self.ids: dict[str, str] = {}               # a widget's id by its key
        self.typed: dict[str, WidgetState] = {}     # what this person has set, by id
        self.known: dict[str, ForwardMsg] = {}      # messages that may be named by their hash
        self.wrong: list[str] = []
        self._news = asyncio.Event()
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def open(cls, address: str, query: str = "", name: str = "") -> Self:
        """Return a session on the server at http://…, with its first run asked for: of the page of this name, or the
        one without a name."""
        socket = await connect(f"ws{address[4:]}/_stcore/stream", subprotocols=[Subprotocol("streamlit")],
                               max_size=None, compression=None)
        session = cls(socket, address)
        session.query, session.name = query, name
        await session.run()
        return session

    async def run(self, *triggers: WidgetState) -> None:
        """Ask for a run of the page, with what was typed and with what was clicked just now."""
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_script_hash, state.page_name = self.query, self.page, self.name
        state.context_info.url, state.context_info.timezone = self.address, "UTC"
        state.widget_states.widgets.extend([*self.typed.values(), *triggers])
        state.cached_message_hashes.extend(self.known)
        self.running = True
        await self.socket.send(message.SerializeToString())

    async def type(self, key: str, text: str) -> None:
        """Another text in the field of this key."""
        self.typed[self.ids[key]] = WidgetState(id=self.ids[key], string_value=text)
        await self.run()

    async def press(self, key: str) -> None:
        await self.run(WidgetState(id=self.ids[key], trigger_value=True))

    async def send(self, component: str, value) -> None:
        """An event of a component: what its JavaScript would send."""
        events = json.dumps([{"event": "event", "value": value}])
        await self.run(WidgetState(id=TRIGGER.format(self.ids[component]), json_trigger_value=events))

    async def until(self, ready: Callable[[], bool], seconds: float = PATIENCE) -> None:
        """Wait until something is true of this session; raises TimeoutError after so many seconds, ConnectionError when
        the server is gone."""
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
        """Gone without a word, as a laptop that is shut."""
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
