"""What is timed is whole shards, and the plain loop is the model's own pass."""
import itertools

from benchmarks.atlas import measured, shards_of
from model.ask import sources
from model.cli.atlas import open_worker
from model.studies.atlas.build import SHARD, Task
from model.studies.atlas.workers import summaries


def test_every_worker_has_a_shard_to_begin_with():
    shards = shards_of(40, 3)
    assert [len(shard) for shard in shards] == [SHARD] * 5
    assert [item.number for item in itertools.chain(*shards)] == list(range(5 * SHARD))


def test_an_engine_is_timed_after_its_first_shards():
    task = Task("scratch", sources.revision("scratch"))
    started, speed, files = measured(lambda given: summaries(given, open_worker, task), shards_of(1, 1), 1)
    assert started > 0 and speed > 0 and set(files) >= {"heads", "examples", "texts"}
