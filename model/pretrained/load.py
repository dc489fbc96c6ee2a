"""Open a pretrained model safely: only known files, no pickles, no third-party code, no network access, and
verification before the first answer."""
import re
import threading
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from clearhead.model.capture.forward_pass import register
from clearhead.model.core.models import Located
from clearhead.model.core.query import NotOnDisk, Progress, UnknownModel, UserError, frozen, quiet, quoted
from clearhead.model.pretrained import accounting, catalogue, convert, files
from clearhead.model.pretrained.adapters import with_adapters
from clearhead.model.pretrained.catalogue import check_id
from clearhead.model.pretrained.tokens import has_chat_template

if TYPE_CHECKING:
    from clearhead.model.pretrained.model import PretrainedModel
    from clearhead.model.pretrained.vision.picture_model import TwoTowers

SUFFIX = "~untrained"
OPTION = re.compile(r"~(?:(?P<dtype>float32|float64|bfloat16|float16)|(?P<device>(?:cpu|cuda|mps|xpu)(?::\d{1,3})?))$")
OFFERED = {"dtype": "float32, float64, bfloat16 or float16",
           "device": "cpu, cuda, mps or xpu, with a number such as cuda:1"}
PATH_STARTS = ("./", "../", "~", ".\\", "..\\")

# a model's attention implementation is switched during verification, and transformers' imports are not thread-safe
opening = threading.Lock()


