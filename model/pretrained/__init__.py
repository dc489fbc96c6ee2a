"""Open models of Hugging Face's transformers: found, fetched, checked, loaded and verified."""
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:   # what transformers' types are called here
    from transformers import PretrainedConfig as Config  # noqa: F401
    from transformers import PreTrainedModel as Network  # noqa: F401
    from transformers import PreTrainedTokenizerBase as Tokenizer  # noqa: F401
    from transformers.utils import ModelOutput as Output  # noqa: F401, TID251

# read by huggingface_hub and transformers when they are imported first: no telemetry, no progress bars, no messages
for name, value in {"HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_VERBOSITY": "error", "TOKENIZERS_PARALLELISM": "false",
                    "TRANSFORMERS_VERBOSITY": "error", "TQDM_DISABLE": "1"}.items():
    os.environ.setdefault(name, value)
