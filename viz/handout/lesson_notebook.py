"""A lesson's notebook, to take away: about ten lines that compute what its page shows, and one exercise that checks
itself.

A notebook is assets/text/en/notebooks/NAME.py, which runs as it is: "# %% [markdown]" begins a cell of words, each line
behind "# ", and "# %%" a cell of code. The one line that ends in "# solution" is the exercise's: the students' copy has
"..." in its place, which the assert below it does not pass. """
import json
import re

from model.core.query import UserError
from viz.provenance import opens_elsewhere, state_in_words
from viz.text import FOLDER, strings

PLACE = FOLDER / "notebooks"
MIME = "application/x-ipynb+json"
SOLUTION = re.compile(r"(?m)^( *\w+ = ).*  # solution$")


def notebook_names() -> list[str]:
    """Return the lessons that have a notebook."""
    return sorted(path.stem for path in PLACE.glob("*.py"))


def cells(name: str, solution: bool) -> list[tuple[str, str]]:
    """Return (markdown or code, its text) of each cell in a lesson's notebook, with the exercise's solution or without
    it. Raises UserError for a lesson that has none."""
    if name not in notebook_names():
        raise UserError(strings("sheets")["notebook"]["unknown"].format(name=name, names=", ".join(notebook_names())))
    source = (PLACE / f"{name}.py").read_text(encoding="utf-8")
    if not solution:
        source = SOLUTION.sub(r"\1...  # " + strings("sheets")["notebook"]["your_line"], source)
    found = []
    for kind, text in re.findall(r"(?ms)^# %%( \[markdown\])?\n(.*?)(?=^# %%|\Z)", source.replace("  # solution", "")):
        body = text.strip("\n")
        found.append(("markdown", re.sub(r"(?m)^# ?", "", body)) if kind else ("code", body))
    return found


def file_name(name: str, solution: bool) -> str:
    """Return what the file is called."""
    return f"{name}-solution.ipynb" if solution else f"{name}.ipynb"


def notebook(name: str, link: str = "", solution: bool = False) -> bytes:
    """Return the .ipynb file, in nbformat 4.5. link: where the lesson is, of which only an address that others can open
    is written into it. Raises UserError for a lesson that has none."""
    words = strings("sheets")["notebook"]
    written = cells(name, solution)
    place = f"[{link}]({link})" if link and opens_elsewhere(link) else state_in_words(f"/{name}")
    head = words["head"].format(question=strings(f"lessons/{name}")["question"], place=place)
    book = {"nbformat": 4, "nbformat_minor": 5,
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
                         "language_info": {"name": "python"}},
            "cells": [_cell(place, *each) for place, each in enumerate([("markdown", head), *written])]}
    return (json.dumps(book, ensure_ascii=False, indent=1) + "\n").encode()


def _cell(place: int, kind: str, text: str) -> dict:
    cell: dict = {"cell_type": kind, "id": f"cell-{place}", "metadata": {}, "source": text.splitlines(keepends=True)}
    return cell | {"execution_count": None, "outputs": []} if kind == "code" else cell
