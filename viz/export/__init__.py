"""A record and a view become a file.

A format is one module of this package with `FORMAT` and `export(record, view, options) -> bytes`. It is found by being
there: put a file beside the others and the page, the command line and the contract tests know it. """
import functools
import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass

from model.core.files import name_for
from model.core.query import UserError
from model.core.record import AttentionRecord
from model.core.view import View
from viz.print.options import PLAIN, Options

SUBJECTS = ("matrix", "lines", "text", "picture", "grid", "numbers")


@dataclass(frozen=True)
class Format:
    """One kind of file. Raises ValueError for a suffix without its dot or an unknown subject."""

    name: str                   # as people say it
    suffix: str                 # with its dot
    mime: str                   # for a browser
    subjects: tuple[str, ...]   # what it can hold, of SUBJECTS
    about: str                  # one line for a menu

    def __post_init__(self) -> None:
        if not self.suffix.startswith(".") or not set(self.subjects) <= set(SUBJECTS) or not self.subjects:
            raise ValueError(f"Format: expected a suffix with its dot and subjects of {SUBJECTS}, got {self.suffix!r} "
                             f"and {self.subjects}.")


Exporter = Callable[[AttentionRecord, View, Options], bytes]


@functools.cache
def formats() -> dict[str, tuple[Format, Exporter]]:
    """Every format by its suffix."""
    modules = (importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__))
    return {module.FORMAT.suffix: (module.FORMAT, module.export) for module in modules if hasattr(module, "FORMAT")}


def export(suffix: str, record: AttentionRecord, view: View, options: Options = PLAIN) -> bytes:
    """The file for a suffix such as ".png". Raises UserError for a format that is not there or cannot hold this."""
    if suffix.lower() not in formats():
        raise UserError(f"There is no export to {suffix or 'a file without an ending'}; choose one of "
                        f"{', '.join(sorted(formats()))}.")
    form, exporter = formats()[suffix.lower()]
    if options.grid and "grid" not in form.subjects:
        drawn = sorted(name for name in formats() if "grid" in formats()[name][0].subjects)
        raise UserError(f"{form.name} holds numbers and cannot show the grid as a picture; choose one of "
                        f"{', '.join(drawn)}.")
    return exporter(record, view, options)


def filename(suffix: str, record: AttentionRecord, view: View, options: Options = PLAIN) -> str:
    """A name for the file that says what is in it, and that every system takes, whatever the model is called."""
    model = name_for(record.query.model, "model")
    if options.grid or suffix == ".npz":
        return f"{model}-{view.kind}-all-heads{suffix}"
    lens = "" if "numbers" in formats()[suffix][0].subjects else f"-{view.lens}"
    return f"{model}-{view.kind}-layer{view.layer}-head{view.head}{lens}{suffix}"
