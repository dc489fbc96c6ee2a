"""How a worker of the atlas comes to its model, in whatever process or machine it is."""
from model.ask.sources import models, source_of
from model.core.memory import FLOAT
from model.core.types import quiet
from model.scratch import catalogue as scratch_catalogue
from model.studies.atlas.worker import ShardWorker, Task

BASE = 450e6   # bytes of a process with torch and transformers in it, before there is a model: 440 MB measured
TEXT = 100e6   # bytes for a text of usual length while it is measured, and the shard's summary


def open_worker(task: Task) -> ShardWorker:
    """The worker, with its model opened and verified. Raises UserError where the model, or what computes, is not the
    same here as where the atlas is built."""
    task.check(source_of(task.model).revision(task.model))
    return ShardWorker(task, models.open(task, quiet))


def worker_bytes(model_id: str) -> float:
    """About how much memory one worker takes."""
    return BASE + TEXT + FLOAT * 1.15 * _parameters(model_id)


def _parameters(model_id: str) -> int:
    """How many numbers the model's weights are, by their headers."""
    if scratch_catalogue.is_scratch(model_id):
        if model_id == "scratch":
            return 5_000_000
        return scratch_catalogue.weights_file(model_id)[0].stat().st_size // FLOAT
    from model.pretrained import files, load

    return files.weights_of(load.locate(model_id).folder).parameters
