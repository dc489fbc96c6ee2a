"""The names of the models of this folder. Light: no torch here, so that the first page can ask."""
import re
from pathlib import Path

from model.core.files import ASSETS

WEIGHTS = ASSETS / "weights"

OFFERS = {   # name: (title, what it is good for)
    "resolver-narrow": ("Resolver, narrow", 'What is "it"? An encoder of one head a layer, trained here: see the head '
                                            'that finds the noun.'),
    "resolver-wide": ("Resolver, wide", "The same task with four heads a layer: the work is shared, and no head alone "
                                        "is the answer."),
    "translator": ("Translator, English to French",
                   'The same sentences in French, where "it" becomes il or elle: which part decides?'),
    "induction": ("Induction, random signs", "A decoder of two layers that learned one trick: what came after this "
                                             "sign last time?"),
    "stories": ("Stories, word by word", "A decoder of four blocks that learned very short stories of two animals: "
                                         "which of them is \"it\", and what does it eat?"),
    "marked-digit": ("Marked digit", "A Vision Transformer of two blocks that reads pictures: which digit has the dot "
                                     "below it? One head tells the digits where the dot is, one fetches the marked "
                                     "digit."),
    "scratch": ("From scratch, untrained",
                "The Transformer of the paper before it has seen a single text: what attention looks like when it "
                "means nothing yet."),
}
TRANSLATOR = "translator"   # the one that the page Translate is about
OF_PICTURES = ("marked-digit",)
NAMES = {name: title for name, (title, _) in OFFERS.items()}
# trainings that run beside a page: their name and where their weights will be (model/training/processes.py)
RUNS: dict[str, Path] = {}
SNAPSHOT = "@"  # induction@400 is the model after 400 steps of training; @0 is its untrained twin


def is_scratch(model_id: str) -> bool:
    """Whether this is one of these models, or a snapshot of one."""
    return model_id.split(SNAPSHOT)[0] in {*NAMES, *RUNS}


def title(model_id: str) -> str:
    """What people call it."""
    name, _, step = model_id.partition(SNAPSHOT)
    return NAMES.get(name, "Trained on this page") + (f", step {step}" if step else "")


def film_path(path: Path) -> Path:
    """The snapshots that belong to a weights file."""
    return path.with_name(f"{path.stem}-film.safetensors")


def weights_file(model_id: str, folder: Path = WEIGHTS) -> tuple[Path, int | None]:
    """The file with a trained model's weights, and the step if a snapshot is meant."""
    name, _, step = model_id.partition(SNAPSHOT)
    path = RUNS.get(name, folder / f"{name}.safetensors")
    return (film_path(path), int(step) if re.fullmatch(r"\d{1,9}", step) else -1) if step else (path, None)
