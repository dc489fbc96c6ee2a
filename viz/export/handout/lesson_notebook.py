"""Create a lesson's downloadable notebook: about ten lines that compute the numbers of its page, and one self-checking
exercise.

The source is assets/text/en/notebooks/NAME.py, which is valid Python: "# %% [markdown]" starts a text cell, whose lines
begin with "# ", and "# %%" starts a code cell. The line that ends with "# solution" is the exercise; in the students'
copy, its value is "...", which fails the assert below it.
"""
import json
import re

from clearhead.model.core.query import UserError
from clearhead.viz.export.provenance import opens_elsewhere, state_in_words
from clearhead.viz.style.text import FOLDER, strings

PLACE = FOLDER / "notebooks"
MIME = "application/x-ipynb+json"
SOLUTION = re.compile(r"(?m)^( *\w+ = ).*  # solution$")


def notebook_names() -> list[str]:
    """Return the names of all lessons with a notebook."""
    return sorted(path.stem for path in PLACE.glob("*.py"))


def cells(name: str, solution: bool) -> list[tuple[str, str]]:
    """Return ("markdown" or "code", text) of each cell in a lesson's notebook, with or without the solution. Raises
    UserError for a lesson without a notebook."""
    if name not in notebook_names():
        raise UserError(strings("sheets")["notebook"]("unknown", name=name, names=", ".join(notebook_names())))
    source = (PLACE / f"{name}.py").read_text(encoding="utf-8")
    if not solution:
        source = SOLUTION.sub(r"\1...  # " + strings("sheets")["notebook"]["your_line"], source)
    found = []
    for kind, text in re.findall(r"(?ms)^# %%( \[markdown\])?\n(.*?)(?=^# %%|\Z)", source.replace("  # solution", "")):
        body = text.strip("\n")
        found.append(("markdown", re.sub(r"(?m)^# ?", "", body)) if kind else ("code", body))
    return found


def file_name(name: str, solution: bool) -> str:
    """Return the notebook's file name."""
    return f"{name}-solution.ipynb" if solution else f"{name}.ipynb"


def notebook(name: str, link: str = "", solution: bool = False) -> bytes:
    """Return the .ipynb file in nbformat 4.5. link: the lesson's URL, which is included only if others can open it.
    Raises UserError for a lesson without a notebook."""
    words = strings("sheets")["notebook"]
    written = cells(name, solution)
    place = f"[{link}]({link})" if link and opens_elsewhere(link) else state_in_words(f"/{name}")
    head = words("head", question=strings(f"lessons/{name}")["question"], place=place)
    book = {"nbformat": 4, "nbformat_minor": 5,
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
                         "language_info": {"name": "python"}},
            "cells": [_cell(place, *each) for place, each in enumerate([("markdown", head), *written])]}
    return (json.dumps(book, ensure_ascii=False, indent=1) + "\n").encode()


def _cell(place: int, kind: str, text: str) -> dict:
    cell: dict = {"cell_type": kind, "id": f"cell-{place}", "metadata": {}, "source": text.splitlines(keepends=True)}
    return cell | {"execution_count": None, "outputs": []} if kind == "code" else cell
