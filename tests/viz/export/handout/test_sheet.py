"""Classroom sheets as downloads: two copies of one text for word processors, links; and worksheets of a record."""
import io
import re
import unicodedata
from xml.etree import ElementTree

import numpy as np
import pypdf
import pytest
from streamlit.testing.v1 import AppTest

from clearhead.model.core.view import View
from clearhead.viz.export.handout import pdf
from clearhead.viz.export.handout.sheet import copy_of, markdown, page, sheet, sheet_names
from clearhead.viz.export.handout.worksheet import questions, worksheet
from clearhead.viz.style.text import FOLDER, strings
from tests import fabricate

PUBLIC, LOCAL = "https://clearhead.example.org/at/", "http://localhost:8501/"
SOURCES = {name: (FOLDER / "sheets" / f"{name}.md").read_text(encoding="utf-8") for name in sheet_names()}


def elements(name: str, teacher: bool, base: str = PUBLIC) -> ElementTree.Element:
    """The HTML file, which is well-formed XML but for its first line."""
    first, rest = page(sheet(name, teacher), base).decode().split("\n", 1)
    assert first == "<!DOCTYPE html>"
    return ElementTree.fromstring(rest)


def plain(node: ElementTree.Element) -> str:
    return " ".join("".join(node.itertext()).split())


@pytest.mark.parametrize("name", sheet_names())
def test_answers_are_only_in_the_teachers_copy(name):
    answers = [re.sub(r"\s+", " ", found) for found in re.findall(r"(?m)^\s*(?:Answer|Teacher): (.*)$", SOURCES[name])]
    students, teachers = (markdown(sheet(name, teacher)) for teacher in (False, True))
    assert len(answers) >= 16 and all(answer in teachers and answer not in students for answer in answers)
    counted = [len(re.findall(r"(?m)^\d+\. ", text)) for text in (SOURCES[name], students, teachers)]
    assert counted[0] == counted[1] == counted[2] >= 15
    left = {teacher: plain(elements(name, teacher)) for teacher in (False, True)}
    assert all(answer[:40] not in left[False] for answer in answers)
    assert left[True].count("Answer:") == SOURCES[name].count("Answer:") and "Answer:" not in left[False]


@pytest.mark.parametrize("name", sheet_names())
def test_links_of_a_sheet_are_written_out(name):
    root = elements(name, True)
    relative = set(re.findall(r"\]\(([^)]*)\)", SOURCES[name]))
    hrefs = [each.get("href") for each in root.iter("a")]
    assert set(hrefs) == {PUBLIC + each for each in relative}
    notes = root.findall(".//ol")[-1]
    assert {plain(note) for note in notes} == {PUBLIC + each for each in relative}
    counted = [int(plain(each)) for each in root.iter("sup") if plain(each).isdigit()]
    assert set(counted) >= set(range(1, len(notes) + 1))


@pytest.mark.parametrize("name", sheet_names())
def test_links_of_a_local_server_are_printed_in_words(name):
    root = elements(name, True, LOCAL)
    assert "localhost" not in plain(root.find("body")) and "page heads" in plain(root)
    assert all(each.get("href").startswith(LOCAL) for each in root.iter("a"))


def test_sheet_is_readable_by_word_processors():
    copy = copy_of("own", "# Own\n\n## One *two*\n\n| d_k | n |\n| --- | --- |\n| e^x | **2** |\n| none | |\n\n"
                   "- W_Q & 1 < 2\n- guess_far\n\n![the mark](logo-light.svg)\n\n1. e^(−2)?\n\n"
              "    Answer: yes [here](softmax?text_b=a&t=2)\n\n> quoted", True)
    root = ElementTree.fromstring(page(copy, PUBLIC).decode().split("\n", 1)[1])
    body = re.sub(r">\s+<", "><", ElementTree.tostring(root.find("body"), encoding="unicode"))
    assert "<th>d<sub>k</sub></th><th>n</th>" in body and "<td>e<sup>x</sup></td><td><strong>2</strong></td>" in body
    assert "<li>W<sub>Q</sub> &amp; 1 &lt; 2</li>" in body
    assert "<li>guess_far</li>" in body and "e<sup>(−2)</sup>" in body
    assert root.find(".//img").get("src").startswith("data:image/svg+xml;base64,")
    assert root.find(".//blockquote/p") is not None
    assert root.find(".//ol/li/p[@class='answer']/a").get("href") == PUBLIC + "softmax?text_b=a&t=2"
    assert root.find(".//h2/em") is not None and "$" not in "".join(SOURCES.values())


def listing():
    from clearhead.viz.app.page import PageContext, pages
    from clearhead.viz.widgets.sheets import sheet_list

    sheet_list(PageContext("lessons", pages()["lessons"][0], {}))


@pytest.mark.parametrize("browser", [None, "chromium"])
def test_sheets_offer_pdf_or_say_why_not(monkeypatch, browser):
    monkeypatch.setattr(pdf, "browser", lambda: browser)
    app = AppTest.from_function(listing).run(timeout=60)
    offered = {each.label for each in app.get("download_button")}
    assert not app.exception and (strings("sheets")["pdf"] in offered) == bool(browser)
    assert (strings("sheets")["no_pdf"] in {each.value for each in app.caption}) != bool(browser)


RECORD = fabricate.patterned(fabricate.tokens(), heads=(12,) * 6)
VIEW = View(kind=RECORD.kinds[0], layer=0, head=3, token=10)


def test_answers_come_from_the_record():
    shown = fabricate.shown(RECORD, layer=0, head=3)
    row, received = shown.weights[10], shown.weights.sum(0)
    asked = questions(RECORD, VIEW, grid=False)
    assert f"“{fabricate.SENTENCE[int(np.argmax(row))]}”, weight {row.max():.2f}" in asked["largest"][1]
    assert asked["rest"][1].startswith(f"{1 - row.max():.2f}:")
    most = fabricate.SENTENCE[int(received.argmax())]
    assert f"“{most}”: its column sums to {received.max():.2f}" in asked["received"][1]


def test_worksheet_names_the_head_of_a_pattern():
    answer = questions(RECORD, VIEW, grid=True)["previous"][1]
    layer, head = map(int, re.match(r"(\d+)·(\d+)", answer).groups())
    shares = {(one, two): np.trace(fabricate.shown(RECORD, layer=one, head=two).weights, offset=-1)
              for one in range(6) for two in range(12)}
    assert shares[layer, head] == pytest.approx(max(shares.values()), abs=1e-6)


@pytest.mark.parametrize(("grid", "count"), [(False, 5), (True, 3)])
def test_worksheet_has_a_page_for_class_and_for_teacher(grid, count):
    asked = list(questions(RECORD, VIEW, grid).values())[:count]
    pages = [each.extract_text() for each in pypdf.PdfReader(io.BytesIO(pdf.printed(
        worksheet(RECORD, VIEW, asked, grid=grid)))).pages]
    assert len(pages) == 2 and "Name:" in pages[0] and "Answers" in pages[1]
    first, second = (re.sub(r"\s+", " ", unicodedata.normalize("NFKC", page)) for page in pages)
    for ask, answer in asked:
        assert ask[:30] in first and answer[:30] in second and answer[:30] not in first
