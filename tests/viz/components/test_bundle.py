"""Modules as one script and style sheets as one text, for pages without a server."""
import re

from viz.components import bundle


def test_a_source_says_what_it_imports_and_exports_as_the_bundle_reads_it():
    for path in bundle.FOLDER.rglob("*.js"):
        text = path.read_text(encoding="utf-8")
        assert len(bundle.IMPORT.findall(text)) == len(re.findall(r"^import\b", text, re.MULTILINE)), path
        assert len(bundle.EXPORT.findall(text)) == len(re.findall(r"^export\b", text, re.MULTILINE)), path
        assert not re.search(r"^import [^;]*\bas\b", text, re.MULTILINE), path


EXPORTED = re.compile(r"^export (?:async )?(?:function (\w+)\((.*)\) \{$|const (\w+))", re.MULTILINE)


def test_exports_have_types():
    for path in bundle.FOLDER.rglob("*.js"):
        if path.name == "history.js":   # one function, which Streamlit calls
            continue
        text = path.read_text(encoding="utf-8")
        for found in EXPORTED.finditer(text):
            before = text[:found.start()]
            assert before.endswith("*/\n"), f"{path}: {found[0]} has no JSDoc"
            said = before[before.rindex("/**"):]
            assert re.search(r"@(type|param|returns) ", said), f"{path}: {found[0]}"
            if "@type " not in said and found[1]:
                given, before = found[2], ""
                while given != before:   # what is taken apart is one parameter
                    given, before = re.sub(r"\{[^{}]*\}|\[[^\[\]]*\]", "one", given), given
                wanted = len(given.split(",")) if given else 0
                assert len(re.findall(r"@param ", said)) == wanted, f"{path}: {found[0]}"


def test_each_module_stands_once_and_after_what_it_imports():
    text = bundle.script("head_view/head_view.js", "head_grid/head_grid.js")
    assert not re.search(r"^(import|export)\b", text, re.MULTILINE)
    made = re.findall(r'^modules\["([^"]+)"\] = ', text, re.MULTILINE)
    assert len(made) == len(set(made)) and made[-1] == "head_grid/head_grid.js" and "js/header.js" in made
    for name in made:
        before = text[:text.index(f'modules["{name}"] = ')]
        imported = re.findall(r'^import .* from "([^"]+)";$', (bundle.FOLDER / name).read_text(encoding="utf-8"),
                              re.MULTILINE)
        assert all(f'modules["{place.rsplit("../")[-1].removeprefix("./")}"] = ' in before or place.startswith("./")
                   for place in imported)


def test_it_runs_and_gives_what_a_module_exports(browser):
    page = browser.new_page()
    text = bundle.script("head_grid/layout.js", "js/messages.js")
    found = page.evaluate(f"""() => {{ {text}
        return [modules["head_grid/layout.js"].groupGap(4, 9), modules["js/messages.js"].number(65534, 0, 2)]; }}""")
    page.close()
    assert found == [8, 2]
