"""What is set before huggingface_hub and transformers are imported for the first time in this process."""
import os

SETTINGS = {"HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_VERBOSITY": "error", "TOKENIZERS_PARALLELISM": "false",
            "TRANSFORMERS_VERBOSITY": "error", "TQDM_DISABLE": "1"}


def set_variables() -> None:
    """Sets what huggingface_hub and transformers read from the environment at their first import: no telemetry, no
    progress bars, no messages."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)


def prepare() -> None:
    """Sets these variables, imports transformers, and makes the capture known to it."""
    set_variables()
    from transformers import logging

    from model.capture import forward_pass

    logging.disable_progress_bar()
    forward_pass.register()
