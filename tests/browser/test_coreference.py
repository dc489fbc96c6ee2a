"""The page Pronouns in a real browser: the famous picture, its twin, the set, and the reader's own sentences."""
from playwright.sync_api import expect

from model.studies.coreference import FOLDER

PATIENCE = 180_000   # ms: a set is 280 passes of the model on a busy machine


def test_picture_twin_set_and_own_sentences(watch):
    seen = watch()
    page = seen.page
    page.goto(f"{seen.address}/coreference")
    for said in ("One sentence is an anecdote", "The largest weight to a noun: 3·1",
                 "Each head was chosen on other frames", "does not predict words"):
        expect(page.get_by_text(said).first).to_be_visible(timeout=PATIENCE)
    seen.rest().page.get_by_role("radio", name="street").first.click()
    page.wait_for_url("**correct=street**", timeout=PATIENCE)
    expect(page.locator("h5", has_text="The twin, with animal right")).to_be_visible(timeout=PATIENCE)
    page.goto(f"{seen.address}/coreference?set=own")
    lines = (FOLDER / "coreference.csv").read_text(encoding="utf-8").splitlines()[:9]
    place = page.locator("[data-testid=stMain] input[type=file]")
    place.set_input_files({"name": "mine.csv", "mimeType": "text/csv", "buffer": "\n".join(lines).encode()})
    expect(page.get_by_text("Best of 72 on all sentences").first).to_be_visible(timeout=PATIENCE)
    place.set_input_files({"name": "bad.csv", "mimeType": "text/csv", "buffer": b"a,b\n1,2\n"})
    expect(page.get_by_text("There is no column")).to_be_visible(timeout=PATIENCE)
