"""The benchmark of grammar: its page, on the shipped sentences."""
from benchmarks import syntax as benchmark
from model.core.files import ASSETS


def test_the_page_says_what_was_measured_of_which_sentences():
    found = benchmark.measured(ASSETS / "cases" / "syntax-en.conllu", "minilm", 20)
    assert (found["sentences"], found["of"]) == (20, 23)
    page = benchmark.page({"machine": "here.", "answers": {"minilm, syntax-en": found}})
    assert "20 of 23 sentences" in page and "\n## minilm, syntax-en\n" in page
    det = found["relations"]["det"]
    assert f"| det | {det['n']} | {det['held_out']:.1%} (" in page and f"| {det['luck']:.1%} |" in page
    assert "| xcomp |" not in page   # of fewer tests than a page shows
