"""Free memory on every system: what the system calls available, less where a container's limit leaves less."""
import os

import psutil
import pytest

from model.core import limits


@pytest.fixture
def container(monkeypatch, tmp_path):
    """A container's folder of limits; empty, as outside of one."""
    monkeypatch.setattr(limits, "CONTAINER", tmp_path)
    return tmp_path


def test_available_memory_is_free_on_a_system_without_sysconf_and_without_proc(container, monkeypatch):
    monkeypatch.delattr(os, "sysconf", raising=False)
    whole = psutil.virtual_memory().total
    assert 0 < limits.memory_free() < whole


@pytest.mark.parametrize("limit, free", [("3000000\n", 2_000_000.0), ("max\n", None)])
def test_a_containers_limit_leaves_what_it_has_not_taken(container, limit, free):
    (container / "memory.max").write_text(limit, encoding="ascii")
    (container / "memory.current").write_text("1000000\n", encoding="ascii")
    assert limits.memory_free() == free or (free is None and limits.memory_free() > 10_000_000)
