"""`scope run` where the disk, files or open files are limited."""

from __future__ import annotations

import json
import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcscope.launch import processes
from tests import declared
from tests.cli.scope_command import (
    BRIEF,
    LONG,
    SCOPE,
    answered,
    cases,
    planned,
    samples,
    start,
)
from tests.messages import mentions
from tests.patience import PATIENCE_S, until

AS_MANY_SAMPLES = """[sampling]
budget_s = 600.0
precision = 1e-9
minimum_repetitions = 200
maximum_repetitions = 200
"""
"""However fast the machine is: about 60 KB in a launch of LONG."""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    # The declarations of the benchmarks, the other files before the samples, and some of the samples fit.
    room = len(json.dumps(declared.described(), indent=1)) // 1024 + 80
    words = ["mount", "-t", "tmpfs", "-o", f"size={room}k", "tmpfs", str(disk)]
    mounted = subprocess.run(words, capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("mounting is not allowed here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_is_one_line_and_the_run_goes_on_when_there_is_room(small_disk: Path) -> None:
    (small_disk / "e.toml").write_text(AS_MANY_SAMPLES)
    answer = answered(small_disk, "run", "e.toml", *LONG, "--mpi", "embedded", "--seed", "3", "-o", "run")
    assert answer.code == 1
    last = answer.errors.strip().splitlines()[-1]
    assert last.startswith("scope run: ")
    assert f"{small_disk / 'run'}/" in last, "which file was written when the disk was full, the machine decides"
    assert "No space left on device" in last
    assert "scope run --resume run" in answer.errors
    assert "Traceback" not in answer.errors
    before = cases(small_disk / "run")
    assert before

    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    resumed = answered(small_disk, "run", "--resume", "run")
    assert resumed.code == 0, resumed.errors
    assert cases(small_disk / "run") == planned(small_disk / "run")
    assert set(before) <= set(cases(small_disk / "run"))


@pytest.mark.slow("a rare limit; there, a full disk ends a run in one line, and it goes on")
def test_samples_that_reach_a_limit_on_file_sizes_end_the_run_in_one_line(tmp_path: Path) -> None:
    """MPI itself needs larger files than such a run has samples: the ranks get their limit after MPI_Init."""
    run = tmp_path / "run"
    running = start(tmp_path, "run", *LONG, *BRIEF, "--budget", "1", "--launches", "1", "-o", "run")
    until(lambda: any(line["record"] == "case" for line in samples(run)), "a case")
    room = (run / "samples.jsonl").stat().st_size + 512
    ranks = processes.with_argument(f"--progress={(run / 'launches/0001-1/progress').absolute()}")
    for rank in ranks:
        resource.prlimit(rank.pid, resource.RLIMIT_FSIZE, (room, room))
    _, errors = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 1, errors
    said = f"scope run: {run / 'samples.jsonl'}: ... File too large"
    assert any(mentions(line, said) for line in errors.splitlines())
    assert "scope run --resume run" in errors
    before = cases(run)

    resumed = answered(tmp_path, "run", "--resume", "run")
    assert resumed.code == 0, resumed.errors
    assert cases(run) == planned(run)
    assert set(before) <= set(cases(run))


def test_too_few_open_files_are_named_once(tmp_path: Path) -> None:
    assert answered(tmp_path, "build", "--mpi", "embedded").code == 0  # a compiler needs more
    limited = subprocess.run(
        ["bash", "-c", 'ulimit -n 24; exec "$@"', "bash", str(SCOPE), "run", *LONG, *BRIEF, "-o", "run"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert limited.returncode == 1, limited.stderr
    # Scope's own threads may reach the limit first.
    said = "open files of a process: expected 48 or more, found 24; run `ulimit -n 48`"
    assert limited.stderr.count(said) == 1
    last = limited.stderr.splitlines()[-1]
    assert last.startswith((f"scope run: no rank began: {said}", f"scope run: {said}"))
    assert len(list((tmp_path / "run" / "launches").glob("*"))) <= 1, "tried once"


@pytest.mark.slow("a rare limit; there, launchers that lose their ranks are told in one line")
def test_a_limit_on_file_sizes_below_the_need_of_mpi_is_named(tmp_path: Path) -> None:
    assert answered(tmp_path, "build", "--mpi", "embedded").code == 0  # a compiler needs larger files
    words = ["run", *LONG, *BRIEF, "--launches", "1", "-o", "run"]
    limited = subprocess.run(
        ["bash", "-c", 'ulimit -f 1024; exec "$@"', "bash", str(SCOPE), *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert limited.returncode == 1, limited.stderr
    last = limited.stderr.strip().splitlines()[-1]
    assert mentions(last, "scope run: ... 1 MiB ... ulimit -f")
    assert cases(tmp_path / "run") == []

    resumed = answered(tmp_path, "run", "--resume", "run")
    assert resumed.code == 0, resumed.errors
    assert cases(tmp_path / "run") == planned(tmp_path / "run")


def test_a_file_that_reaches_a_limit_on_file_sizes_fails_its_case_alone(tmp_path: Path) -> None:
    assert answered(tmp_path, "build", "--mpi", "embedded").code == 0  # a compiler needs larger files
    # The two ranks write 32 MiB into one file. The first stays below the limit.
    words = ["run", "--case", "storage.write", "--case", "mpi.barrier", *BRIEF, "--launches", "1", "-o", "run"]
    limited = subprocess.run(
        ["bash", "-c", 'ulimit -f 20480; exec "$@"', "bash", str(SCOPE), *words, "--storage", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert limited.returncode == 1, limited.stderr
    found = {line["benchmark"]: line["reason"] for line in samples(tmp_path / "run") if line["record"] == "case"}
    assert found["storage.write"].startswith("rank 1")
    assert found["storage.write"].endswith("write: File too large")
    assert found["mpi.barrier"] == ""
    assert "write: File too large" in " ".join(limited.stdout.split())
