"""Kill work at each moment at which it changes the disk: python -m tests.deaths FOLDER HUB.

Each case runs in children of this process, forked after all imports. An audit hook counts changes to the disk, and the
child kills itself just before the n-th; alternatively, the system kills it while it writes a file that exceeds a size
limit. After each kill, `check` examines the remaining files, and the work is repeated to its end. Prints JSON: for each
case, the number of kills and the faults.
"""
import json
import sys
from pathlib import Path

from huggingface_hub import constants

from clearhead.model.scratch import train as training
from clearhead.model.studies.atlas import build
from tests.deaths.cases import CASES, build_atlas, short_texts, small_task
from tests.deaths.killing import in_child, run


def run_all(folder: Path, address: str) -> dict[str, tuple[list[int], list[str]]]:
    """Run all cases. address: URL of the hub."""
    constants.HF_HUB_CACHE = str(folder / "cache")
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
