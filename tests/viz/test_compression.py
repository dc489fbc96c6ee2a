"""What a browser may keep for good travels compressed, and all else as it was."""
import gzip

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tests.asgi import ask
from viz.compression import Compression

FOREVER, TEXT = "public, immutable, max-age=31536000", b"let x = 1;\n" * 1000
ANSWERS = {
    "/script": (200, "text/javascript; charset=utf-8", FOREVER),
    "/picture": (200, "font/woff2", FOREVER),
    "/page": (200, "text/html", "no-cache"),
    "/media": (200, "text/csv", "public"),
    "/part": (206, "text/javascript", FOREVER),
}


def endpoint(status: int, kind: str, cache: str):
    def answer(request):
        pieces = (TEXT[at:at + 999] for at in range(0, len(TEXT), 999))   # as a file comes
        return StreamingResponse(pieces, status, {"Cache-Control": cache, "Content-Length": str(len(TEXT))}, kind)
    return answer


@pytest.fixture
def app():
    done = {"Cache-Control": FOREVER, "Content-Encoding": "br", "Content-Type": "text/css"}
    return Starlette(routes=[Route("/done", lambda request: Response(b"x", headers=done)),
                             *(Route(path, endpoint(*answer)) for path, answer in ANSWERS.items())],
                     middleware=[Middleware(Compression)])


def test_a_text_that_never_changes_is_compressed(app):
    for _ in range(2):
        status, headers, body = ask(app, "/script", accept_encoding="gzip, deflate")
        assert (status, headers["content-encoding"], headers["vary"]) == (200, "gzip", "Accept-Encoding")
        assert headers["cache-control"] == FOREVER and int(headers["content-length"]) == len(body) < 200
        assert gzip.decompress(body) == TEXT


def test_a_browser_that_cannot_read_it_gets_it_plain(app):
    assert ask(app, "/script")[2] == ask(app, "/script", accept_encoding="br")[2] == TEXT


@pytest.mark.parametrize("path", ["/picture", "/page", "/media", "/part"])
def test_all_else_passes_as_it_is(app, path):
    status, headers, body = ask(app, path, accept_encoding="gzip")
    assert status == ANSWERS[path][0] and "content-encoding" not in headers and body == TEXT


def test_what_is_compressed_already_is_left_alone_and_so_is_a_question_for_headers(app):
    assert ask(app, "/done", accept_encoding="gzip")[2] == b"x"
    assert "content-encoding" not in ask(app, "/script", "HEAD", accept_encoding="gzip")[1]
