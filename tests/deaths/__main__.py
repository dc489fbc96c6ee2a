"""Work that is killed at every moment at which it changes the disk: python -m tests.deaths FOLDER HUB.

Each case runs in children of this process, forked after all imports. A hook of Python's own audit counts what changes
the disk, and the n-th time the child kills itself before it happens; or the system kills it within a file, as it writes
more bytes than it may. After each death `check` looks at what is left, and the work is done once more, whole. Prints
JSON: by case, how often it was killed and what was wrong.
"""
import json
import os
import sys
from pathlib import Path

from huggingface_hub import constants

from model.scratch import train as training
from model.studies.atlas import build
from tests.deaths.cases import CASES, build_atlas, short_texts, small_task
from tests.deaths.killing import in_child, run


def run_all(folder: Path, address: str) -> dict[str, tuple[list[int], list[str]]]:
    """Every case; the hub is at `address`."""
    os.environ.pop("HF_HUB_OFFLINE", None)
    os.environ["HF_HUB_CACHE"] = str(folder / "cache")
    constants.HF_HUB_OFFLINE, constants.ENDPOINT = False, address
    constants.HUGGINGFACE_CO_URL_TEMPLATE = address + "/{repo_id}/resolve/{revision}/{filename}"
    constants.DOWNLOAD_CHUNK_SIZE, training.CHECKPOINT_EVERY = 1000, 2
    build.SAVED_EVERY, build.SHARD = 0.0, 2
    undisturbed = folder / "undisturbed"
    training.train(small_task(), undisturbed / "out", 4, seed=3)
    short_texts(undisturbed)
    if in_child(lambda: build_atlas(undisturbed)):
        raise RuntimeError("an undisturbed atlas is not built")
    return {name: run(case, folder / name) for name, case in CASES.items()}


if __name__ == "__main__":
    print(json.dumps(run_all(Path(sys.argv[1]), sys.argv[2])))
