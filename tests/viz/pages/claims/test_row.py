"""A row: its verdict from its numbers, what it says of a model that is not there, and where its button leads."""
from dataclasses import replace

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from model.ask import sources
from model.studies.claims.catalogue import BY_NAME, Row
from model.studies.claims.claim import Finding, Measurement, Picture
from model.studies.claims.rule import Verdict
from viz.pages.claims import ERRORS, Result, question, result_of
from viz.text import strings

ROW = Row(BY_NAME["special"], "minilm")
FOUND = Finding("special", -0.25, -0.5, -0.125, 0.0, 60, "texts", "share", heads=((2, 5),))
MEASURED = Measurement((FOUND,), Picture("heads", "minilm", "A text.", "self", (2, 5), (1, 2),
                                         (("colour", "special"),)))


def drawn(measured, missing=()):
    """The row as the page draws it; what a click asks of the page is written below."""
    from types import SimpleNamespace

    import streamlit as st

    from model.studies.claims.catalogue import BY_NAME, Row
    from viz.pages.claims import Result, draw_claim

    page = SimpleNamespace(state=SimpleNamespace(), set=lambda **asked: st.code(f"asked {asked}"),
                           open_page=lambda name, **controls: st.code(f"open {name} {controls}"))
    row = Row(BY_NAME["special"], "" if missing else "minilm", missing)
    result = Result(None, "nothing here") if missing else Result(measured, open=measured is None)
    draw_claim(page, {row: result}, set(), lambda row: st.session_state.update(measured=row.claim.name),
               {"minilm": "Mini*LM"})


def app_of(*given):
    app = AppTest.from_function(drawn, args=given).run(timeout=30)
    assert not app.exception
    return app, " ".join(each.value for each in (*app.markdown, *app.caption))


def test_numbers_have_a_true_minus_and_the_verdict_is_theirs():
    _, said = app_of(MEASURED)
    words = strings("claims")
    assert words["verdicts"]["fails"] in said and words["verdicts"]["holds"] not in said
    assert "−25.0% (−50.0% to −12.5%)" in said and "-25" not in said and r"Mini\*LM" in said
    assert "2·5" in said   # among the details, which need no run of the page to open
    _, said = app_of(replace(MEASURED, findings=(replace(FOUND, effect=0.25, low=0.125, high=0.5),)))
    assert words["verdicts"]["holds"] in said and words["verdicts"]["fails"] not in said
    _, said = app_of(replace(MEASURED, findings=(replace(FOUND, unit="tokens"),)))
    assert f"−0.25 {words['units']['tokens']}" in said


@pytest.mark.parametrize("changes, words", [
    ({"effect": 0.25, "low": 0.0004, "high": 0.5}, "25.00% (0.04% to 50.00%); to be above 0.00%"),
    ({"effect": 0.25, "low": -0.0000004, "high": 0.5}, "25.00000% (−0.00004% to 50.00000%); to be above 0.00000%"),
    ({"effect": 0.25, "low": 0.0, "high": 0.5}, "25.0% (0.0% to 50.0%); to be above 0.0%"),
    ({"effect": 0.25, "low": 0.1, "high": 0.5, "best": 0.40004, "luck": 0.4}, "luck 40.000%, best head 40.004%"),
    ({"unit": "bits", "effect": 2, "low": 1.5004, "high": 3, "baseline": 1.5}, "1.5004 bits"),
    ({"low": float("nan"), "high": float("nan")}, "−25.0% (no interval); to be above 0.0%")])
def test_digits_show_on_which_side_of_its_bound_a_number_lies(changes, words):
    _, said = app_of(replace(MEASURED, findings=(replace(FOUND, **changes),)))
    assert words in said, said


def test_the_button_opens_the_page_of_the_picture_at_its_view():
    app, _ = app_of(MEASURED)
    (button,) = app.button
    button.click().run(timeout=30)
    assert not app.exception
    asked, opened = [each.value for each in app.code if each.value.startswith(("asked", "open"))]
    assert "'model': 'minilm', 'text': 'A text.'" in asked and "(2, 5)" in asked and "'token': 1" in asked
    assert opened == "open heads {'colour': 'special'}"


def test_what_is_not_measured_has_a_button_and_what_is_not_there_a_command():
    app, said = app_of(None)
    assert strings("claims")["not_yet"] in said
    (button,) = app.button
    button.click().run(timeout=30)
    assert app.session_state["measured"] == "special"
    app, said = app_of(None, ("bert",))
    assert not app.button and "Nothing here" in said and "python -m model fetch bert" in said
    assert strings("claims")["verdicts"]["untested"] in said


@pytest.mark.parametrize(("result", "verdict"), [
    (Result(MEASURED), Verdict.FAILS), (Result(None, open=True), None), (Result(None, "why"), Verdict.UNTESTED)])
def test_a_verdict_follows_what_is_known(result, verdict):
    assert result.verdict is verdict


def test_what_is_known_of_a_row_is_looked_up_without_a_model(monkeypatch):
    known = {}
    monkeypatch.setattr(sources, "cached", known.get)
    monkeypatch.setattr(st, "session_state", {})
    assert result_of(ROW) == Result(None, open=True)
    known[question(ROW)] = MEASURED
    assert result_of(ROW) == Result(MEASURED)
    st.session_state[ERRORS] = {question(ROW): "It only reports its weights."}
    assert result_of(ROW) == Result(None, "It only reports its weights.")
    assert "bert" in result_of(Row(BY_NAME["special"], "", ("bert",))).error
