"""Count the configurations that Clearhead would not verify: `python -m benchmarks.configs [--families] [FOLDER ...]`.

Applies `model.pretrained.accounting` to the default configuration of every type in transformers, to the configurations
of well-known models on the hub (`benchmarks/hub_configs.json`, with all their keys), and to every config.json in the
installed packages, the models on this disk and the given folders. --families adds the small models of
`benchmarks.families`, saved and reloaded with their weights. Prints each configuration that would not be verified, with
the reason.
"""
import argparse
import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks import families_models, families_pictures
from clearhead.model.capture.forward_pass import register
from clearhead.model.core.files import TemporaryFolder, home
from clearhead.model.pretrained import accounting
from clearhead.model.pretrained.tokens import LOAD_OPTIONS

HUB = Path(__file__).with_name("hub_configs.json")


def clauses_of(folder: Path) -> tuple[str, ...]:
    """Return clauses on everything in a folder's config.json that is not applied, as far as can be determined without
    weights."""
    from transformers import AutoConfig

    return accounting.unapplied((folder,), AutoConfig.from_pretrained(folder, **LOAD_OPTIONS), None, ())


def clauses_alone(content: dict[str, Any], folder: Path) -> tuple[str, ...]:
    """Return the same for a configuration that is first written to `folder`."""
    (folder / "config.json").write_text(json.dumps(content), encoding="utf-8")
    return clauses_of(folder)


def defaults() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the default configuration of every type that has one, as written by save_pretrained."""
    from transformers import CONFIG_MAPPING

    for model_type in CONFIG_MAPPING:
        made = accounting.default_of(CONFIG_MAPPING[model_type])
        if made is not None:
            yield model_type, json.loads(made.to_json_string(use_diff=False))


def on_disk() -> Iterator[Path]:
    """Yield the folders with a transformers config.json in the installed packages and the downloaded models."""
    found = [Path(str(file.locate())) for package in importlib.metadata.distributions()
             for file in package.files or () if file.name == "config.json"]
    for path in [*found, *home().glob("models/*/config.json")]:
        if path.is_file() and "model_type" in path.read_text(encoding="utf-8"):
            yield path.parent


def families(folder: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Save and reload the small model of each type, and yield (type, clauses on what is not applied)."""
    import transformers

    for reads, maker in (("text", families_models), ("picture", families_pictures)):
        for model_type in set(maker.mappings()) - set(families_models.excluded(reads)):
            place = folder / model_type
            with suppress(Exception):   # skip types that transformers cannot build or save; `families` reports why
                maker.build(model_type, "eager").save_pretrained(place)
                config = transformers.AutoConfig.from_pretrained(place, **LOAD_OPTIONS)
                kind = accounting.architecture_of(config) or transformers.AutoModel
                network, info = kind.from_pretrained(place, config=config, output_loading_info=True, **LOAD_OPTIONS)
                yield model_type, accounting.unapplied((place,), config, network, info["unexpected_keys"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, help="further folders with a config.json")
    parser.add_argument("--families", action="store_true", help="small models with their weights, too; minutes")
    given = parser.parse_args()
    register()
    print(f"{time.strftime('%Y-%m-%d')}, {platform.machine()}, {os.cpu_count()} cores, Python "
          f"{platform.python_version()}, transformers {importlib.metadata.version('transformers')}")
    with TemporaryFolder("configs") as folder:
        hub = json.loads(HUB.read_text(encoding="utf-8"))
        _say("defaults", ((name, clauses_alone(content, folder)) for name, content in defaults()))
        _say("hub", ((name, clauses_alone(content, folder)) for name, content in hub.items()))
        if given.families:
            _say("families", families(folder))
    _say("on disk", ((str(path), clauses_of(path)) for path in (*on_disk(), *given.folders)))


def _say(group: str, outcomes: Iterator[tuple[str, tuple[str, ...]]]) -> None:
    """Print a line for each configuration that is not verified, then their number."""
    count, alarms, start = 0, 0, time.perf_counter()
    for name, clauses in outcomes:
        count, alarms = count + 1, alarms + bool(clauses)
        if clauses:
            print(f"  {name}: {'; '.join(clauses)}")
    print(f"{group}: {count} configurations, {alarms} of them not verified, {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
