"""Measure in a real browser when Clearhead's messages arrive and when they are painted, for benchmarks.versus_bertviz.

The server is benchmarks.watched, which logs what it computes. A script in the page records each message from the server
and each drawing on a canvas.
"""
import base64
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATIENCE = 120_000   # milliseconds
COLUMNS = 12         # heads per layer of MiniLM
# records messages, drawings by the key of their container, and the last key press or click
WATCH = """
// once for all drawings of one moment; painted a frame after the one in which it was drawn, as BertViz's pages say it
function drawn(pictures) {
    if (pictures.at(-1)?.open) return;
    const picture = {at: performance.now(), open: true};
    pictures.push(picture);
    queueMicrotask(() => { picture.open = false; });
    setTimeout(() => requestAnimationFrame(() => setTimeout(() => { picture.painted = performance.now(); })));
}
window.seen = {frames: [], drawn: {grid: [], head: []}, asked: 0};
window.WebSocket = class extends WebSocket {
    constructor(...given) {
        super(...given);
        this.addEventListener('message', (event) => seen.frames.push([performance.now(), event.data]));
    }
};
for (const name of ['putImageData', 'drawImage']) {
    const own = CanvasRenderingContext2D.prototype[name];
    CanvasRenderingContext2D.prototype[name] = function (...given) {
        own.apply(this, given);
        const host = this.canvas.getRootNode().host;
        for (const key of ['grid', 'head']) if (host?.closest(`.st-key-${key}`)) drawn(seen.drawn[key]);
    };
}
addEventListener('keydown', (event) => { if (event.key === 'Enter') seen.asked = performance.now(); }, true);
addEventListener('pointerdown', () => { seen.asked = performance.now(); }, true);
"""
# resolves when this component's first body since the question has been painted. The page draws the open head before the
# grid, so a grid that arrives before the head belongs to the previous question
DRAWN = """(room) => {
    const start = (data) => new Uint8Array(data, 0, Math.min(data.byteLength, 8000));
    const has = (data, name) =>
        new TextDecoder('latin1').decode(start(data)).includes(`"room":"${name}","part":"body"`);
    const head = seen.frames.findIndex(([at, data]) => at > seen.asked && has(data, 'head'));
    const place = room === 'head' ? head
        : seen.frames.findIndex(([, data], at) => head >= 0 && at >= head && has(data, room));
    const picture = place < 0 ? undefined : seen.drawn[room].find(({ at }) => at > seen.frames[place][0]);
    if (!picture?.painted) return false;
    const since = seen.frames.slice(0, place + 1).filter(([at]) => at > seen.asked);
    const bytes = since.reduce((sum, [, data]) => sum + data.byteLength, 0);
    const [arrived, last] = seen.frames[place], message = new Uint8Array(last);
    let text = '';
    for (let at = 0; at < message.length; at += 8192) text += String.fromCharCode(...message.subarray(at, at + 8192));
    return {asked: seen.asked, arrived, painted: picture.painted, origin: performance.timeOrigin, bytes,
            message: btoa(text)};
}"""
RESTS = "[data-testid=stApp][data-test-script-state=notRunning]"


@dataclass(frozen=True)
class Picture:
    """A picture in the browser: when it was requested, arrived and was painted (Unix time in seconds), the bytes
    received until then, and the message that was drawn."""

    asked: float
    arrived: float
    painted: float
    sent: int
    message: bytes

    @property
    def seconds(self) -> float:
        return self.painted - self.asked

    @property
    def body(self) -> bytes:
        """The component's message, inside Streamlit's message."""
        from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

        return ForwardMsg.FromString(self.message).delta.new_element.bidi_component.bytes


class Page:
    """A browser page on the watched server."""

    def __init__(self, browser, server) -> None:
        self.page, self.server = browser.new_page(viewport={"width": 1440, "height": 900}), server
        self.page.add_init_script(WATCH)

    def open(self, path: str = "") -> None:
        self.page.goto(self.server.address + path)
        self.page.wait_for_selector(".st-key-head .view .board", timeout=PATIENCE)
        self.rest()

    def rest(self) -> None:
        """Wait until everything has been drawn, including what follows the picture."""
        self.page.wait_for_timeout(300)
        self.page.wait_for_selector(RESTS, timeout=PATIENCE)
        self.page.wait_for_timeout(300)

    def ask(self, text: str) -> tuple[Picture, Picture]:
        """Submit a text in the sidebar. Return the pictures of the grid and of the open head."""
        field = self.page.locator("[data-testid=stSidebar] textarea").first
        field.fill(text)
        field.press("Control+Enter")
        return self._picture("grid"), self._picture("head")

    def open_head(self, place: int) -> Picture:
        """Click the head with this index in the grid. Return the picture of the open head."""
        grid = self.page.locator(".st-key-grid .ch.grid").first
        pitch, left, heads = (float(grid.get_attribute(f"data-{name}")) for name in ("pitch", "left", "heads"))
        box, (row, column) = self.page.locator(".st-key-grid canvas").first.bounding_box(), divmod(place, COLUMNS)
        self.page.mouse.click(box["x"] + left + (column + 0.5) * pitch,
                              box["y"] + box["height"] * (row + 0.5) / (heads / COLUMNS))
        return self._picture("head")

    def _picture(self, room: str) -> Picture:
        told = self.page.wait_for_function(DRAWN, arg=room, timeout=PATIENCE, polling="raf").json_value()
        clock = lambda name: (told["origin"] + told[name]) / 1000
        return Picture(clock("asked"), clock("arrived"), clock("painted"), told["bytes"],
                       base64.b64decode(told["message"]))

    def split(self, picture: Picture) -> dict[str, Any]:
        """Split the time of the grid into parts, in seconds. Transfer includes packing and Streamlit's queues;
        preparation is everything before transfer except the model's pass."""
        computed = self._computed(picture.asked)
        model, (_, shown) = computed["Query"][0], computed["OverviewQuery"]
        return {"model": model, "preparation": shown - picture.asked - model, "transfer": picture.arrived - shown,
                "paint": picture.painted - picture.arrived}

    def _computed(self, since: float) -> dict[str, tuple[float, float]]:
        """Return {type of question: (seconds, clock at the end)} for the first question of each type since a time."""
        time.sleep(0.05)   # the log line is written after the answer
        found: dict[str, tuple[float, float]] = {}
        for line in Path(self.server.log).read_text(encoding="utf-8").splitlines():
            words = line.split()
            if words[:1] == ["computed"] and float(words[4]) > since:
                found.setdefault(words[1], (float(words[3]), float(words[4])))
        return found
