"""Turns a GGUF file into a folder that loads fast: config.json, model.safetensors in float32, and the tokenizer."""
from pathlib import Path

from model.query import UserError


def convert(path: Path, folder: Path) -> None:
    """Reads the GGUF file's model, configuration and tokenizer and writes them to `folder`; numbers are kept exactly as dequantised."""
    import torch
    from safetensors.torch import save_file

    from model.pretrained import load

    load.prepare()
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = {"gguf_file": path.name, "local_files_only": True, "trust_remote_code": False}
    try:
        tokenizer = AutoTokenizer.from_pretrained(path.parent, **source)
        network = AutoModelForCausalLM.from_pretrained(path.parent, dtype=torch.float32, **source)
    except ImportError as error:
        raise UserError("GGUF files need the packages gguf and accelerate; run: pip install -r requirements.txt") from error
    config = network.config
    del config.quantization_config
    config.architectures = [type(network).__name__]
    folder.mkdir(parents=True, exist_ok=True)
    config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    tied = set(network.all_tied_weights_keys)
    save_file({name: tensor.contiguous() for name, tensor in network.state_dict().items() if name not in tied},
              folder / "model.safetensors", metadata={"format": "pt"})
