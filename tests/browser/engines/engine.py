"""What a browser's engine can do for these tests, whoever drives it."""
import time
from typing import Any

WIDE, HIGH = 1440, 900
PATIENCE = 60   # seconds: on a busy machine everything comes, but late


class Engine:
    """One page of one engine. at: whose session goes on in it, if it is as it began."""

    at: str | None = None

    def open(self, address: str) -> None:
        """Loads http://… or file://… and listens to its errors from its first line."""
        raise NotImplementedError

    def run(self, script: str) -> Any:
        """What the function in `script` gives, as JSON has it; a promise is waited for."""
        raise NotImplementedError

    def pointer(self, *steps: tuple[str, float, float]) -> None:
        """("move" | "down" | "up", x, y) in pixels of the window, one after the other."""
        raise NotImplementedError

    def wrong(self) -> list[str]:
        """What went wrong on the page since this was asked, or since it was opened."""
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def until(self, script: str) -> Any:
        """What the function in `script` gives, once that is something."""
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
    """An engine that playwright drives."""

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
        self.page.evaluate("0")   # what the page said before has arrived now
        told, self.found[:] = [each for each in self.found if "404" not in each], []
        return told

    def close(self) -> None:
        self.page.close()
        self.done()