@frozen
class ModelFiles(Located):
    """The location of a model's files, and how they are read."""

    folder: Path = Path()                  # with config.json, weights and tokenizer
    title: str = ""                        # its name on the pages
    licence: str = "not stated"            # as stated by the catalogue or the folder
    entry: catalogue.Entry | None = None   # its entry in the catalogue, if any
    adapter: Path | None = None            # the folder of the LoRA adapter that is merged into the weights
    unapplied: tuple[str, ...] = ()        # clauses on what changes the model but is not applied
    dtype: str = "float32"                 # the type in which it computes
    device: str = "cpu"                    # where it computes

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders of the model and, if separate, of its adapter."""
        return (self.folder,) if self.adapter in (None, self.folder) else (self.folder, self.adapter)

    def open(self, report: Progress = quiet) -> "PretrainedModel | TwoTowers":
        """Load and verify the model. Raises UserError if it cannot be opened or shown."""
        report(0.05, "checking the files")
        for folder in self.folders:
            files.check_unchanged(folder, self.entry.sha256 if self.entry and folder == self.folder else "")
        with opening:
            register()
            from clearhead.model.pretrained.vision import build

            opened = build.open_folder(self, report)
            if not self.revision.startswith(files.fingerprint(*self.folders, more=self.unapplied)):
                raise UserError(f"The files of {self.title} changed while they were read; open the model again.")
            return build.untrained_twin(opened, self) if self.id.endswith(SUFFIX) else opened

    def wrong_input(self) -> UserError:
        """Return the error for a picture given to a model that reads texts, or the reverse. For a model that reads
        neither, it names the input, such as sound."""
        from transformers import AutoConfig

        with suppress(OSError, ValueError, KeyError):   # opening it names the fault of its configuration
            config = AutoConfig.from_pretrained(self.folder)
            accounting.check_inputs(self.title, config, "pixel_values" if "image" in self.reads else "input_ids")
            if "image" not in self.reads and accounting.unread(config):
                return UserError(f"{self.title} is shown with text only, though it reads more; leave the picture out, "
                                 f"or {accounting.LOOK}.")
        return super().wrong_input()


def locate(model_id: str) -> ModelFiles:
    """Locate a model by catalogue name, folder or hub id, without using the network, with its adapter and its revision.
    Raises UserError if it is not found.

    An id that ends in `SUFFIX` denotes the model's untrained twin, which has the same files.
    """
    name, dtype, device = model_id.removesuffix(SUFFIX), ModelFiles.dtype, ModelFiles.device
    while option := OPTION.search(name):
        catalogue.refuse_strangers()   # each type and device of a model takes memory of its own
        name, dtype, device = name[:option.start()], option["dtype"] or dtype, option["device"] or device
    place = _place(name)
    inside = files.adapters_inside(place.folder) if place.entry is None else []
    if inside or (place.entry is None and files.has_adapter(place.folder)):
        place = with_adapters(place, inside, _place)
    revision = files.fingerprint(*place.folders, more=place.unapplied) + model_id[len(name):]
    return replace(place, id=model_id, revision=revision, dtype=dtype, device=device,
                   reads=_reads(place.folder, revision))


@cache
def _reads(folder: Path, revision: str) -> frozenset[str]:
    """Return what the model of a folder reads, cached because every page needs it several times per run. Errors are not
    cached."""
    config = accounting.check_folder(folder)
    chat = ("chat",) if has_chat_template(folder) else ()
    if accounting.reads_prompts(folder):
        return frozenset(("image", "text", "prompt", *chat))
    return accounting.reads_pictures(folder) or frozenset((
        "target" if config.get("is_encoder_decoder") else "text_b", *chat))


def with_options(model_id: str, revision: str | None = None, **options: str) -> str:
    """Return the id of a model at this revision, in this dtype and on this device: name@revision~dtype~device. Raises
    UserError for any that is not offered."""
    if revision is not None:
        if _folder(model_id) is not None:
            raise UserError(f"{model_id} is a folder, which has no revisions; leave revision= out.")
        entry = catalogue.entry_named(model_id)
        model_id = f"{model_id if entry is None else entry.same_as or entry.place}@{revision}"
    for name, asked in options.items():
        option = f"~{asked.removeprefix('torch.')}"
        found = OPTION.fullmatch(option)
        if not (found and found[name]):
            raise UserError(f"{name} is {quoted(asked)} but must be {OFFERED[name]}; choose one of these.")
        model_id += "" if option[1:] == getattr(ModelFiles, name) else option
    return model_id


def _place(model_id: str) -> ModelFiles:
    """Locate a model like `locate`, but without resolving adapters."""
    entry = catalogue.entry_named(model_id)
    if entry is not None:
        return ModelFiles(model_id, folder=catalogue.folder_of(entry), title=entry.title, licence=entry.licence,
                          entry=entry)
    catalogue.refuse_strangers()
    if model_id.endswith(convert.GGUF):
        path = files.path_named(model_id)
        return ModelFiles(model_id, folder=convert.converted_folder(path), title=path.stem)
    folder = _folder(model_id)
    if folder is not None:
        return ModelFiles(model_id, folder=folder, title=folder.name, licence=files.licence_of(folder))
    hub_id, _, commit = model_id.partition("@")
    folder = catalogue.hub_folder(check_id(hub_id), commit or "main")
    if folder is None and commit:
        raise UserError(f"{hub_id} is not in the hub's cache on this disk at the revision {quoted(commit)}; run: "
                        f"hf download {hub_id} --revision {commit}")
    if folder is None and "/" not in model_id:
        raise UnknownModel(f"There is no model named {model_id}; choose one from the catalogue, or one from the hub as "
                           f"owner/name.")
    if folder is None:
        raise NotOnDisk(f"{model_id} is not on this disk", model_id)
    return ModelFiles(model_id, folder=folder, title=model_id, licence=files.licence_of(folder))


def _folder(model_id: str) -> Path | None:
    """Return the folder that an id names, if the id looks like a path or is a folder with a model."""
    if not model_id.strip() or "\0" in model_id:
        raise UserError("The model's name is empty; choose one from the catalogue.")
    path = files.path_named(model_id)
    written_as_path = path.is_absolute() or model_id in (".", "..") or model_id.startswith(PATH_STARTS)
    if path.is_dir() and (written_as_path or (path / "config.json").is_file() or files.has_adapter(path)):
        return path.resolve()
    if path.is_file():
        raise UserError(f"{path} is a file; give its folder, {path.resolve().parent}, if that has a config.json.")
    if written_as_path:
        raise UserError(f"There is no folder {path}; give the folder that save_pretrained wrote.")
    return None
