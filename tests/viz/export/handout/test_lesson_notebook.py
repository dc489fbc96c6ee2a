"""The lessons' notebooks: each lesson has one, both copies run, and the exercise fails until it is solved."""

import nbformat
import pytest

from clearhead.model.core.query import UserError
from clearhead.viz.app.page import lessons
from clearhead.viz.export.handout.lesson_notebook import cells, file_name, notebook, notebook_names
from clearhead.viz.style.text import strings


def code(name: str, solution: bool) -> list[str]:
    return [text for kind, text in cells(name, solution) if kind == "code"]


def test_every_lesson_has_a_notebook_and_there_is_no_other():
    missing, more = set(lessons()) - set(notebook_names()), set(notebook_names()) - set(lessons())
    assert not missing, f"write assets/text/en/notebooks/NAME.py for the lessons {', '.join(sorted(missing))}"
    assert not more


@pytest.mark.parametrize("name", notebook_names())
def test_notebook_runs_and_exercise_awaits_its_line(name, capsys):
    computed, exercise = code(name, solution=False)
    space: dict = {"__name__": "__main__"}
    exec(compile(computed, f"{name}, computed", "exec"), space)
    assert capsys.readouterr().out.strip(), "it prints what the page shows"
    with pytest.raises(AssertionError) as waits:
        exec(compile(exercise, f"{name}, exercise", "exec"), dict(space))
    assert str(waits.value), "what is wrong is said"
    exec(compile(code(name, solution=True)[1], f"{name}, solution", "exec"), space)
    assert capsys.readouterr().out.startswith("Right"), "and what was found, too"


@pytest.mark.parametrize("name", notebook_names())
def test_notebook_is_valid_and_names_public_addresses_only(name):
    for link, shown in (("http://localhost:8501/softmax", ""), ("", ""),
                        ("https://clearhead.example.org/softmax", "https://clearhead.example.org/softmax")):
        content = notebook(name, link, solution=bool(shown))
        book = nbformat.reads(content.decode(), 4)
        nbformat.validate(book)
        head = book.cells[0].source
        assert head.startswith(f"# {strings(f'lessons/{name}')['question']}\n") and "localhost" not in content.decode()
        assert shown in head and (shown or f"page {name.replace('_', ' ')}") in head and "pip install -e ." in head
    assert file_name(name, False) == f"{name}.ipynb" != file_name(name, True)


def test_unknown_lesson_is_refused():
    with pytest.raises(UserError, match=r"lesson ../softmax .*: .*softmax"):
        notebook("../softmax")
