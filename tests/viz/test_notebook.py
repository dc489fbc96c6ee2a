"""The README's two lines in a notebook that is really executed."""
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.filterwarnings("ignore:Proactor event loop:RuntimeWarning")   # Windows' own loop, which zmq works with
def test_the_readmes_lines_show_a_head_that_is_alive_from_any_folder(monkeypatch, tmp_path):
    # as `pip install -e .` leaves it, which the README asks for
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    lines = re.search(r"```python\n(  from viz.notebook.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"),
                      re.DOTALL)[1]
    cell = nbformat.v4.new_code_cell("\n".join(line.strip() for line in lines.splitlines()))
    book = nbformat.v4.new_notebook(cells=[cell])
    NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for output in cell.outputs if output.output_type == "execute_result"]
    drawn = shown[0].data["text/html"]
    assert drawn.startswith("<iframe srcdoc=") and "sandbox=\"allow-scripts allow-popups\"" in drawn
    assert len(drawn) < 400_000
    assert "Layer 3 · head 1" in drawn, "the famous head of the famous sentence, computed in the kernel"
    assert "looks most at “animal”" in drawn, "the famous head of the famous sentence, computed in the kernel"
