"""Limits, memory, threads, stopping and caches."""
import json
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given

from clearhead.model.core import limits, memory
from clearhead.model.core.query import UserError
from tests.hostile import JSON


def test_settings_change_their_limit_and_no_other():
    changed = limits.from_environment({"CLEARHEAD_IMPORT_MB": "0.5", "CLEARHEAD_TOKENS": " 7 ",
                                       "CLEARHEAD_CACHE_MB": "", "CLEARHEAD_LONGEST_WAIT": "2.5",
                                       "CLEARHEAD_TRAININGS": "0"})
    assert changed == limits.Limits(import_bytes=limits.MB // 2, tokens=7, longest_wait=2.5, trainings=0)


@pytest.mark.parametrize("text", ["x", "nan", "inf", "-1", "0", "1e400", "9" * 5000, "1,5", "٣x"])
@pytest.mark.parametrize("name", ["tokens", "import_bytes"])
def test_non_numeric_setting_gives_one_sentence(text, name):
    with pytest.raises(UserError, match=rf"^{limits.setting_of(name)} is .* must be a number above 0; [^\n]*\.$"):
        limits.from_environment({limits.setting_of(name): text})


@pytest.mark.parametrize("quadratic", [0.0, 2.0])
@pytest.mark.parametrize(("room", "speed"), [(3e8, 1e30), (1e30, 3e9)], ids=["memory", "time"])
def test_longest_text_that_fits_is_told(room, speed, quadratic, monkeypatch):
    plan = memory.Plan(10**8, 4096, 0, (memory.Shape(64, 64, 64, 64, quadratic),), keeps_weights=False)
    matrices = 4 * quadratic * 64 * 10_000**2   # bytes
    assert matrices <= plan.bytes_for(10_000) < matrices + 2e9
    monkeypatch.setattr(memory, "memory_free", lambda: room)
    monkeypatch.setattr(memory, "operations_per_second", lambda: speed)
    most = next(n for n in range(10**5) if plan.bytes_for(n + 1) > room or plan.operations_for(n + 1) > 600 * speed)
    memory.refuse_what_does_not_fit(plan, most, "it")
    for n in (most + 1, 3 * most, 3 * most + 1):
        with pytest.raises(UserError, match=rf"\(limit 600 s\); shorten the text to {most:,} tokens\.$"):
            memory.refuse_what_does_not_fit(plan, n, "it")
    monkeypatch.setattr(memory, "memory_free", lambda: 1)
    with pytest.raises(UserError, match=r"; choose a smaller model\.$"):
        memory.refuse_what_does_not_fit(plan, 3 * most, "it")
    small = replace(plan, parameters=1000, width=48, shapes=())   # so small that nothing is measured
    monkeypatch.setattr(memory, "memory_free", None)
    memory.refuse_what_does_not_fit(small, 100, "it")


def test_exceeded_limit_is_named_with_its_setting():
    limits.Limits(tokens=5).refuse_above("tokens", 5, "mine.npz", "save fewer layers")
    with pytest.raises(UserError, match=r"^mine has 8,000 tokens and the limit is 5; x, or set CLEARHEAD_TOK"):
        limits.Limits(tokens=5).refuse_above("tokens", 8_000, "mine", "x")
    with pytest.raises(UserError, match=r"has 1\.01 MB and the limit is 1; x, or set CLEARHEAD_FILE_MB higher\.$"):
        limits.Limits(file_bytes=limits.MB).refuse_above("file_bytes", limits.MB + 1, "mine", "x")
    with pytest.raises(UserError, match=r" rows and the limit is 20,000; x\.$"):
        limits.Limits().refuse_above("case_rows", 10**5000, "mine", "x")


@given(JSON)
def test_json_within_limits_is_read(value):
    content = json.dumps(value).encode()
    assert json.dumps(limits.parse_json(content, "x")) == json.dumps(json.loads(content))


@pytest.mark.parametrize(("content", "said"), [
    (b"[" + b"1," * 2_000 + b"1]", "2,001 values and the limit is 2,000"),
    (b" " * 5_000 + b"1", "5,001 bytes and the limit is 5,000")])
def test_exceeded_limit_is_named(content, said, monkeypatch):
    monkeypatch.setattr(limits, "LIMITS", replace(limits.Limits(), json_values=2_000, json_bytes=5_000)
                        if len(content) < 10**5 else limits.Limits())
    with pytest.raises(UserError, match=f"^config.json has .*{said}"):
        limits.parse_json(content, "config.json")


def test_least_recently_used_goes_first():
    cache = memory.ByteCache(100)
    for name in "abc":
        cache[name] = np.zeros(30, np.uint8)
    assert cache["a"].nbytes == 30
    cache["d"] = np.zeros(30, np.uint8)
    assert set(cache) == {"a", "c", "d"} and cache.bytes == 90


@dataclass(frozen=True)
class Answer:
    """An answer with arrays at every depth."""

    alone: np.ndarray
    by_name: dict[str, np.ndarray]
    inside: "tuple[Answer, ...]" = ()


def test_arrays_count_at_every_depth():
    def answer(size, *inside):
        return Answer(np.zeros(size), {"a": np.zeros(size)}, inside)

    grown, plain = answer(100, answer(50)), answer(0, answer(0))
    assert memory.bytes_of(grown) - memory.bytes_of(plain) == 8 * (2 * 100 + 2 * 50)


@pytest.mark.parametrize("limit, free", [("3000000\n", 2_000_000.0), ("max\n", None)])
def test_memory_free_in_a_container(monkeypatch, tmp_path, limit, free):
    monkeypatch.setattr(memory, "CONTAINER", tmp_path)
    (tmp_path / "memory.max").write_text(limit, encoding="ascii")
    (tmp_path / "memory.current").write_text("1000000\n", encoding="ascii")
    assert memory.memory_free() == free or (free is None and memory.memory_free() > 10_000_000)
