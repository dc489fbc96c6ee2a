"""mkdocs hooks: add benchmarks/*.md and SECURITY.md to the site, and create its interactive page.

Links between documents are relative to the repository; these hooks convert them to links within the site.
"""
import functools
import re
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
OUTSIDE = {"SECURITY.md": "security.md", "CHANGELOG.md": "changelog.md"}
SENTENCE, REPEAT = "The animal didn't cross the street because it was too tired.", "Bq7RfKxTmWzBq7RfKxTm"
FAMOUS = (   # model, text, layer, head, token, caption
    ("minilm", SENTENCE, 3, 1, 10, "“it” looks at “animal”: coreference in all-MiniLM-L6-v2."),
    ("induction", REPEAT, 0, 1, 20, "Each character looks at the one before it: the first half of an induction."),
    ("induction", REPEAT, 1, 1, 20, "The last “m” looks at what followed the first “m”: the induction head."))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents outside docs/ and the interactive page."""
    for path in sorted((ROOT / "benchmarks").glob("*.md")):
        files.append(File.generated(config, f"benchmarks/{path.name}", content=path.read_text(encoding="utf-8")))
    for name, place in OUTSIDE.items():
        files.append(File.generated(config, place, content=(ROOT / name).read_text(encoding="utf-8")))
    files.append(File.generated(config, "three-heads.html", content=three_heads()))
    logo = (ROOT / "assets" / "images" / "logo-light.svg").read_text(encoding="utf-8")
    files.append(File.generated(config, "images/mark.svg", content=logo.replace('0 0 139 32" width="139"',
                                                                                '0 0 30 32" width="30"')))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Convert links that leave docs/ to links within the site."""
    for name, place in OUTSIDE.items():
        markdown = markdown.replace(f"](../{name})", f"]({place})").replace(f"]({name})", f"]({place})")
    return re.sub(r"\]\(\.\./benchmarks/(\w+\.md)\)", r"](benchmarks/\1)", markdown)


@functools.cache
def three_heads() -> bytes:
    """Return the interactive page, one HTML file with three heads that works without a server."""
    sys.path.insert(0, str(ROOT))
    import clearhead
    from clearhead.model.core.view import View
    from clearhead.viz.export.handout.build import record_item
    from clearhead.viz.export.handout.files import Handout
    from clearhead.viz.export.handout.page import page

    items = []
    for model, text, layer, head, token, caption in FAMOUS:
        record = clearhead.open(model)(text).data
        items.append(record_item(record, View(record.kinds[0], layer, head, token=token)).with_caption(caption))
    return page(Handout("Three famous heads", tuple(items)))
