"""What is set before transformers is imported for the first time in this process."""
import os

SETTINGS = {"HF_HUB_DISABLE_TELEMETRY": "1", "TOKENIZERS_PARALLELISM": "false", "TRANSFORMERS_VERBOSITY": "error",
            "TQDM_DISABLE": "1"}


def prepare() -> None:
    """Sets what transformers reads from the environment before its first import (no telemetry, progress bars or
    messages), and makes the capture known to it."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    from transformers.utils import logging

    from model.capture import attention_call, forward_pass

    logging.disable_progress_bar()
    forward_pass.register()
    attention_call.tune_malloc()
