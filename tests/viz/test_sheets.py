"""The classroom sheets: every link opens a state that exists, and what a sheet says about it is true of the models and
formulas as shipped."""
import re
from collections import Counter
from urllib.parse import parse_qs

import numpy as np
import pytest

from model.ask import sources
from model.core import heads
from model.core.query import Kind, Silence
from model.lessons import positions
from model.lessons.pronoun_choice import DecisionQuery
from model.studies import coreference as coref_report
from model.studies.coreference import AnswersQuery, Case, CasesQuery, map_of, noun_weights, shipped_cases, words_of
from viz.link import from_params, to_params
from viz.page import pages
from viz.pages.coreference import Twins
from viz.state import complete_view
from viz.text import FOLDER

SHEETS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((FOLDER / "sheets").glob("*.md"))}
LINKS = [(sheet, words, link) for sheet, text in SHEETS.items()
         for words, link in re.findall(r"\[([^\]]*)\]\(([^)]*)\)", text)]
TIRED = Case("The animal didn't cross the street because it was too tired.", (43, 45), (4, 10), (28, 34))
WIDE = Case(TIRED.sentence.replace("tired", "wide"), TIRED.pronoun, TIRED.wrong, TIRED.correct)
SWAPPED, ALL = (0, 1, 2, 3, 5, 4), (5, 3, 1, 0, 4, 2)


def ask(question):
    return sources.ask(question).result(120)


def parameters(link: str) -> tuple[str, dict[str, str]]:
    name, _, query = link.partition("?")
    return name, {field: values[0]
                  for field, values in parse_qs(query, keep_blank_values=True, strict_parsing=bool(query)).items()}


def test_a_sheet_links_into_states_that_exist():
    """The page is known, every parameter is one that it knows, with a value that it takes and not its default."""
    for sheet, _, link in LINKS:
        name, wanted = parameters(link)
        page = pages()[name][0]
        assert to_params(from_params(wanted, name, page.controls), name, page.controls) == wanted, (sheet, link)


@pytest.mark.parametrize(("sheet", "words", "link"),
                         [each for each in LINKS if "token=" in each[2] or "pair=" in each[2]])
def test_a_link_to_a_head_or_a_word_opens_what_it_names(sheet, words, link):
    """The layer, the head and the quoted words of the link are those of the state that opens."""
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


def test_what_the_sheet_on_positions_says_about_shuffling():
    def moved(order, causal):
        return positions.changes(*positions.shuffle_outputs(order, "none", causal))

    assert moved(ALL, False).max() < 1e-9 and moved(ALL, True).min() > 0.1
    last = moved(SWAPPED, True)
    assert last[:4].max() == 0 and last[4:].min() > 0.1


def test_what_the_sheet_on_positions_says_about_waves_slopes_and_buckets():
    assert positions.wavelengths(64)[0] == pytest.approx(2 * np.pi) and positions.wavelengths(64)[30] > 20_000
    assert np.degrees(positions.rates(64)[0]) == pytest.approx(57.3, abs=0.05)
    slopes = positions.alibi_slopes(8)
    assert (slopes[0], slopes[-1]) == (1 / 2, 1 / 256) and positions.alibi_slopes(1).tolist() == [2**-8]
    assert np.exp(-10 * slopes[[0, -1]]) == pytest.approx([0.007, 0.96], abs=0.003)
    three, four, twelve, fifteen = positions.t5_bucket(np.array([3, 4, 12, 15]))
    assert three != four and twelve == fifteen


def test_what_the_sheet_on_positions_says_about_longer_texts():
    found = positions.beyond()
    runs, edge = {name: np.array(each).mean(0)
                  for name, each in found["accuracy"].items()}, found["trained"] - found["back"]
    assert found["trained"] == 32
    for name in ("sinusoidal", "learned"):
        assert runs[name][:edge].mean() > 0.95 and runs[name][edge + 2:].mean() < 0.3
    assert runs["rotary"][:64 - found["back"]].min() > 0.95 and runs["rotary"][-16:].mean() < 0.6
    assert runs["alibi"][:edge].mean() < 0.6 and abs(runs["alibi"][:edge].mean() - runs["alibi"][-16:].mean()) < 0.1
    assert runs["none"][:edge].mean() > 2 / (found["vocabulary"] - 1)
    shares = [f"{name} {runs[name.lower()][:edge].mean():.0%} and {runs[name.lower()][64 - found['back']:].mean():.0%}"
              for name in ("sinusoidal", "learned", "rotary", "ALiBi", "none")]
    assert f"Right up to 32 and beyond 64: {'; '.join(shares)}." in SHEETS["positions"]


