"""Compute a dozen texts on Clearhead's site in WebKit and Firefox, and save a picture."""
import pytest

from tests.browser import hosted

pytestmark = pytest.mark.rest

# the size of the picture that the page saves
SAVED = """async () => {
  const made = URL.createObjectURL.bind(URL);
  const saved = new Promise((resolve) => { URL.createObjectURL = (blob) => (resolve(blob), made(blob)); });
  document.querySelector("#png").click();
  const { width, height } = await createImageBitmap(await saved);
  return [width, height];
}"""


def test_texts_agree_with_torch(engine, host):
    engine.open(host)
    engine.until("() => document.body.dataset.verdict === '✓'")
    found = engine.run(f"() => ({hosted.COMPARE})('dozen')")
    assert len(found) == len(hosted.DOZEN)
    assert hosted.wrong(found) == []
    assert min(engine.run(SAVED)) > 500
    assert engine.wrong() == []
