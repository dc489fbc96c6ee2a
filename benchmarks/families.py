"""Walks every text family that transformers knows: `python -m benchmarks.families [--json FILE] [TYPE ...]`."""
import argparse
import multiprocessing
import multiprocessing.connection
import os
import sys
import time

SECONDS = 60            # for one family; then it counts as not built
MEMORY = 6 * 2**30      # bytes of address space that one family may take above what the walk has


def walk(types: list[str], tell) -> list:
    """The outcome of each type, each in a process of its own, so that neither a crash nor a hang can stop the walk; two at a time."""
    from benchmarks.families_check import Outcome

    context = multiprocessing.get_context("fork")
    waiting, running, outcomes = list(reversed(types)), {}, []
    while waiting or running:
        while waiting and len(running) < 2:
            model_type = waiting.pop()
            reader, writer = context.Pipe(duplex=False)
            process = context.Process(target=_one, args=(model_type, writer))
            process.start()
            writer.close()
            running[model_type] = (process, reader, time.monotonic())
        multiprocessing.connection.wait([reader for _, reader, _ in running.values()], timeout=1)
        for model_type, (process, reader, start) in list(running.items()):
            outcome = _outcome(model_type, process, reader, start)
            if outcome is not None:
                running.pop(model_type)
                process.kill()
                process.join()
                outcomes.append(outcome)
                tell(outcome, time.monotonic() - start)
    return sorted(outcomes, key=lambda each: each.type)


def _outcome(model_type: str, process, reader, start: float):
    from benchmarks.families_check import Outcome

    if reader.poll():
        try:
            return reader.recv()
        except EOFError:
            return Outcome(model_type, "not built", "its process died")
    if time.monotonic() - start > SECONDS:
        return Outcome(model_type, "not built", f"it took longer than {SECONDS} s")
    return None


def _one(model_type: str, writer) -> None:
    import resource

    import torch

    from benchmarks.families_check import check

    torch.set_num_threads(1)
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    writer.send(check(model_type))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json")
    parser.add_argument("types", nargs="*")
    given = parser.parse_args()
    sys.path.insert(0, os.getcwd())
    from model.pretrained.load import prepare

    prepare()
    import transformers.modeling_utils
    import transformers.models.bart.modeling_bart
    import transformers.models.llama.modeling_llama

    from benchmarks import families_check, families_models
    types = given.types or list(families_models.mappings())
    def tell(o, seconds):
        print(f"{o.type:24} {o.status:9} {seconds:5.1f}s err={o.max_error if o.max_error is None else f'{o.max_error:.1e}'} peak={o.peak or 0:.2f} {o.faults_caught and ' '.join(f'{k}:{v}' for k,v in o.faults_caught.items())} | {o.reason[:260]} | {o.kinds}", flush=True)
    outs=walk(types, tell)
    from collections import Counter
    print(Counter(o.status for o in outs))


if __name__ == "__main__":
    main()
