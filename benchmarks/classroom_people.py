"""The simulated people of benchmarks.classroom: WebSocket sessions, browsers, one who trains a model, and some who
disconnect."""
import asyncio
import base64
import random
import time
from dataclasses import dataclass, field
from urllib.parse import urlencode

import numpy as np

from benchmarks.clearhead_pages import DRAWN, WATCH
from benchmarks.session import Session
from clearhead.viz.components.messages import unpack

HEADS = 72              # heads of MiniLM, 12 per layer
PATIENCE = 60.0         # timeout for an answer in seconds
CHANGES = (0.4, 0.7)    # times of opening other heads, as fractions of the time between two questions
# each word is one token in MiniLM's vocabulary; the tokens of an answer therefore identify its text
WORDS = ("time year people way day man thing woman life child world school state family student group country problem "
         "hand part place case week "
         "company system program question work government number night point home water room mother area money story "
         "fact month right study book "
         "eye job word business issue side kind head house service friend father power hour game line end member law "
         "car city")


def text_of(person: str, question: int, tokens: int) -> str:
    """Return a unique text with this number of tokens, including two special tokens."""
    chance = random.Random(f"{person} {question}")
    return " ".join(chance.choices(WORDS.split(), k=tokens - 2))


@dataclass
class Person:
    """A person's questions and answers. seconds: times of the questions and of the other heads. pictures: received
    pictures as (text, cells of the grid)."""

    name: str
    tokens: int
    questions: list[float] = field(default_factory=list)
    heads: list[float] = field(default_factory=list)
    pictures: list[tuple[str, np.ndarray]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    foreign: int = 0   # number of answers to a text that this person did not ask about

    @property
    def kind(self) -> str:
        return self.name.split()[0]   # "client" or "browser"


@dataclass(frozen=True)
class Hour:
    """The schedule of questions: from `start` (time.perf_counter) on, each person asks one question per `period` in
    seconds."""

    start: float
    period: float
    questions: int
    people: int

    def moments(self, seat: int, question: int) -> tuple[float, float]:
        """Return the times of this question and the next one, in periods. The order of people changes in every period,
        such that no one always follows the longest texts."""
        this, after = (number + random.Random(number).sample(range(self.people), self.people)[seat] / self.people
                       for number in (question, question + 1))
        return this, after

    async def reach(self, turns: float) -> None:
        await asyncio.sleep(max(0.0, self.start + turns * self.period - time.perf_counter()))


def tokens_of(header: dict) -> str:
    """Return the text of the open head in a message."""
    return " ".join(header["rows"]["texts"][1:-1])


async def attend(person: Person, session: Session, hour: Hour, seat: int) -> None:
    """Ask one person's questions over a WebSocket, and open other heads in between."""
    chance, mine = random.Random(person.name), set()
    try:
        await session.until(lambda: not session.running, PATIENCE)
        opening = len(session.seen)
        for question in range(hour.questions):
            this, after = hour.moments(seat, question)
            await hour.reach(this)
            text = text_of(person.name, question, person.tokens)
            mine.add(text)
            await _ask(person, session, text)
            for share in CHANGES:
                await hour.reach(this + share * (after - this))
                await _open(person, session, chance.randrange(HEADS))
        await session.until(lambda: not session.running, PATIENCE)
        person.foreign += sum(tokens_of(header) not in mine for room, header in session.seen[opening:]
                              if room == "head")
    except (TimeoutError, ConnectionError) as error:
        person.wrong.append(f"{type(error).__name__}: {error}")
    person.wrong += session.wrong


async def _ask(person: Person, session: Session, text: str) -> None:
    begun = time.perf_counter()
    await session.type("ask_text", text)
    await session.until(lambda: session.bodies["head"][0] > begun
                        and tokens_of(session.bodies["head"][1]) == text, PATIENCE)
    # the page draws the open head before the grid, so an earlier grid may be the previous text's
    drawn = session.bodies["head"][0]
    await session.until(lambda: session.bodies["grid"][0] > drawn, PATIENCE)
    person.questions.append(time.perf_counter() - begun)
    person.pictures.append((text, session.bodies["grid"][2]["cells"]))


async def _open(person: Person, session: Session, place: int) -> None:
    begun, wanted = time.perf_counter(), [list(divmod(place, 12))]
    if session.bodies["head"][1]["heads"] == wanted:
        return
    await session.send("grid", place)
    await session.until(lambda: session.bodies["head"][1]["heads"] == wanted, PATIENCE)
    person.heads.append(time.perf_counter() - begun)


async def vanish(address: str, name: str) -> None:
    """Ask about a long text and disconnect before the answer."""
    session = await Session.open(address)
    await session.until(lambda: not session.running, PATIENCE)
    await session.type("ask_text", text_of(name, 0, 512))
    await asyncio.sleep(0.05)
    session.vanish()


async def browse(person: Person, page, address: str, hour: Hour, seat: int) -> None:
    """Ask one person's questions in a real browser. The time ends when the grid is painted."""
    from playwright.async_api import Error

    page.on("pageerror", lambda error: person.wrong.append(str(error)))
    try:
        await page.add_init_script(WATCH)
        await page.goto(address)
        await page.wait_for_selector(".st-key-head .view .board", timeout=PATIENCE * 1000)
        for question in range(hour.questions):
            this, after = hour.moments(seat, question)
            await hour.reach(this)
            text = text_of(person.name, question, person.tokens)
            field = page.locator("[data-testid=stSidebar] textarea").first
            await field.fill(text)
            await field.press("Control+Enter")
            grid, head = [await _drawn(page, room) for room in ("grid", "head")]
            person.questions.append(grid[0])
            person.foreign += tokens_of(head[1]) != text
            person.pictures.append((text, grid[2]["cells"]))
            await hour.reach(this + CHANGES[0] * (after - this))
            await page.locator(".st-key-grid .scroll").first.press("ArrowRight")
            await page.locator(".st-key-grid .scroll").first.press("Enter")
            person.heads.append((await _drawn(page, "head"))[0])
        if await page.locator("[data-testid=stException], [data-testid=stAlertContentError]").count():
            person.wrong.append("the page shows an error")
    except Error as error:
        person.wrong.append(str(error).splitlines()[0])


async def _drawn(page, room: str) -> tuple[float, dict, dict]:
    """Return (seconds, header, arrays) of a component's first picture since the last key press."""
    from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

    told = await (await page.wait_for_function(DRAWN, arg=room, timeout=PATIENCE * 1000, polling=50)).json_value()
    message = ForwardMsg.FromString(base64.b64decode(told["message"]))
    return (told["painted"] - told["asked"]) / 1000, *unpack(message.delta.new_element.bidi_component.bytes)


async def train(person: Person, page, address: str, end: float) -> None:
    """Train a small model on the page How heads form and watch it until the end of the lesson."""
    from playwright.async_api import Error

    page.on("pageerror", lambda error: person.wrong.append(str(error)))
    try:
        await page.goto(f"{address}/training?{urlencode({'film': 'own', 'steps': 6000})}")
        await page.locator(".st-key-train button").click(timeout=PATIENCE * 1000)
        progress = page.locator(".st-key-own-training")
        await progress.locator("[data-testid=stProgress], [data-testid=stAlertContentSuccess]").first.wait_for(
            timeout=PATIENCE * 1000)
        await asyncio.sleep(max(0.0, end - time.perf_counter()))
        if await page.locator("[data-testid=stException], [data-testid=stAlertContentError], "
                              "[data-testid=stAlertContentWarning]").count():
            person.wrong.append("the training's page shows an error")
        if not await progress.locator("[data-testid=stProgress], [data-testid=stAlertContentSuccess]").count():
            person.wrong.append("the training is gone")
    except Error as error:
        person.wrong.append(str(error).splitlines()[0])
