"""Every kind of exported file with scripts in its texts: nothing runs, or links elsewhere than the app."""
import dataclasses
import io
import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pypdf
import pytest
from pandas import DataFrame

from clearhead.model.core import pictures
from clearhead.model.core.query import Silence, UserError
from clearhead.model.core.record import Prediction
from clearhead.model.core.view import View
from clearhead.viz.components.picture import Head
from clearhead.viz.export.formats import FORMATS, Options, comparison, export
from clearhead.viz.export.handout.build import chart_item, record_item, table_item
from clearhead.viz.export.handout.files import Handout, load, save
from clearhead.viz.export.handout.page import page
from clearhead.viz.figures.bars import bars
from clearhead.viz.notebook import Figure, show
from clearhead.viz.style.text import strings
from tests import fabricate
from tests.hostile import RUNS
from tests.uploads import png

LOUD = (
    *RUNS, "<img src='https://example.org/seen'>", "<script>alert(1)</script>", "<script>console.log('ran')</script>",
    "<style>@import url(https://example.org/seen)</style>", "\"onmouseover=\"window.got=1\" x=\"", "</textarea></xmp>",
    "<svg/onload=fetch('//example.org/seen')>", "</desc></metadata></svg><script>window.got=1</script>",
    "<meta http-equiv=refresh content='0;url=https://example.org'>", "</iframe>", "\"></iframe><script>got=1</script>",
    "<base href='https://example.org/'>", "<a href=\"javascript:window.got=1\">x</a>", "&quot;><script>got=1</script>")
TEXT = " it ".join(LOUD)
LOCAL, PUBLIC = "http://localhost:8501/heads", "https://attention.example.com/heads"


class Detector:
    """Opens files in one browser without a network and lists forbidden events."""

    def __init__(self, browser, folder):
        self.context, self.folder = browser.new_context(offline=True), folder

    def what_ran(self, name: str, content: bytes) -> list[str]:
        """Return what ran, was requested, or is ready to run, in the page and its frames."""
        path = self.folder / name
        path.write_bytes(content)
        shown, seen = self.context.new_page(), []
        shown.on("dialog", lambda dialog: (seen.append(f"dialog {dialog.message}"), dialog.dismiss()))
        shown.on("console", lambda message: seen.append(f"console {message.text}"))
        shown.on("pageerror", lambda error: seen.append(f"error {error}"))
        shown.on("request", lambda request: None if request.url.startswith((path.as_uri(), "data:", "blob:", "about:"))
                 else seen.append(f"request {request.url}"))
        shown.goto(path.as_uri())
        shown.wait_for_function(MOUNTED)
        for frame in shown.frames:
            frame.evaluate(SOON)
            seen += frame.evaluate(READY)
        if shown.url != path.as_uri():
            seen.append(f"went to {shown.url}")
        shown.close()
        return seen

    def printed(self, content: bytes) -> bytes:
        """A page as PDF."""
        (self.folder / "printed.html").write_bytes(content)
        shown = self.context.new_page()
        shown.goto((self.folder / "printed.html").as_uri())
        shown.wait_for_function(MOUNTED)
        made = shown.pdf()
        shown.close()
        return made


# every figure of a handout has drawn
MOUNTED = """() => [...document.querySelectorAll('figure[data-kind]')].every((figure) => {
    const live = figure.querySelector('.live'); return live.shadowRoot || live.children.length; })"""
SOON = "() => new Promise((done) => setTimeout(() => requestAnimationFrame(done), 60))"   # what waits to run, runs
# a flag, handlers and addresses that run, resources of other machines
READY = r"""() => {
    const all = (root) => [...root.querySelectorAll('*')].flatMap((each) =>
        [each, ...(each.shadowRoot ? all(each.shadowRoot) : [])]);
    const leads = ({ name, value }) => /^(href|src|action|formaction|xlink:href|data)$/.test(name)
        && !/^(#|data:image\/|data:text\/plain|blob:|https:\/\/attention\.example\.com\/heads)/.test(value);
    const wrong = window.got === undefined ? [] : ['flag'];
    if (document.querySelector('parsererror')) wrong.push('a drawing that is broken');
    for (const each of all(document)) for (const one of each.attributes)
        if (one.name.startsWith('on') || leads(one))
            wrong.push(`${each.nodeName} ${one.name}=${one.value.slice(0, 60)}`);
    return wrong; }"""

