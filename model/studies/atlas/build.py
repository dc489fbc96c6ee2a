"""From the summaries of shards, in the corpus' order, to the atlas; and what an atlas says of itself."""
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from model.core.query import Kind
from model.studies.atlas.corpora import SHARD, Corpus, digest
from model.studies.atlas.files import FORMAT
from model.studies.atlas.summary import Summary, merge
from model.studies.atlas.tables import Atlas, tables_of
from model.studies.atlas.worker import Task

SAVED_EVERY = 10.0   # seconds of work that a stop, however it comes, costs at most


def made_of(task: Task, corpus: Corpus, kind: Kind | None) -> dict[str, Any]:
    """What decides every number of an atlas. Raises OSError where a file cannot be read."""
    found = corpus.files()
    return {"format": FORMAT, "model": task.model, "revision": task.revision, "asked_kind": kind and kind.value,
            "corpus": digest(found), "files": found, "field": corpus.field, "limit": corpus.limit, "shard": SHARD,
            "versions": task.versions}


def folded(summaries: Iterable[Summary], total: Summary | None, save: Callable[[Summary], None],
           say: Callable[[Summary], None]) -> Summary | None:
    """All of them together, after `total`. `save` gets what is done so far now and then and when the work is stopped,
    `say` each time. None without a text."""
    saved = time.perf_counter()
    try:
        for summary in summaries:
            total = summary if total is None else merge(total, summary)
            say(total)
            if time.perf_counter() - saved > SAVED_EVERY:
                save(total)
                saved = time.perf_counter()
    except BaseException:   # Ctrl-C, a text that is refused: what is done is done
        if total is not None:
            save(total)
        raise
    return total


def atlas_of(summary: Summary, said: Mapping[str, Any]) -> Atlas:
    """The atlas of a whole corpus; `said`: as `made_of` gives it."""
    averages = summary.averages
    about = {name: value for name, value in said.items() if name != "asked_kind"}
    about |= {"title": summary.title, "kind": summary.kind.value,
              "verification": " and ".join(sorted(summary.statuses)),
              "layers": len({layer for layer, _ in summary.heads}), "texts": averages.texts,
              "tokens": averages.tokens, "cut": averages.cut}
    if summary.syntax is not None:
        about["syntax"] = {name: getattr(summary.syntax, name) for name in ("sentences", "not_found", "too_long",
                                                                            "unplaced")}
    return Atlas(about, tables_of(summary))
