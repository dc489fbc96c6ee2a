"""mkdocs hooks: add benchmarks/*.md and SECURITY.md to the site, and Clearhead in the browser.

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


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents outside docs/ and Clearhead in the browser."""
    for path in sorted((ROOT / "benchmarks").glob("*.md")):
        files.append(File.generated(config, f"benchmarks/{path.name}", content=path.read_text(encoding="utf-8")))
    for name, place in OUTSIDE.items():
        files.append(File.generated(config, place, content=(ROOT / name).read_text(encoding="utf-8")))
    for name, content in site().items():
        files.append(File.generated(config, f"try/{name}", content=content))
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
def site() -> dict[str, bytes]:
    """Return the files of Clearhead in the browser, by name."""
    sys.path.insert(0, str(ROOT))
    from clearhead.model import sources
    from clearhead.model.cli.commands import answer_to
    from clearhead.viz.export.site.build import site_of

    return site_of(lambda model, text: answer_to(sources.open_query(model, text))).files()
