"""The pages Claims, Circuits and Pronouns in a browser: studies that are measured, and pictures that open."""
import re

from playwright.sync_api import expect

from clearhead.model.studies.coreference import FOLDER
from clearhead.viz.style.text import strings
from tests.browser.watch import PATIENCE


def test_claim_is_measured_and_its_picture_opens(seen):
    words = strings("claims")
    seen.page.goto(seen.address + "/claims")
    expect(seen.main.get_by_text(words["question"])).to_be_visible(timeout=PATIENCE)
    seen.rest()
    verdict = re.compile("|".join(words["verdicts"].values()))
    assert seen.main.get_by_text(verdict).count() >= 17   # of every claim, measured beforehand
    row = seen.main.locator(".st-key-claim-special")
    row.get_by_role("button", name=words["again"]).first.click()
    expect(row.get_by_role("button", name=words["again"])).to_have_count(0, timeout=PATIENCE)
    expect(row.get_by_text(verdict)).to_be_visible(timeout=PATIENCE)
    seen.rest().fine()
    row.get_by_role("button", name=words["open"]).click()
    seen.page.wait_for_url(re.compile(r"/heads\?.*colour=special"), timeout=PATIENCE)
    expect(seen.main.locator(".st-key-head")).to_be_visible(timeout=PATIENCE)
    seen.rest().fine()


def test_circuits_of_the_induction_decoder(watch):
    seen, words = watch(), strings("circuits")["paths"]
    seen.open("/circuits?model=induction")
    expect(seen.main).to_contain_text("The largest is 0·1 → 1·")
    seen.main.get_by_role("button", name=words["example"]).click()
    seen.rest().main.get_by_role("button", name=words["run"]).click()
    expect(seen.main.get_by_text("The path from 1·")).to_be_visible(timeout=PATIENCE)
    assert "twin=c+b+x+a+d+y+a" in seen.page.url
    expect(seen.rest().main.locator(".st-key-paths-grid")).to_be_visible(timeout=PATIENCE)
    canvas = seen.main.locator(".st-key-circuits-grid canvas").first
    box = canvas.bounding_box()
    canvas.click(position={"x": box["width"] * 0.7, "y": box["height"] * 0.3})
    expect(seen.page.locator("h5", has_text="layer 0 · head 1")).to_be_visible(timeout=PATIENCE)


LONG = 180_000   # ms: a set is 280 passes of the model on a busy machine


def test_picture_twin_set_and_own_sentences(watch):
    seen = watch()
    page = seen.page
    page.goto(f"{seen.address}/coreference")
    for said in ("One sentence is an anecdote", "The largest weight to a noun: 3·1",
                 "Each head was chosen on other frames", "does not predict words"):
        expect(page.get_by_text(said).first).to_be_visible(timeout=LONG)
    seen.rest().page.get_by_role("radio", name="street").first.click()
    page.wait_for_url("**correct=street**", timeout=LONG)
    expect(page.locator("h5", has_text="The twin, with animal right")).to_be_visible(timeout=LONG)
    page.goto(f"{seen.address}/coreference?set=own")
    lines = (FOLDER / "coreference.csv").read_text(encoding="utf-8").splitlines()[:9]
    place = page.locator("[data-testid=stMain] input[type=file]")
    place.set_input_files({"name": "mine.csv", "mimeType": "text/csv", "buffer": "\n".join(lines).encode()})
    expect(page.get_by_text("Best of 72 on all sentences").first).to_be_visible(timeout=LONG)
    place.set_input_files({"name": "bad.csv", "mimeType": "text/csv", "buffer": b"a,b\n1,2\n"})
    expect(page.get_by_text("There is no column")).to_be_visible(timeout=LONG)
