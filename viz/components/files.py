"""What a browser gets from this server beside Streamlit's own files: the components' modules and style sheets, and
plotly.js, the one of the plotly package, with which handouts and exports draw too; and where a page is that an old
address names.

The address of each holds a hash of what is in it, the modules' one hash of them all, as they import one another by
their places in the folder. So a browser keeps them for a year, and a page never meets modules of another version: at
an address with another hash there is nothing.
"""
import functools
import gzip
import hashlib
import json
import time
from pathlib import Path
from urllib.parse import parse_qsl

from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from viz.text import strings

FOLDER = Path(__file__).parent
PLACE = "browser"   # the folder in every address
PLOTLY = "plotly.min.js"
# pages that became parts of another: where each is now, and the parameters that lead to its part
MOVED = {"atlas": ("corpus", ""), "measures": ("corpus", "over=text")}
GRAMMAR = {"treebank", "relation", "tree", "drawn"}   # of the old page atlas, whose part of grammar is its own page
TYPES = {".js": "text/javascript", ".css": "text/css"}
# of every answer: Streamlit sends its own 3.6 MB as they are
COMPRESSION = Middleware(GZipMiddleware, compresslevel=5)
YEAR = "public, max-age=31536000, immutable"


@functools.cache
def _modules() -> dict[str, bytes]:
    """Return every module and style sheet of this folder by its path in it, as they were when they were first
    wanted."""
    return {path.relative_to(FOLDER).as_posix(): path.read_bytes()
            for path in sorted(FOLDER.rglob("*")) if path.suffix in TYPES}


def content(name: str) -> bytes:
    """Return a file as it is. Raises KeyError for a name that none has."""
    if name != PLOTLY:
        return _modules()[name]
    from plotly.offline import get_plotlyjs

    return get_plotlyjs().encode()


@functools.cache
def _version_of(group: str) -> str:
    files = {PLOTLY: content(PLOTLY)} if group == PLOTLY else _modules()
    digest = hashlib.sha256()
    for name, text in files.items():
        digest.update(f"{name} {len(text)}\n".encode() + text)
    return digest.hexdigest()[:16]


def version(name: str) -> str:
    """Return the hash in a file's address: plotly's own, or that of all modules."""
    return _version_of(PLOTLY if name == PLOTLY else "modules")


def address(name: str) -> str:
    """Return where a browser finds a file, under the path of the server if it has one."""
    import streamlit as st

    base = st.get_option("server.baseUrlPath").strip("/")
    return f"{'/' + base if base else ''}/{PLACE}/{version(name)}/{name}"


def module_code(name: str, function: str, otherwise: str | None = None, beside: str = "") -> str:
    """Return the inline code of a component of Streamlit's, whose function comes from a module.

    function: JavaScript that gives it, or a promise of it, from `module`. otherwise: what stands in its place where the
    files cannot be had, the advice to load the page anew unless it says something else. beside: a module that
    `function` will import, to be fetched meanwhile: each step of a chain of imports waits for the server.

    No await at the top: in Safari a second import of a module that waits so does not wait for it.
    """
    message = strings("frame")["files_missing"] if otherwise is None else otherwise
    fetched = f"import(new URL({json.dumps(address(beside))}, document.baseURI)).catch(() => {{}});\n" if beside else ""
    return (f"// {name}, from the server's own files\n{fetched}"
            f"const drawing = import(new URL({json.dumps(address(name))}, document.baseURI))"
            f".then((module) => {function})"
            f".catch(() => ({{ parentElement }}) => {{ parentElement.textContent = {json.dumps(message)}; }});\n"
            "export default async (call) => (await drawing)(call);\n")


@functools.cache
def _compressed(name: str) -> bytes:
    """Return the file as gzip, made once: a class of thirty would wait 30 × 0.15 s for plotly alone."""
    return gzip.compress(content(name), mtime=0)


async def answer(request: Request) -> Response:
    """Return the file that an address names, or 404."""
    name = request.path_params["name"]
    if name not in {PLOTLY, *_modules()} or request.path_params["version"] != version(name):
        return Response("There is no such file in this version.", 404, {"Cache-Control": "no-store"})
    headers = {"Cache-Control": YEAR, "Vary": "Accept-Encoding"}
    if "gzip" not in request.headers.get("Accept-Encoding", ""):
        return Response(content(name), 200, headers, TYPES[Path(name).suffix])
    return Response(_compressed(name), 200, headers | {"Content-Encoding": "gzip"}, TYPES[Path(name).suffix])


async def redirect(request: Request) -> Response:
    """Send a browser from the address of a page that has moved to its present one, parameters included."""
    return RedirectResponse(moved(request.url.path.rsplit("/", 1)[-1], request.url.query))


def moved(page: str, query: str) -> str:
    """Return the relative address of what an old page's address led to. page: of MOVED; query: without its "?"."""
    name, part = MOVED[page]
    if page == "atlas" and GRAMMAR & dict(parse_qsl(query, keep_blank_values=True)).keys():
        name = "grammar"
    query = "&".join(filter(None, (part, query)))
    return f"{name}?{query}" if query else name


QUIET = 1.5   # seconds without a request after which browsers are taken to have drawn their pages


class NotedRequests:
    """ASGI middleware that notes when a browser was last sent a file."""

    last = 0.0   # as time.perf_counter has it

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        try:
            await self.app(scope, receive, send)
        finally:
            NotedRequests.last = time.perf_counter()


def browsers_rest() -> bool:
    """Return whether no browser has asked for a file for a while, so that what is computed now delays no picture."""
    return time.perf_counter() - NotedRequests.last > QUIET


def routes() -> list[Route]:
    """For st.App, which gives its routes no base path: these answer under any."""
    old = [path for page in MOVED for path in (f"/{page}", f"/{{base:path}}/{page}")]
    return [Route("/{base:path}" + PLACE + "/{version}/{name:path}", answer), *(Route(path, redirect) for path in old)]
