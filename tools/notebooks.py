"""Run both notebooks of every lesson in a Jupyter kernel. The teacher's copy must run completely, and the student's
copy must stop at the exercise.

    python -m tools.notebooks [LESSON ...]
"""
import os
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from clearhead.viz.export.handout.lesson_notebook import notebook, notebook_names

ROOT = Path(__file__).parents[1]
SECONDS = 300   # timeout for a cell


def run(name: str, solution: bool, folder: str) -> str:
    """Run a notebook and return the output of its last cell, or the error that stopped it."""
    book = nbformat.reads(notebook(name, solution=solution).decode(), 4)
    client = NotebookClient(book, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": folder}})
    try:
        client.execute()
    except CellExecutionError as error:
        return f"{error.ename}: {error.evalue}"
    return "".join(output.get("text", "") for output in book.cells[-1].outputs).strip()


def main(names: list[str]) -> int:
    """Print a line for each notebook, and return the number of failures."""
    os.environ["PYTHONPATH"] = str(ROOT)   # as after `pip install -e .`
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names or notebook_names():
            start = time.perf_counter()
            solved, waiting = run(name, True, folder), run(name, False, folder)
            right = solved.startswith("Right") and waiting.startswith("AssertionError: ")
            wrong += not right
            took = f"{time.perf_counter() - start:5.1f} s"
            print("ok   " if right else "WRONG", f"{name:<12} {took}  {solved}  |  {waiting}", flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
