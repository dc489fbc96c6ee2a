"""The interface of a browser engine in these tests, independent of its driver."""
import time
from typing import Any

WIDE, HIGH = 1440, 900
PATIENCE = 60   # seconds, because a busy machine is slow


class Engine:
    """A page in a browser engine. at: address of the open page, if its session is still in its initial state."""

    at: str | None = None

    def open(self, address: str) -> None:
        """Load an http or file URL and record all errors from the start."""
        raise NotImplementedError

    def run(self, script: str) -> Any:
        """Return the result of the JavaScript function in `script`, converted through JSON; await a promise."""
        raise NotImplementedError

    def pointer(self, *steps: tuple[str, float, float]) -> None:
        """Perform pointer actions ("move" | "down" | "up", x, y) in order, in window pixels."""
        raise NotImplementedError

    def wrong(self) -> list[str]:
        """Return the errors on the page since the last call, or since it was opened."""
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def until(self, script: str) -> Any:
        """Wait until the result of the function in `script` is truthy and return it."""
        end = time.perf_counter() + PATIENCE
        while not (found := self.run(script)):
            assert time.perf_counter() < end, f"{type(self).__name__} waited {PATIENCE} s for {script}: {self.wrong()}"
            time.sleep(0.05)
        return found

    def click(self, x: float, y: float) -> None:
        self.pointer(("move", x, y), ("down", x, y), ("up", x, y))

    def drag(self, x: float, y: float, to_x: float, to_y: float) -> None:
        middle = (x + to_x) / 2, (y + to_y) / 2
        self.pointer(("move", x, y), ("down", x, y), ("move", *middle), ("move", to_x, to_y), ("up", to_x, to_y))


class Played(Engine):
    """An engine driven by playwright."""

    def __init__(self, page, done=lambda: None):
        self.page, self.done, self.found = page, done, []
        page.on("pageerror", lambda error: self.found.append(str(error)))
        page.on("console", lambda message: self.found.append(message.text) if message.type == "error" else None)

    def open(self, address: str) -> None:
        self.found.clear()
        self.page.goto(address)

    def run(self, script: str) -> Any:
        return self.page.evaluate(f"({script})()")

    def pointer(self, *steps: tuple[str, float, float]) -> None:
        for kind, x, y in steps:
            self.page.mouse.move(x, y)
            if kind != "move":
                getattr(self.page.mouse, kind)()

    def wrong(self) -> list[str]:
        self.page.evaluate("0")   # by its answer, all earlier messages have arrived
        told, self.found[:] = [each for each in self.found if "404" not in each], []
        return told

    def close(self) -> None:
        self.page.close()
        self.done()
