"""A row of Claims: its verdict follows from its numbers, a missing model is named, and its button opens the picture."""
from dataclasses import replace

from streamlit.testing.v1 import AppTest

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.studies.claims.catalogue import BY_NAME, Row
from clearhead.model.studies.claims.claim import ClaimExample, Finding, Measurement, Verdict
from clearhead.viz.pages.claims import all_rows, result_of
from clearhead.viz.style.text import strings

ROW = Row(BY_NAME["special"], "minilm")
FOUND = Finding("special", -0.25, -0.5, -0.125, 0.0, 60, "texts", "share", heads=((2, 5),))
PICTURE = ClaimExample("heads", "minilm", "A text", "self", (2, 5), (1, 2), (("colour", "special"),))
MEASURED = Measurement((FOUND,), PICTURE)


def drawn(measured, missing=(), shipped=False):
    """Draw the row as the page does, and record what a click requests."""
    from types import SimpleNamespace

    import streamlit as st

    from clearhead.model.ask.shipped import Shipped
    from clearhead.model.studies.claims.catalogue import BY_NAME, Row
    from clearhead.viz.pages.claims import ASKED, Result, draw_claim

    page = SimpleNamespace(state=SimpleNamespace(), set=None, open_page=None)
    row = Row(BY_NAME["special"], "" if missing else "minilm", missing)
    before = Shipped(measured, "2026-11-26", "a desk", 3.0, True) if shipped else None
    result = Result(None, "nothing here") if missing else Result(measured, open=measured is None, shipped=before)
    draw_claim(page, {row: result}, set())
    st.code(f"measures {len(ASKED.value)}")


def app_of(*given):
    app = AppTest.from_function(drawn, args=given).run(timeout=30)
    assert not app.exception
    return app, " ".join(each.value for each in (*app.markdown, *app.caption))


def test_verdict_and_numbers_are_those_of_the_findings():
    words = strings("claims")
    _, said = app_of(MEASURED)
    assert words["verdicts"]["fails"] in said and words["verdicts"]["holds"] not in said
    assert "−25.0% (−50.0% to −12.5%)" in said and "-25" not in said and "2·5" in said
    _, said = app_of(replace(MEASURED, findings=(replace(FOUND, effect=0.25, low=0.125, high=0.5),)))
    assert words["verdicts"]["holds"] in said and words["verdicts"]["fails"] not in said
    _, said = app_of(replace(MEASURED, findings=(replace(FOUND, low=float("nan"), high=float("nan"), luck=0.4,
                                                         best=0.5),)))
    assert "no interval" in said and "chance 40.0%, best head 50.0%" in said


def test_unmeasured_claim_has_a_button_or_a_command():
    app, said = app_of(None)
    assert strings("claims")["not_yet"] in said
    (button,) = app.button
    button.click().run(timeout=30)
    assert "measures 1" in [each.value for each in app.code]
    app, said = app_of(None, ("bert",))
    assert not app.button and "Nothing here" in said and "python -m clearhead fetch bert" in said
    assert strings("claims")["verdicts"]["untested"] in said


def test_every_claim_is_shipped_with_its_verdict():
    desk.cache.clear()   # what an earlier test measured
    results = {row: result_of(row) for row in all_rows()}
    measured = {row: result for row, result in results.items() if result.shipped is not None}
    # its model was not on the disk of those who measured
    assert {row.claim.name for row in measured} >= set(BY_NAME) - {"figure_ground"}
    assert all(result.verdict in set(Verdict) and result.shipped.machine for result in measured.values())


def test_another_fingerprint_makes_a_shipped_row_stale(monkeypatch):
    monkeypatch.setattr(sources, "revision", lambda model: "0" * 16)
    result = result_of(ROW)
    assert result.shipped.stale and result.measured.findings and result.here
