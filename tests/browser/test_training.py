"""The page How heads form in a real browser: the film, and a training that ends with its page and delays nobody."""
import re
import time
from contextlib import suppress

import psutil
import pytest
from playwright.sync_api import expect

from clearhead.viz.style.text import strings
from tests import links
from tests.browser.watch import PATIENCE


def trainings(server: int) -> list[psutil.Process]:
    """The trainings that the server has started."""
    found = []
    for process in psutil.Process(server).children():
        with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            if "clearhead.model.training.worker" in process.cmdline():
                found.append(process)
    return found


def ended(server: int, seconds: float = 30) -> bool:
    end = time.perf_counter() + seconds
    while trainings(server) and time.perf_counter() < end:
        time.sleep(0.2)
    return not trainings(server)


def test_film_moves_and_states_when_the_head_forms(watch):
    seen = watch("/training")
    expect(seen.main.get_by_text("It reaches one half between step")).to_be_visible(timeout=PATIENCE)
    title, first = (seen.main.get_by_role("heading", name=re.compile(rf"All heads at step {number}\b"))
                    for number in (r"\d", 0))
    expect(title).to_be_visible(timeout=PATIENCE)
    expect(first).to_have_count(0)
    seen.main.get_by_role("slider").first.press("Home")
    expect(first).to_be_visible(timeout=PATIENCE)
    assert seen.rest().params()["step"] == ["0"]
    expect(title).to_have_count(1)


@pytest.mark.rest
def test_training_ends_with_its_page(watch, app):
    words, server = strings("training")["settings"], app.pid
    seen = watch("/training?film=own&steps=6000&layers=2&heads=2")
    seen.main.get_by_role("button", name=words["start"], exact=True).click()
    title = seen.main.get_by_role("heading", name="All heads at step")
    expect(title).to_be_visible(timeout=PATIENCE)
    first = title.inner_text()
    assert len(trainings(server)) == 1
    expect(title.filter(has_not_text=first)).not_to_have_count(0, timeout=PATIENCE)   # the heads follow the training
    other, = links.opened(app.address, {})                            # somebody else is served meanwhile
    assert other.wrong == [] and "head" in other.bodies
    seen.page.reload()
    expect(title.filter(has_not_text=first)).not_to_have_count(0, timeout=PATIENCE)   # F5 does not end it
    assert len(trainings(server)) == 1
    seen.main.get_by_role("button", name=words["stop"], exact=True).click()
    expect(seen.main.get_by_text("Stopped at step")).to_be_visible(timeout=PATIENCE)
    assert ended(server)
    seen.main.get_by_role("button", name=words["again"], exact=True).click()
    expect(seen.main.get_by_role("button", name=words["stop"], exact=True)).to_be_visible(timeout=PATIENCE)
    assert len(trainings(server)) == 1
    seen.follow_menu("corpus")
    expect(seen.main.get_by_role("heading", name=strings("corpus")["question"])).to_be_visible(timeout=PATIENCE)
    assert ended(server)
    seen.rest()
