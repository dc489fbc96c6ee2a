"""Turns a GGUF file into a folder that loads fast: config.json, model.safetensors in float32, and the tokenizer."""
import re
import struct
from importlib import util
from pathlib import Path

from model.capture.transformers_internals import tied_names
from model.core import memory
from model.core.files import beside, make_folder, no_device
from model.core.query import NotOnDisk, UserError, first_line
from model.pretrained import bounds, catalogue, files
from model.pretrained.environment import prepare
from model.pretrained.gguf_header import read_header
from model.pretrained.skeleton import refuse_what_weights_do_not_hold

SUFFIX = ".gguf"


def folder_for(path: Path) -> Path:
    """Where the converted model of a person's own GGUF file belongs: another content of the file, another folder.
    Raises UserError if there is no such file."""
    if not path.is_file():
        raise UserError(f"There is no file {path}; give the path of a GGUF file that is on this disk.")
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).lstrip(".")
    return catalogue.home() / "models" / no_device(f"{stem}-{files.sha256(path)[:12]}")


def converted_folder(path: Path) -> Path:
    """The folder of the converted model. Raises NotOnDisk while the file has not been converted."""
    folder = folder_for(path)
    if not (folder / "config.json").is_file():
        raise NotOnDisk(f"{path.name} is converted once before it is shown; do so with: python -m model fetch {path}")
    return folder


def convert(path: Path, folder: Path) -> None:
    """Reads the GGUF file's model, configuration and tokenizer and writes them to `folder`, numbers exactly as
    dequantised. Raises UserError for a file that is damaged, too large or no decoder."""
    held = refuse_what_does_not_fit(path)
    import torch
    from safetensors.torch import save_file

    prepare()
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    source = {"gguf_file": path.name, "local_files_only": True, "trust_remote_code": False}
    try:
        config = AutoConfig.from_pretrained(path.parent, **source)
        refuse_what_weights_do_not_hold(lambda: AutoModelForCausalLM.from_config(config), held, path.name)
        tokenizer = AutoTokenizer.from_pretrained(path.parent, **source)
        network = AutoModelForCausalLM.from_pretrained(path.parent, dtype=torch.float32, **source)
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{path.name} cannot be read as a decoder ({first_line(error, 160)}); choose another GGUF "
                        f"file.") from error
    config = network.config
    del config.quantization_config
    config.architectures = [type(network).__name__]
    make_folder(folder)
    config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    tied = tied_names(network)
    with beside(folder / "model.safetensors") as weights:
        save_file({name: tensor.contiguous() for name, tensor in network.state_dict().items() if name not in tied},
                  weights, metadata={"format": "pt"})


def refuse_what_does_not_fit(path: Path) -> int:
    """The number of parameters, by the file's header and before any memory is taken. Raises UserError for a file that
    is cut off, or too large for a limit or for memory."""
    if util.find_spec("gguf") is None:
        raise UserError("GGUF files need the packages gguf and accelerate; run: pip install -r requirements.txt")
    try:
        header = read_header(path)
    except (ValueError, OSError, struct.error) as error:
        raise UserError(f"{path.name} is cut off or no GGUF file ({first_line(error, 120)}); copy or download it "
                        f"again.") from error
    of_network = {name: number for name, number in header.numbers.items() if not name.startswith("tokenizer.")}
    bounds.check_sizes(of_network, path.name)
    memory.refuse_weights(header.parameters, path.name)
    return header.parameters