def twins(model: str) -> Twins:
    """The weight of "it" on animal and street, head by head, in both sentences."""
    maps = [map_of(ask(sources.open_query(model, case.sentence))) for case in (TIRED, WIDE)]
    here, there = (noun_weights(each, words_of(each.queries, case))
                   for each, case in zip(maps, (TIRED, WIDE), strict=True))
    return Twins(here.heads, here.pronoun, there.pronoun[:, ::-1], 2 / len(maps[0].keys), ("animal", "street", "it"))


def shares(model: str, *silenced: tuple[Kind, int, int]) -> list[float]:
    """P(animal) for tired and P(street) for wide, against the other noun."""
    return [float(ask(AnswersQuery(model, sources.revision(model), (case,),
                                   frozenset(Silence(*head) for head in silenced))).share[0])
            for case in (TIRED, WIDE)]


def test_what_the_sheet_on_it_says_about_the_famous_picture():
    found = twins("minilm")
    place = found.heads.index((Kind.SELF, 3, 1))
    assert len(found.heads) == 72 and found.here[:, 0].argmax() == place
    assert found.here[place, 0] == pytest.approx(2 / 3, abs=0.02)
    assert found.there[place, 1] < found.there[place, 0] < found.here[place, 0] / 2
    flips = [place for place, verdict in enumerate(found.verdicts()) if verdict == "flips"]
    assert len(flips) == 1 and 0.15 < found.here[flips[0]].sum() < 0.25


@pytest.mark.rest
def test_what_the_sheet_on_it_says_about_many_sentences():
    report = coref_report.report(ask(CasesQuery("minilm", sources.revision("minilm"), shipped_cases("coreference"))))
    assert report.n == 280 and 0.5 < report.best.accuracy.value < 0.6
    assert report.held_out.accuracy.low < 0.5 < report.held_out.accuracy.high


def test_a_model_that_reads_left_to_right_cannot_know_at_it(smollm2):
    found = twins(smollm2)
    assert np.abs(found.here - found.there).max() < 1e-6


def test_what_the_sheet_on_it_says_about_the_narrow_resolver():
    found, (first, second) = twins("resolver-narrow"), [(Kind.SELF, 0, 0), (Kind.SELF, 1, 0)]
    assert found.heads == (first, second) and found.verdicts() == ["b", "flips"]
    assert found.here[1, 0] > 0.9 < found.there[1, 1] and min(shares("resolver-narrow")) > 0.99
    for head, says_animal in ((second, False), (first, True)):
        tired, wide = shares("resolver-narrow", head)
        assert (tired > 0.95, 1 - wide > 0.95) == (says_animal, says_animal) and (tired < 0.05) != says_animal


def test_what_the_sheet_on_it_says_about_the_wide_resolver():
    found = twins("resolver-wide")
    assert Counter(each[1] for each, verdict in zip(found.heads, found.verdicts(), strict=True)
                   if verdict == "flips") == {1: 4}
    assert min(shares("resolver-wide")) > 0.99
    alone = {head[1:]: shares("resolver-wide", head)[0] for head in found.heads}
    assert min(alone[1, head] for head in range(4)) > 0.99
    assert [head for head, share in alone.items() if share < 0.5] == [(0, 0)]
    tokens = map_of(ask(sources.open_query("resolver-wide", TIRED.sentence)))
    row = heads.weights(tokens.layer(0), 0)[tokens.queries.texts.index("it")]
    assert tokens.keys.texts[int(row.argmax())] == "tired" and row.max() > 0.9
    assert found.here[found.heads.index((Kind.SELF, 0, 0))].sum() < 0.05


def test_what_the_sheet_on_it_says_about_the_translator():
    found = ask(DecisionQuery("translator", sources.revision("translator"), TIRED.sentence, WIDE.sentence))
    change, moved = np.abs(found.zero - found.share), dict(zip(found.source, 1 - found.patched, strict=True))
    assert found.said == "il" and found.share > 0.99 and found.twin < 0.01
    assert [head for head, each in zip(found.heads, change, strict=True) if each > 0.5] == [(Kind.CROSS, 0, 3)]
    assert moved["tired"] > 0.9 and max(moved["it"], moved["animal"], moved["street"]) < 0.1
    cross = ask(sources.open_query("translator", TIRED.sentence))[Kind.CROSS]
    row = heads.weights(cross.layer(0), 3)[cross.queries.texts.index("il") - 1]
    assert cross.keys.texts[int(row.argmax())] == "tired" and row.max() > 0.9
