"""Serve the components' modules and style sheets, and plotly.js from the plotly package (which handouts and exports
also use), and redirect the URLs of moved pages.

Each URL contains a content hash; modules share one hash, since they import one another by path. Browsers cache the
files for a year, and a page never loads modules of another version, because URLs with other hashes return 404.
"""
import functools
import gzip
import hashlib
import json
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from clearhead.viz.style.text import strings

FOLDER = Path(__file__).parent
PLACE = "browser"   # folder name in every URL
PLOTLY = "plotly.min.js"
# pages that are now parts of others: old name → (current page, parameters that select the part)
MOVED = {"atlas": ("corpus", ""), "measures": ("corpus", "over=text"),
         "pronouns": ("coreference", ""), "faithfulness": ("explain", ""),   # titles that are typed as addresses
         "pictures": ("heads", "model=marked-digit"),
         "next_word": ("heads", "model=stories&lens=text&scale=root&section=next_word"),
         "translate": ("heads", "model=translator&kind=cross&written=1&section=words")}
FITTING = {"pictures": "pictures", "next_word": "writes", "translate": "translates"}   # the models of a part
RENAMED = {"word": "token", "side": "kind", "wrote": "continuation"}   # parameters that have another name now
TYPES = {".js": "text/javascript", ".css": "text/css"}
# for all responses, because Streamlit serves its own 3.6 MB uncompressed
COMPRESSION = Middleware(GZipMiddleware, compresslevel=5)
YEAR = "public, max-age=31536000, immutable"


@functools.cache
def _modules() -> dict[str, bytes]:
    """Read all modules and style sheets of this folder once and return {path: content}."""
    return {path.relative_to(FOLDER).as_posix(): path.read_bytes()
            for path in sorted(FOLDER.rglob("*")) if path.suffix in TYPES}


def content(name: str) -> bytes:
    """Return a file's content. Raises KeyError for an unknown name."""
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
    """Return the hash in a file's URL: plotly's own, or the one shared by all modules."""
    return _version_of(PLOTLY if name == PLOTLY else "modules")


def address(name: str) -> str:
    """Return a file's URL path, below the server's base path if there is one."""
    import streamlit as st

    base = st.get_option("server.baseUrlPath").strip("/")
    return f"{'/' + base if base else ''}/{PLACE}/{version(name)}/{name}"


def module_code(name: str, function: str, otherwise: str | None = None) -> str:
    """Return the inline code of a Streamlit component whose drawing function is in a module.

    function: JavaScript expression for the function or a promise of it, in terms of `module`. otherwise: message if the
    files cannot be loaded; by default, it suggests reloading the page.

    The code avoids top-level await: in Safari, a second import of such a module does not wait for the first.
    """
    message = strings("frame")["files_missing"] if otherwise is None else otherwise
    return (f"// {name}, from the server's own files\n"
            f"const drawing = import(new URL({json.dumps(address(name))}, document.baseURI))"
            f".then((module) => {function})"
            f".catch(() => ({{ parentElement }}) => {{ parentElement.textContent = {json.dumps(message)}; }});\n"
            "export default async (call) => (await drawing)(call);\n")


@functools.cache
def _compressed(name: str) -> bytes:
    """Return the gzipped file, compressed only once: for a class of thirty, plotly alone would take 30 × 0.15 s."""
    return gzip.compress(content(name), mtime=0)


async def answer(request: Request) -> Response:
    """Return the requested file, or 404."""
    name = request.path_params["name"]
    if name not in {PLOTLY, *_modules()} or request.path_params["version"] != version(name):
        return Response("There is no such file in this version.", 404, {"Cache-Control": "no-store"})
    headers = {"Cache-Control": YEAR, "Vary": "Accept-Encoding"}
    if "gzip" not in request.headers.get("Accept-Encoding", ""):
        return Response(content(name), 200, headers, TYPES[Path(name).suffix])
    return Response(_compressed(name), 200, headers | {"Content-Encoding": "gzip"}, TYPES[Path(name).suffix])


async def redirect(request: Request) -> Response:
    """Redirect the URL of a moved page, with its parameters, to the current URL."""
    return RedirectResponse(moved(request.url.path.rsplit("/", 1)[-1], request.url.query))


def moved(page: str, query: str) -> str:
    """Return the relative URL that replaces an old page's URL. page: a key of MOVED; query: without the "?"."""
    from clearhead.model import sources  # not needed until such an address is opened

    name, part = MOVED[page]
    given = {RENAMED.get(field, field): value for field, value in parse_qsl(query, True)}
    offer = sources.catalogue().get(given.get("model", ""))
    if page in FITTING and offer is not None and not getattr(offer, FITTING[page]):
        # a text for another model would contain words that our decoder does not know
        wrong = ("model", "text", "continuation") if page == "next_word" else ("model",)
        given = {field: value for field, value in given.items() if field not in wrong}
    params = dict(parse_qsl(part)) | given
    if page == "translate" and "open" in params:   # the open head, such as 1.2
        params["layer"], _, params["head"] = params.pop("open").partition(".")
    place = "./" if name == "heads" else name   # the first page, whose own name Streamlit does not serve at once
    return f"{place}?{urlencode(params, safe=',')}" if params else place


def routes() -> list[Route]:
    """Return the routes for st.App. They match under any base path, because st.App does not add it."""
    old = [path for page in MOVED for path in (f"/{page}", f"/{{base:path}}/{page}")]
    return [Route("/{base:path}" + PLACE + "/{version}/{name:path}", answer), *(Route(path, redirect) for path in old)]
