"""How many configurations raise an alarm: `python -m benchmarks.configs [--families] [FOLDER ...]`.

Accounted for (`model.pretrained.accounting`) are the defaults of every type that transformers knows, the configurations
of well-known models of the hub (`benchmarks/hub_configs.json`, written down with all their keys), and every config.json
of the installed packages, of the models on this disk and of further folders; with --families the small model of every
type of `benchmarks.families`, too, saved and loaded again with its weights. Prints each that would not be verified,
with the reason. """
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
from model.capture.forward_pass import register
from model.core.files import TemporaryFolder
from model.pretrained import accounting, catalogue
from model.pretrained.tokens import LOAD_OPTIONS

HUB = Path(__file__).with_name("hub_configs.json")


def clauses_of(folder: Path) -> tuple[str, ...]:
    """Return what in a folder with a config.json is not applied, as far as that can be told without its weights."""
    from transformers import AutoConfig

    return accounting.unapplied((folder,), AutoConfig.from_pretrained(folder, **LOAD_OPTIONS), None, ())


def clauses_alone(content: dict[str, Any], folder: Path) -> tuple[str, ...]:
    """Return the same of a configuration alone, which is written into `folder`."""
    (folder / "config.json").write_text(json.dumps(content), encoding="utf-8")
    return clauses_of(folder)


def defaults() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the configuration of every type that can be made with nothing set, as save_pretrained writes it."""
    from transformers import CONFIG_MAPPING

    for model_type in CONFIG_MAPPING:
        made = accounting.default_of(CONFIG_MAPPING[model_type])
        if made is not None:
            yield model_type, json.loads(made.to_json_string(use_diff=False))


def on_disk() -> Iterator[Path]:
    """Yield the folders with a config.json of transformers among the installed packages and the fetched models."""
    found = [Path(str(file.locate())) for package in importlib.metadata.distributions()
             for file in package.files or () if file.name == "config.json"]
    for path in [*found, *catalogue.home().glob("models/*/config.json")]:
        if path.is_file() and "model_type" in path.read_text(encoding="utf-8"):
            yield path.parent


def families(folder: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what is not applied of the small model of each type, which is saved in a folder and loaded again."""
    import transformers

    for reads, maker in (("text", families_models), ("picture", families_pictures)):
        for model_type in set(maker.mappings()) - set(families_models.excluded(reads)):
            place = folder / model_type
            with suppress(Exception):   # what transformers cannot build or save; the walk over the families says why
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
    """One line for each that raises an alarm, then how many there are."""
    count, alarms, start = 0, 0, time.perf_counter()
    for name, clauses in outcomes:
        count, alarms = count + 1, alarms + bool(clauses)
        if clauses:
            print(f"  {name}: {'; '.join(clauses)}")
    print(f"{group}: {count} configurations, {alarms} of them not verified, {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
