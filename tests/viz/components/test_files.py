"""The URLs of the browser's files, and their content."""
import gzip

import pytest
import streamlit
from plotly.offline import get_plotlyjs
from starlette.applications import Starlette

from clearhead.viz.components import files
from tests.asgi import ask

NAMES = sorted(path.relative_to(files.FOLDER).as_posix() for path in files.FOLDER.rglob("*")
               if path.suffix in (".js", ".css"))


@pytest.fixture(scope="module")
def app():
    return Starlette(routes=files.routes(), middleware=[files.COMPRESSION])


def test_files_are_served_compressed_and_cached_for_a_year(app):
    for name in (*NAMES, files.PLOTLY):
        there = get_plotlyjs().encode() if name == files.PLOTLY else (files.FOLDER / name).read_bytes()
        status, headers, body = ask(app, files.address(name), accept_encoding="gzip, br")
        packed = headers.get("content-encoding") == "gzip"
        assert status == 200 and packed and headers["vary"] == "Accept-Encoding"
        assert headers["cache-control"] == "public, max-age=31536000, immutable"
        assert headers["content-type"].startswith("text/css" if name.endswith("css") else "text/javascript")
        assert int(headers["content-length"]) == len(body) and (gzip.decompress(body) if packed else body) == there
        status, headers, body = ask(app, files.address(name))
        assert status == 200 and "content-encoding" not in headers and body == there


def test_other_versions_are_not_found(app):
    for name in ("js/shared.js", files.PLOTLY):
        old = files.address(name).replace(files.version(name), "0123456789abcdef")
        status, headers, body = ask(app, old, accept_encoding="gzip")
        assert (status, headers["cache-control"]) == (404, "no-store") and b"<" not in body
    for name in ("js/none.js", "component.py", "../theme.py", "../../README.md", ""):
        assert ask(app, f"/browser/{files.version('js/shared.js')}/{name}")[0] == 404
    assert ask(app, files.address("js/shared.js"), "POST")[0] == 405


def test_files_are_served_under_any_base_path(app, monkeypatch):
    for path, start in (("demo", "/demo/browser/"), ("/a/b/", "/a/b/browser/"), ("", "/browser/")):
        monkeypatch.setattr(streamlit, "get_option", lambda name, path=path: {"server.baseUrlPath": path}[name])
        assert files.address("js/svg.js").startswith(start) and ask(app, files.address("js/svg.js"))[0] == 200


RUN = """async (_, code) => {
    const { default: draw } = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
    const parentElement = document.createElement("div"), data = ["kept", "1"];
    const ended = await draw({ parentElement, data });
    ended?.();
    return [parentElement.textContent, document.cookie];
}"""


def test_inline_code_takes_its_function_from_the_file(run_module):
    code = files.module_code("js/cookie.js", "module.cookie")
    assert code.count("\n") == 3 and run_module("js/svg.js", RUN, code) == ["", "kept=1"]


def test_missing_file_says_what_to_do(run_module):
    code = files.module_code("js/cookie.js", "module.cookie").replace(files.version("js/cookie.js"), "0" * 16)
    said, cookie = run_module("js/svg.js", RUN, code)
    assert said.endswith("Reload the page.") and cookie == ""
    silent = files.module_code("js/gone.js", "module.gone", otherwise="")
    assert run_module("js/svg.js", RUN, silent) == ["", ""]


@pytest.mark.parametrize(("old", "new"), [
    ("/atlas?across=entropy&heads=1,2", "corpus?across=entropy&heads=1,2"), ("/atlas", "corpus"),
    ("/measures?text=a+%26+b", "corpus?over=text&text=a+%26+b"), ("/under/a/path/measures", "corpus?over=text"),
    ("/translate?model=minilm&word=3&open=1.2",
     "./?model=translator&kind=cross&written=1&section=words&token=3&layer=1&head=2")])
def test_old_address_leads_to_the_new_page(app, old, new):
    status, headers, _ = ask(app, old)
    assert (status, headers["location"]) == (307, new)
