"""The README's example, executed in a real notebook."""
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent.parent
# a module of one's own, which nothing was registered for
OWN = """import torch
import clearhead
my_model = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2)
clearhead.look(my_model, torch.randn(1, 3, 16), tokens=["the", "cat", "sat"])"""


@pytest.mark.rest
@pytest.mark.filterwarnings("ignore:Proactor event loop:RuntimeWarning")   # Windows' own loop, which zmq works with
def test_readme_example_shows_a_live_head(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))   # as an installed wheel is found
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    cell = nbformat.v4.new_code_cell(re.search(r"```python\n(import clearhead.*?)```", readme, re.DOTALL)[1])
    own = nbformat.v4.new_code_cell(OWN)
    book = nbformat.v4.new_notebook(cells=[cell, own])
    NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for output in cell.outputs if output.output_type == "execute_result"]
    drawn = shown[0].data["text/html"]
    assert drawn.startswith("<iframe srcdoc=") and "sandbox=\"allow-scripts allow-popups\"" in drawn
    assert len(drawn) < 400_000
    assert "Layer 3 · head 1" in drawn, "the famous head of the famous sentence, computed in the kernel"
    assert "looks most at “animal”" in drawn, "the famous head of the famous sentence, computed in the kernel"
    (all_heads,) = [output for output in own.outputs if output.output_type == "execute_result"]
    assert "All 8 heads of 2 layers" in all_heads.data["text/html"] and "verified" in all_heads.data["text/html"]
