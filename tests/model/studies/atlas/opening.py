"""Openers for workers of their own process: they are found there by their names."""
import time

from model.ask.shard_worker import open_worker
from model.core.query import UserError
from model.studies.atlas.worker import ShardWorker, Task


class Slow(ShardWorker):
    """Takes its time over a shard, so that it can be killed while it has one."""

    def __call__(self, shard, report=lambda fraction, text: None):
        time.sleep(1)
        return super().__call__(shard, report)


def slowly(task: Task) -> ShardWorker:
    return Slow(task, open_worker(task).opened)


def refusing(task: Task) -> ShardWorker:
    raise UserError("This model is not here; fetch it.")
