"""The classroom sheets: links open existing states; statements are true of shipped models and formulas."""
import re
from urllib.parse import parse_qs

import pytest

from clearhead.model import sources
from clearhead.model.core.query import Kind
from clearhead.model.studies import coreference as coref_report
from clearhead.model.studies.coreference import Case, CasesQuery, map_of, noun_weights, shipped_cases, words_of
from clearhead.viz.app.link import from_params, to_params
from clearhead.viz.app.page import pages
from clearhead.viz.app.state import complete_view
from clearhead.viz.pages.pronouns import Twins
from clearhead.viz.style.text import FOLDER, page_at
from tests import headline
from tests.model.only import ask

SHEETS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((FOLDER / "sheets").glob("*.md"))}
LINKS = [(sheet, words, link) for sheet, text in SHEETS.items()
         for words, link in re.findall(r"\[([^\]]*)\]\(([^)]*)\)", text)]
TIRED = Case(headline.TIRED, (43, 45), (4, 10), (28, 34))
WIDE = Case(headline.WIDE, TIRED.pronoun, TIRED.wrong, TIRED.correct)


def parameters(link: str) -> tuple[str, dict[str, str]]:
    name, _, query = link.partition("?")
    return page_at(name), {field: values[0]
                  for field, values in parse_qs(query, keep_blank_values=True, strict_parsing=bool(query)).items()}


def test_sheet_links_into_states_that_exist():
    """The page exists, and every parameter is one of its own, with a valid value that is not the default."""
    for sheet, _, link in LINKS:
        name, wanted = parameters(link)
        page = pages()[name][0]
        assert to_params(from_params(wanted, name, page.controls), name, page.controls) == wanted, (sheet, link)


@pytest.mark.parametrize(("sheet", "words", "link"),
                         [each for each in LINKS if "token=" in each[2] or "pair=" in each[2]])
def test_link_to_a_head_or_a_word_opens_what_it_names(sheet, words, link):
    """The layer, the head and the quoted words of the link equal those of the state that opens."""
    name, wanted = parameters(link)
    state = from_params(wanted, name, pages()[name][0].controls)
    record = ask(sources.open_query(state.model, state.text, state.text_b, state.target))
    view = complete_view(state, record)
    tokens = record[view.kind]
    shown = [tokens.queries.texts[view.pair[0]],
             tokens.keys.texts[view.pair[1]]] if "pair" in wanted else [tokens.queries.texts[view.token]]
    assert tokens.has(view.layer, view.head) and (view.layer, view.head) == (state.view.layer, state.view.head)
    assert re.findall('"([^"]*)"', words) in (shown, [])
    assert re.findall(r"(?i)layer (\d+) · head (\d+)", words) in ([], [(str(view.layer), str(view.head))])


def test_sheet_on_it_is_true_of_the_famous_picture():
    maps = [map_of(ask(sources.open_query("minilm", case.sentence))) for case in (TIRED, WIDE)]
    here, there = (noun_weights(each, words_of(each.queries, case))
                   for each, case in zip(maps, (TIRED, WIDE), strict=True))
    order = [(Kind.SELF, layer, head) for layer in range(6) for head in range(12)]
    found = Twins(order, here["pronoun"], there["pronoun"][:, ::-1], 2 / len(maps[0].keys), ("animal", "street", "it"))
    place = found.heads.index((Kind.SELF, 3, 1))
    assert len(found.heads) == 72 and found.here[:, 0].argmax() == place
    assert found.here[place, 0] == pytest.approx(2 / 3, abs=0.02)
    assert found.there[place, 1] < found.there[place, 0] < found.here[place, 0] / 2
    flips = [place for place, verdict in enumerate(found.verdicts()) if verdict == "flips"]
    assert len(flips) == 1 and 0.15 < found.here[flips[0]].sum() < 0.25


@pytest.mark.rest
def test_sheet_on_it_is_true_of_many_sentences():
    report = coref_report.report(ask(CasesQuery("minilm", sources.revision("minilm"), shipped_cases("coreference"))))
    assert report.n == 280 and 0.5 < report.best.accuracy.value < 0.6
    assert report.held_out.accuracy.low < 0.5 < report.held_out.accuracy.high
