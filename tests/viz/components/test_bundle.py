"""Modules as one script and style sheets as one text, for pages without a server."""
import re

from viz.components import bundle


def test_bundle_reads_every_import_and_export():
    for path in bundle.FOLDER.rglob("*.js"):
        text = path.read_text(encoding="utf-8")
        assert len(bundle.IMPORT.findall(text)) == len(re.findall(r"^import\b", text, re.MULTILINE)), path
        assert len(bundle.EXPORT.findall(text)) == len(re.findall(r"^export\b", text, re.MULTILINE)), path
        assert not re.search(r"^import [^;]*\bas\b", text, re.MULTILINE), path


def test_bundle_runs_and_returns_module_exports(browser):
    page = browser.new_page()
    text = bundle.script("head_grid/layout.js", "js/messages.js")
    found = page.evaluate(f"""() => {{ {text}
        return [modules["head_grid/layout.js"].groupGap(4, 9), modules["js/messages.js"].number(65534, 0, 2)]; }}""")
    page.close()
    assert found == [8, 2]
