"""The guards of the public server."""
import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.responses import PlainTextResponse

from clearhead.viz.server import guard
from clearhead.viz.server.guard import Doors
from tests.asgi import ask

INNER = PlainTextResponse("inner")


@pytest.mark.parametrize("path", ["/_stcore/metrics", "/demo/_stcore/metrics", "/_stcore/metrics/"])
@pytest.mark.parametrize("method", ["GET", "OPTIONS", "POST"])
def test_metrics_are_closed_unless_a_setting_opens_them(path, method, monkeypatch):
    assert ask(Doors(INNER), path, method)[0] == 404
    assert ask(Doors(INNER), "/_stcore/health", method)[0] == 200
    monkeypatch.setenv("CLEARHEAD_METRICS", "1")
    assert ask(Doors(INNER), path, method)[0] == 200


def test_setting_names_the_sites_that_may_frame_the_app(monkeypatch):
    assert guard.framing() == "'self'" and "frame-ancestors 'self'" in guard.POLICY
    monkeypatch.setenv("CLEARHEAD_FRAMED_BY", "https://moodle.example.org  http://localhost:8000")
    assert guard.framing() == "'self' https://moodle.example.org http://localhost:8000"
    for wrong in ("moodle.example.org", "https://a.org; script-src *", "https://a.org/path", "*"):
        monkeypatch.setenv("CLEARHEAD_FRAMED_BY", wrong)
        with pytest.raises(SystemExit, match="which is no site; give addresses"):
            guard.framing()


def test_few_uploads_run_at_once(monkeypatch):
    inside, most, ended = 0, 0, 0

    async def slow(scope, receive, send):
        nonlocal inside, most, ended
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0)
        inside, ended = inside - 1, ended + 1

    async def many():
        doors = Doors(slow)
        scope = {"type": "http", "method": "PUT", "path": "/demo/_stcore/upload_file/a/b"}
        await asyncio.gather(*(doors(scope, None, None) for _ in range(50)))

    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, many()).result()
    assert most == guard.AT_ONCE and ended == 50


def test_endless_upload_is_ended(monkeypatch):
    monkeypatch.setattr(guard, "PATIENCE", 0.01)

    async def never(scope, receive, send):
        await asyncio.Event().wait()

    status, _, body = ask(Doors(never), "/_stcore/upload_file/a/b", "PUT")
    assert status == 503 and b"try it again" in body
