"""Every link between documents has an existing target; the site builds without warnings or another server."""
import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT

DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
LINK = re.compile(r"!?\[[^]]*\]\(([^)\s]+)\)|<(?:img|a|iframe)[^>]*?(?:src|href)=\"([^\"]+)\"")
GENERATED = {ROOT / "docs" / "try" / "index.html"}   # by tools/docs_hook.py


def anchors(text):
    """The anchors of a document's headings, as GitHub and mkdocs make them."""
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE))
    return {heading.strip().replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_have_targets(path):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in (one or other for one, other in LINK.findall(text)):
        if re.match(r"[a-z]+:", link):
            continue
        place, _, heading = link.partition("#")
        target = (path.parent / place).resolve() if place else path
        assert target.exists() or target in GENERATED, link
        if heading:
            assert heading in anchors(target.read_text(encoding="utf-8")), link


@pytest.mark.rest
def test_site_builds_strictly_and_loads_nothing_from_elsewhere(tmp_path):
    ran = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)], cwd=ROOT,
                         capture_output=True, encoding="utf-8", check=False)
    assert ran.returncode == 0, ran.stderr
    for page in tmp_path.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"<(?:script|link rel=\"stylesheet\"|img|iframe)[^>]*(?:src|href)=\"https?:", text)
    assert {"index.html", "offline.js", "LICENSES"} < {path.name for path in (tmp_path / "try").iterdir()}
