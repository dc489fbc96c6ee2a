"""Captions: the verification of a picture, and where it was made: a URL that others can open, or the state in words."""
import re
from dataclasses import replace

from clearhead.model.core.query import Patch
from clearhead.model.core.record import Verification
from clearhead.model.core.view import View
from clearhead.viz.export import provenance
from clearhead.viz.export.formats import FORMATS, Options, export
from clearhead.viz.export.handout.files import Handout
from clearhead.viz.export.handout.page import page
from clearhead.viz.export.provenance import opens_elsewhere, sentences, way_back
from clearhead.viz.widgets.head_picker import verdict
from tests.fabricate import record
from tests.fabricate.items import curve, grid, head

HERE = ["http://localhost:8501/heads", "http://LOCALHOST/heads", "http://localhost./heads", "http://app.localhost/heads",
        "http://127.0.0.1:8501/heads", "http://127.1/heads", "http://0.0.0.0:8501/heads", "http://[::1]:8501/heads",
        "http://[::ffff:127.0.0.1]/heads", "http://[fe80::1]/heads", "http://teacher-pc:8501/heads",
        "http://10.0.0.7/heads", "http://172.16.3.4/heads", "http://192.168.1.20:8501/heads", "http://169.254.1.1/heads",
        "http://printer.local/heads", "http://nas.home.arpa/heads", "http://intern.lan/heads", "http://[bad/heads", ""]
ELSEWHERE = ["https://attention.example.org/heads", "http://8.8.8.8:8501/heads", "https://[2606:4700::1111]/heads",
             "https://example.org:8443/class/heads"]
QUERY = "?model=minilm&text=a+cat&layer=3&head=1&lens=lines&words=1&present=1&screen=see.1"


def test_only_an_address_that_others_can_open_is_printed():
    for base in HERE:
        assert not opens_elsewhere(base), base
        if base and "[bad" not in base:
            assert way_back(base + QUERY, said="by (minilm) of “a cat”") == (
                "To reproduce this, open page heads with layer 3, head 1, lens lines, words 1.")
    for base in ELSEWHERE:
        assert opens_elsewhere(base) and way_back(base + QUERY) == base + QUERY


def test_server_description_is_printed(monkeypatch):
    monkeypatch.setenv("CLEARHEAD_ADDRESS", "http://192.168.1.20:8501/")
    assert opens_elsewhere("http://192.168.1.20:8501/heads") and not opens_elsewhere("http://192.168.1.21/heads")
    monkeypatch.setenv("CLEARHEAD_ADDRESS", "javascript:alert(1)")
    assert not opens_elsewhere("javascript:alert(1)") and provenance.stated_address() == ""


def test_no_file_contains_an_address_of_this_machine():
    made, view, host = record(5), View(layer=1, head=2, token=3), "teacher-pc"
    link = f"http://{host}/heads?layer=1&head=2&token=3"
    for suffix in FORMATS:
        content = export(suffix, made, view, Options(link=link))
        assert host.encode() not in content, suffix
        if suffix in (".svg", ".html"):
            assert "page heads" in re.sub(r"\s+", " ", content.decode()), suffix
    texts, lines = provenance.sentences(made, link)
    assert host not in " ".join(texts + lines)
    assert lines[-1] == "To reproduce this, open page heads with layer 1, head 2, token 3."


def test_handout_prints_public_addresses_only():
    local = replace(head(), link="http://127.0.0.1:8501/heads?layer=0")
    whole = page(Handout("of a class", (local, grid(), curve())))
    assert b"127.0.0.1" not in whole and b"page heads" in whole
    public = page(Handout("", (head(),)))
    assert b'href="https://attention.example.org/heads?layer=0"' in public and b"To reproduce" not in public


def test_caption_quotes_the_error_of_this_pass():
    checked = Verification("verified", max_error=4.2e-7, load_error=1.4e-6)
    shown = replace(record(4), verification=checked)
    assert sentences(shown)[1][-1] == "verified, in this pass within 4e-07 of the model's own output"
    assert verdict(shown) == "✓ checked"
    cold = replace(shown, verification=replace(checked, status="computed"))
    assert sentences(cold)[1][-1] == "computed, not checked" and verdict(cold) == "○ computed, not checked"


def test_paths_are_exported_only_on_request():
    made = record()
    query = replace(made.query, model="/home/ada/tuned")
    patched = replace(made, query=replace(query, edits=frozenset([Patch(made.kinds[0], 0, 0, query)])))
    for suffix in (".svg", ".json", ".html"):
        kept, asked = (export(suffix, patched, View(kind=made.kinds[0]), Options(paths=full)) for full in (False, True))
        assert b"/home/ada" not in kept and b"tuned" in kept
        assert suffix == ".html" or b"/home/ada/tuned" in asked
    link = "https://example.org/compare?model=minilm&against=%2Fhome%2Fada%2Ftuned&versus=model"
    assert not opens_elsewhere(link) and "against tuned" in way_back(link)
