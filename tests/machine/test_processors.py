"""How many processors a process may use: affinity and quotas of control groups, version 1 and 2, the tightest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hpcscope.machine import processors
from hpcscope.machine.discover import this_host


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose process may run on eight processors."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(8)))
    (tmp_path / "proc/self").mkdir(parents=True)
    return tmp_path


def group(root: Path, line: str, **files: str) -> None:
    """Put the process into a control group with these files."""
    (root / "proc/self/cgroup").write_text(line + "\n")
    controllers, path = line.split(":", 2)[1:]
    folder = root / "sys/fs/cgroup" / ("cpu" if controllers else "") / path.lstrip("/")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"cpu.{name}").write_text(text + "\n")


def test_affinity_alone_without_a_quota(root: Path) -> None:
    assert processors.usable(root) == 8
    group(root, "0::/user.slice", max="max 100000")
    assert processors.usable(root) == 8


@pytest.mark.parametrize(("limit", "usable"), [("250000 100000", 2), ("50000 100000", 1), ("1600000 100000", 8)])
def test_whole_processors_of_a_version_2_quota(root: Path, limit: str, usable: int) -> None:
    group(root, "0::/slurm/job_7", max=limit)
    assert processors.usable(root) == usable


def test_a_version_1_quota(root: Path) -> None:
    group(root, "4:cpu,cpuacct:/docker/a", cfs_quota_us="300000", cfs_period_us="100000")
    assert processors.usable(root) == 3
    group(root, "4:cpu,cpuacct:/docker/a", cfs_quota_us="-1", cfs_period_us="100000")
    assert processors.usable(root) == 8


def test_the_tightest_quota_up_to_the_root_counts(root: Path) -> None:
    group(root, "0::/slurm", max="200000 100000")
    group(root, "0::/slurm/job_7/step_0", max="max 100000")
    assert processors.usable(root) == 2


def test_the_probe_agrees() -> None:
    assert this_host().processor.usable_processors == processors.usable()
