"""Parts of other packages that are not public: whether they are still there."""
import importlib


def require_part(module: str, name: str, user: str) -> None:
    """Fails, by the part's name and the file to mend, where the module has it no longer."""
    part = importlib.import_module(module)
    for step in name.split("."):
        assert hasattr(part, step), f"{module}.{name} is gone: mend {user}"
        part = getattr(part, step)
