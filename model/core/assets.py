"""What comes with the program as files."""
from pathlib import Path

ASSETS = Path(__file__).parents[2] / "assets"
