"""Streamlit's protocol without a browser, on the real app."""
import asyncio
from concurrent.futures import ThreadPoolExecutor

from benchmarks.session import Session


async def _visit(address):
    session = await Session.open(address, "text=one+cat+sat")
    await session.until(lambda: "head" in session.bodies and not session.running)
    await session.send("grid", 17)
    await session.until(lambda: session.bodies["head"][1]["heads"] == [[1, 5]] and not session.running)
    first = dict(session.bodies)
    await session.type("ask_text", "two dogs ran")
    await session.until(lambda: session.bodies["head"][0] > first["head"][0] and not session.running)
    session.page = session.pages["softmax"]   # a click on the menu, and one on the grid that is still there
    await session.send("grid", 18)
    await session.until(lambda: not session.running)
    session.vanish()
    return first, session


def test_a_session_reads_what_a_browser_reads_and_a_click_on_a_page_that_was_left_is_no_error(app):
    with ThreadPoolExecutor(1) as thread:   # where no loop of a browser runs
        first, session = thread.submit(asyncio.run, _visit(app.address)).result()
    assert first["head"][1]["rows"]["texts"] == ["[CLS]", "one", "cat", "sat", "[SEP]"]
    assert first["grid"][2]["cells"].shape == (72, 5, 5)
    assert session.bodies["head"][1]["rows"]["texts"] == ["[CLS]", "two", "dogs", "ran", "[SEP]"]
    assert session.bodies["head"][1]["heads"] == [[1, 5]]
    assert session.wrong == [] and "Traceback" not in app.log.read_text(encoding="utf-8")
