"""All private names that Clearhead uses from transformers. Start here after an upgrade:
tests/model/capture/test_transformers_internals.py lists missing ones.

All other imports use public names.
"""
import copy
import importlib
import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor, nn
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase, ProcessorMixin

# tables of architectures, and what the heads of these architectures predict
HEADS_BY_CLASS = (("MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES", "target"),
                  ("MODEL_FOR_MASKED_LM_MAPPING_NAMES", "mask"),
                  ("MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "next"),
                  ("MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES", "label"),
                  ("MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES", "label"))


# names of classes that mix tokens, (text, token, d), without softmax attention
MIXER = re.compile("(Mixer|MambaLayer|DeltaAttention|DeltaNet|LightningAttention|RecurrentBlock|ShortConv|"
                   "ShortConvolution)$")


def fused_mask(*arguments: object, **options: object) -> "Tensor | None":
    """Return the fused kernel's mask, or None if `is_causal` is equivalent."""
    from transformers.masking_utils import sdpa_mask

    return sdpa_mask(*arguments, **options)


def every_fused_mask(*arguments: object, **options: object) -> "Tensor | None":
    """Return the fused kernel's mask, even if `is_causal` is equivalent."""
    return fused_mask(*arguments, **{**options, "allow_is_causal_skip": False, "allow_is_bidirectional_skip": False})


def eager_mask(*arguments: object, **options: object) -> "Tensor | None":
    """Return the mask of eager attention."""
    from transformers.masking_utils import eager_mask as own

    return own(*arguments, **options)


def fused_attention(*arguments: object, **options: object) -> "Tensor":
    """Return the fused kernel's output (1, q, head, d_v)."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    return sdpa_attention_forward(*arguments, **options)[0]


def eager_attention(module: object) -> "Callable[..., tuple[Tensor, Tensor]] | None":
    """Return the eager attention function of a module's family, or None if it has none."""
    return getattr(sys.modules[type(module).__module__], "eager_attention_forward", None)


def mixers(network: "nn.Module") -> "list[nn.Module]":
    """Return the modules of a model of transformers that mix tokens without softmax attention."""
    return [each for each in network.modules()
            if type(each).__module__.startswith("transformers.models.") and MIXER.search(type(each).__name__)]


def difference_of(module: Any) -> "tuple[nn.Module, float] | None":
    """Return the norm that reads the difference of a layer's two softmaxes, and the factor λ of the second, or None for
    any other attention (Differential Transformer, Ye et al. 2024). Such a layer calls attention twice, each time with
    half of the values."""
    if not hasattr(module, "lambda_q1"):
        return None
    import torch

    one, two = ((query * key).sum(dtype=torch.float32).exp().to(query.dtype) for query, key in (
        (module.lambda_q1, module.lambda_k1), (module.lambda_q2, module.lambda_k2)))
    return module.groupnorm, float(one - two + module.lambda_init)


def mamba_beside(network: "nn.Module") -> dict[str, tuple[str, float, float]]:
    """Return, by module of attention, the Mamba path beside it, and the factors with which the layer adds attention and
    that path (Falcon-H1)."""
    return {f"{name}.self_attn": (f"{name}.mamba", block.attn_out_multiplier, block.ssm_out_multiplier)
            for name, block in network.named_modules() if hasattr(block, "ssm_out_multiplier")
            and hasattr(block, "self_attn")}


def gate_behind(network: "nn.Module", attention: str) -> "Tensor | None":
    """Return the factor by which a layer multiplies the output of this attention module (Mllama), or None."""
    gate = getattr(network.get_submodule(attention.rpartition(".")[0]), "cross_attn_attn_gate", None)
    return None if gate is None else gate.detach().tanh()


def make_eager(network: "PreTrainedModel") -> None:
    """Switch the whole network to eager attention with eager masks. Families that ignore the registry also ignore
    transformers' own switch and would keep masks made for the fused kernel; BLOOM would then attend to later tokens."""
    for module in network.modules():
        if hasattr(getattr(module, "config", None), "_attn_implementation"):
            module.config._attn_implementation = "eager"


def set_attention(network: "PreTrainedModel", implementation: str) -> None:
    """Switch a network's attention implementation, also in a program's own class, where transformers only does so if it
    can read the file of the class."""
    network.set_attn_implementation(implementation)
    parent: Any = next(each for each in type(network).__mro__ if each.__module__.startswith("transformers."))
    if parent is not type(network) and parent._can_set_attn_implementation():
        network.config._attn_implementation = implementation


def head_of(architecture: str) -> str:
    """Return what this architecture's head predicts: target, mask, next, label or none."""
    from transformers.models.auto import modeling_auto

    return next((head for names, head in HEADS_BY_CLASS
                 if any(architecture == known or (isinstance(known, tuple) and architecture in known)
                        for known in getattr(modeling_auto, names).values())), "none")


def made_of(network_class: "type[PreTrainedModel]", config: "PretrainedConfig", attention: str) -> "PreTrainedModel":
    """Return a network of this class or AutoModel class with this attention implementation and randomly initialised
    weights."""
    make = getattr(network_class, "_from_config", None) or network_class.from_config
    return make(config, attn_implementation=attention)


def drawn_anew(network: "PreTrainedModel") -> "PreTrainedModel":
    """Return a network of the same class, configuration and attention implementation, with weights drawn from torch's
    generator."""
    return made_of(type(network), copy.deepcopy(network.config), network.config._attn_implementation)


def no_weights() -> AbstractContextManager[None]:
    """Return a context in which new networks skip weight initialisation."""
    from transformers.initialization import no_init_weights

    return no_init_weights()


def tied_names(network: "PreTrainedModel") -> set[str]:
    """Return the names of parameters that share another parameter's memory and are not saved."""
    return set(network.all_tied_weights_keys)


def vocabulary_files(tokenizer: "PreTrainedTokenizerBase") -> dict[str, str]:
    """Return the files that a tokenizer's class reads, {content: file name}; empty for byte-level and character-level
    tokenizers."""
    return type(tokenizer).vocab_files_names


def tensors_read(kind: str, network: "PreTrainedModel") -> set[str]:
    """Return the names of the tensors that transformers reads from a GGUF file of this architecture."""
    from transformers import modeling_gguf_pytorch_utils as reading

    processor = reading.TENSOR_PROCESSORS.get(kind, reading.TensorProcessor)(config=network.config.to_dict())
    return set(reading.get_gguf_hf_weights_map(network, processor))


def mismatched_tensors(loading: dict[str, list]) -> list[tuple[str, tuple, tuple]]:
    """Return (tensor, its shape, the expected shape) for mismatches in the loading info of from_pretrained."""
    return sorted(loading["mismatched_keys"])


ATTENTION = "_attn_implementation_internal"   # where a configuration keeps the name of its attention implementation


def attention_of(network: object) -> str | None:
    """Return the name of the attention implementation in use, or None for modules that are not from transformers."""
    implementation = getattr(getattr(network, "config", None), "_attn_implementation", None)
    return implementation if hasattr(network, "set_attn_implementation") and isinstance(implementation, str) else None


def processor_class(name: str) -> "type[ProcessorMixin]":
    """Return a class of processors, without its checks of parts that need torchvision: the part for videos may be
    missing. Raises AttributeError or ImportError if there is no such class, or if it needs what is not installed."""
    import transformers

    if name not in transformers._class_to_module:
        raise AttributeError(f"transformers has no {name}")
    path = f"transformers.{transformers._class_to_module[name]}"
    theirs = path.replace(".processing_", ".image_processing_")
    try:
        module = importlib.import_module(path)
    except ModuleNotFoundError:   # it asks the part for pictures that needs torchvision for a size
        sys.modules[theirs] = importlib.import_module(path.replace(".processing_", ".image_processing_pil_"))
        try:
            module = importlib.import_module(path)
        finally:
            del sys.modules[theirs]
    return type(name, (getattr(module, name),), {"check_argument_for_proper_class": lambda *_: None})


def mended(processor: Any) -> Any:
    """Return the processor of a vision–language model, with a defect of Fuyu's repaired: in transformers 5.23, its
    version for Pillow passes tensors to its own function that cuts NumPy arrays into patches, and fails."""
    import torch

    pictures: Any = copy.copy(getattr(processor, "image_processor", None))
    if type(pictures).__name__ != "FuyuImageProcessorPil":
        return processor
    made, cut = copy.copy(processor), pictures.patchify_image
    made.image_processor = pictures
    pictures.patchify_image = lambda image, patch_size: torch.as_tensor(cut(np.asarray(image), patch_size))
    return made


def processor_class_of(model_type: str) -> str | None:
    """Return the name of the class of a model type's processors, or None."""
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES

    return PROCESSOR_MAPPING_NAMES.get(model_type)