PLANTED = {
    "flag": "<script>window.got=1</script>",
    "dialog": "<script>alert('x')</script>",
    "console": "<script>console.log('x')</script>",
    "request": "<img src='https://example.org/seen'>",
    "IMG onerror": "<img alt='' onerror='1'>",
    "A href": "<a href='javascript:1'>x</a>",
    "error": "<script>throw new Error('x')</script>",
}


@pytest.fixture(scope="module")
def detector(browser, tmp_path_factory):
    made = Detector(browser, tmp_path_factory.mktemp("files"))
    yield made
    made.context.close()


def test_detector_sees_what_an_unescaped_text_does(detector):
    for kind, planted in PLANTED.items():
        wrapped = f"<!doctype html><title>x</title><p>{planted}</p>"
        assert any(each.startswith(kind) for each in detector.what_ran(f"planted {kind}.html", wrapped.encode())), kind
    framed = Figure(PLANTED["flag"].encode(), 100)._repr_html_()
    assert "flag" in detector.what_ran("planted frame.html", f"<!doctype html>{framed}".encode())
    drawing = b'<svg xmlns="http://www.w3.org/2000/svg"><script>window.got=1</script></svg>'
    assert "flag" in detector.what_ran("planted.svg", drawing)


def hostile_record():
    made = fabricate.record(LOUD, layers=1, text=TEXT)
    card = dataclasses.replace(made.card, title=LOUD[0], licence=LOUD[2], id=LOUD[4])
    query = dataclasses.replace(made.query, model=LOUD[1], revision=LOUD[5], text_b=LOUD[3], target=TEXT,
                                edits=frozenset({Silence(made.maps[0].kind, 0, 1)}))
    return dataclasses.replace(made, card=card, query=query)


def hostile_picture():
    """A record over a visitor's picture whose file has a hostile name, and of whose classes each is one."""
    kept = pictures.keep(png(np.full((40, 60, 3), 128, np.uint8)), "".join(LOUD))
    made = fabricate.pictured(image=kept.sha256)
    answers = Prediction("label", (0,), texts=(LOUD[:5],), probabilities=((0.2,) * 5,))
    return dataclasses.replace(made, card=hostile_record().card, prediction=answers)


def handout() -> Handout:
    made = hostile_record()
    heads = [record_item(made, View(token=1, pair=(1, 2), lens=lens), link=f"{link}?lens={LOUD[0]}&model={TEXT}")
             for lens, link in (("matrix", LOCAL), ("lines", PUBLIC), ("text", LOCAL))]
    items = [*heads, record_item(made, View(token=1), covered=True), record_item(made, View(pair=(1, 2)), grid=True),
             table_item(DataFrame({text: [text, TEXT] for text in LOUD}), LOUD[2]),
             chart_item(bars([LOUD[0], "x"], {LOUD[2]: np.ones(2)}, axes=(LOUD[4], LOUD[0])), LOUD[0]),
             record_item(hostile_picture(), View(token=9, lens="picture")),
             record_item(hostile_picture(), View(), grid=True)]
    items = [dataclasses.replace(item, caption=TEXT[:2000], about=TEXT[:1000]) for item in items]
    return load(save(Handout("".join(LOUD)[:200], tuple(items))))


