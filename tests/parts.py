"""Check that the private parts of other packages that this project uses still exist."""
import importlib


def require_part(module: str, name: str, user: str) -> None:
    """Fail, naming the part and the file to mend, if the module no longer contains the part."""
    part = importlib.import_module(module)
    for step in name.split("."):
        assert hasattr(part, step), f"{module}.{name} is gone: mend {user}"
        part = getattr(part, step)
