"""The same moves in Chromium, WebKit and Firefox, side by side: while one is looked at, the others draw."""
from collections.abc import Callable, Iterator

from tests.browser.engines.engine import Engine
from tests.browser.engines.painted import differences, painted

# makes moves in an engine; after each it yields a script that is true once the move has led somewhere
Use = Callable[[Engine], Iterator[str]]


class Three:
    def __init__(self, chromium: Engine, *others: Engine):
        self.chromium, self.others = chromium, others

    @property
    def all(self) -> tuple[Engine, ...]:
        """The slowest first, so that it draws while the others are moved."""
        return *self.others, self.chromium

    def differences(self, use: Use) -> dict[str, list[str]]:
        """By engine, in what it differed from Chromium after a move, and what went wrong; engines that did neither are
        left out."""
        found: dict[str, list[str]] = {type(engine).__name__: [] for engine in self.all}
        try:
            for arrived in zip(*map(use, self.all), strict=True):
                for engine, script in zip(self.all, arrived, strict=True):
                    engine.until(script)
                for engine, told in zip(self.others, self._looked_at(), strict=True):
                    found[type(engine).__name__] += told
                for engine in self.all:
                    found[type(engine).__name__] += engine.wrong()
        except BaseException:
            for engine in self.all:
                engine.at = None   # nobody knows where it stands
            raise
        return {name: told for name, told in found.items() if told}

    def _looked_at(self) -> list[list[str]]:
        """In what each of the others differs from Chromium now, which is looked at again before it is believed: on a
        busy machine it, too, may rest while more is to come."""
        told: list[list[str]] = []
        for _ in range(2):
            wanted = painted(self.chromium)
            told = [differences(painted(engine, wanted), wanted) for engine in self.others]
            if not any(told):
                break
        return told
