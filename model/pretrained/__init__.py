"""Open models of Hugging Face's transformers: find, download, check, load and verify them."""
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:   # short names for types of transformers
    from transformers import PretrainedConfig as Config  # noqa: F401
    from transformers import PreTrainedModel as Network  # noqa: F401
    from transformers import PreTrainedTokenizerBase as Tokenizer  # noqa: F401
    from transformers.utils import ModelOutput as Output  # noqa: F401, TID251

# read by huggingface_hub and transformers on first import: no telemetry, no progress bars, no messages
for name, value in {"HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_VERBOSITY": "error", "TOKENIZERS_PARALLELISM": "false",
                    "TRANSFORMERS_VERBOSITY": "error", "TQDM_DISABLE": "1"}.items():
    os.environ.setdefault(name, value)