def files() -> dict[str, bytes]:
    """All files that the app exports and a browser opens, by name."""
    made, options = hostile_record(), [Options(link=f"{link}?text={TEXT}&lens={LOUD[0]}") for link in (LOCAL, PUBLIC)]
    produced = {f"{lens}{suffix}": export(suffix, made, View(lens=lens, token=1, pair=(1, 2)), options[at % 2])
                for suffix in (".svg", ".html")
                for at, lens in enumerate(lens for lens in ("matrix", "lines", "text")
                                          if lens in FORMATS[suffix].subjects)}
    produced |= {f"grid{suffix}": export(suffix, made, View(), Options(grid=True)) for suffix in (".svg", ".html")}
    over = hostile_picture()
    produced |= {f"picture{suffix}": export(suffix, over, View(token=9, lens="picture"), options[at])
                 for at, suffix in enumerate((".svg", ".html")) if "picture" in FORMATS[suffix].subjects}
    shown = tuple(Head((fabricate.shown(made),), View(), bound) for bound in (None, None, 1.0))
    produced["comparison.svg"] = comparison(".svg", shown, View(), LOUD[:3], (made, made), f"{LOCAL}?text={TEXT}")
    produced["handout.html"] = page(handout())
    for name, shown in {"notebook": show(made), "notebook, one head": show(made, layer=0, head=0, token=1),
                        "notebook, picture": show(over, layer=0, head=0, token=9)}.items():
        produced[f"{name}.html"] = f"<!doctype html><body>{shown._repr_html_()}".encode()
    pasted = [content[content.index(b"<svg"):] for name, content in produced.items() if name.endswith(".svg")]
    return produced | {"drawings that somebody pasted.html": b"<!doctype html><body>" + b"<p>".join(pasted)}


def test_no_script_from_text_runs_in_any_file(detector):
    ran = {name: seen for name, content in files().items() if (seen := detector.what_ran(name, content))}
    assert ran == {}


def test_name_of_a_picture_is_exported_as_text():
    over, said = hostile_picture(), "<script>window.got=1</script>"
    drawn = export(".svg", over, View(token=9, lens="picture"), Options())
    assert "picture" in FORMATS[".svg"].subjects and said in "".join(ET.fromstring(drawn).itertext())
    assert said in record_item(over, View(token=9, lens="picture")).about


def names_in(pdf_bytes: bytes) -> tuple[set[str], list[str]]:
    """Return the names of everything in a PDF, and its links."""
    names, links = set(), []

    def walk(value):
        parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for name, each in parts:
            names.add(str(name))
            if name == "/URI":
                links.append(str(each))
            walk(each)   # what is an object of its own has its turn below

    reader = pypdf.PdfReader(io.BytesIO(pdf_bytes), strict=True)
    for number in range(1, reader.trailer["/Size"]):
        walk(reader.get_object(number))
    return names, links


ACTIONS = {"/JS", "/JavaScript", "/OpenAction", "/AA", "/Launch", "/SubmitForm", "/EmbeddedFile", "/RichMedia"}


def test_script_in_a_pdf_is_only_text(detector):
    exported = export(".pdf", hostile_record(), View(token=1, lens="text"), Options(link=f"{LOCAL}?text={TEXT}"))
    over = export(".pdf", hostile_picture(), View(token=9, lens="picture"), Options())
    printed = detector.printed(page(Handout("x", handout().items[:3])))
    for content, wanted in ((exported, []), (over, []), (printed, [PUBLIC])):
        names, links = names_in(content)
        assert not names & ACTIONS, names & ACTIONS
        assert sorted({link.split("?")[0] for link in links}) == wanted
        text = "".join(each.extract_text() for each in pypdf.PdfReader(io.BytesIO(content)).pages)
        assert "<script>window.got=1</script>" in re.sub(r"\s+", "", text)


def test_script_in_a_saved_handout_is_harmless(detector):
    """A file that the app did not write: URLs that run, and text in every field."""
    whole = json.loads(save(Handout("x", handout().items[:1])))
    whole["items"][0]["link"] = "javascript:window.got=1"
    with pytest.raises(UserError, match="not a web address"):
        load(json.dumps(whole).encode())
    whole["items"][0] |= {"link": "https://attention.example.com/heads?\"onclick=\"window.got=1",
                          "source": json.dumps({"</script><script>window.got=1</script>": TEXT})}
    assert detector.what_ran("foreign.html", page(load(json.dumps(whole).encode()))) == []
    assert strings("handout")["page"]["open"].encode() in page(load(json.dumps(whole).encode()))
