"""The life of a run directory: begun with all that is known before the first launch, finished, taken up again."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from scope.build.registry import BenchmarkDescription
from scope.errors import ScopeError, UsageError
from scope.machine.machine import Host, Machine, NativeBuild
from scope.plan import experiment as asking
from scope.plan import plan as planning
from scope.plan.experiment import Experiment
from scope.plan.plan import Plan
from scope.rundirectory import FORMAT, Run, RunDirectory, read_json, write_json, write_text
from scope.version import VERSION

LATEST = "latest"


@dataclass(frozen=True)
class Begun:
    """What a run directory says of a run that was begun."""

    run: Run
    experiment: Experiment
    machine: Machine
    plan: Plan


def new_directory(name: str, asked: Path | None) -> RunDirectory:
    """Make a new run's folder: the one asked for, else runs/<UTC time>-<name>."""
    if asked is not None:
        # A run that was submitted finds its job's folder there.
        if asked.exists() and (
            not asked.is_dir() or any(path != RunDirectory(asked).job for path in asked.iterdir())
        ):
            raise UsageError(f"--output {asked}: exists; must be new or empty (--resume {asked} continues a run)")
        return RunDirectory(_made(asked.absolute()))
    runs = Path("runs").absolute()
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    folders = (runs / (f"{stamp}-{name}" + (f"-{number}" if number else "")) for number in range(1000))
    return RunDirectory(_made(next(folder for folder in folders if not folder.exists())))


def make_latest(directory: RunDirectory) -> None:
    """Point runs/latest to a run that stands beside it."""
    runs = Path("runs").absolute()
    if directory.path.parent == runs:
        _point(runs / LATEST, directory.path.name)


def begin(
    directory: RunDirectory,
    experiment: Experiment,
    machine: Machine,
    benchmarks: list[BenchmarkDescription],
    plan: Plan,
    command: list[str],
) -> None:
    """Write down everything that is known before the first launch."""
    run = Run(
        format=FORMAT,
        scope_version=VERSION,
        name=experiment.name or directory.path.name,
        module=experiment.module,
        command=command,
        started_unix_s=time.time(),
        finished_unix_s=None,
        status="running",
        skipped=list(plan.skipped),
    )
    write_json(directory.run, run)
    settled = experiment.model_copy(update={"seed": plan.seed})
    write_text(directory.experiment, asking.write(settled))
    write_json(directory.machine, machine)
    write_json(directory.benchmarks, [benchmark.model_dump() for benchmark in benchmarks])
    write_text(directory.plan, planning.write(plan))


def read(directory: RunDirectory) -> Begun:
    """Read a run that was begun; raises UsageError naming a file that is missing, damaged or of a later format."""
    return Begun(
        run=read_json(directory.run, Run),
        experiment=asking.resolve(directory.experiment, {}),
        machine=read_json(directory.machine, Machine),
        plan=planning.read(directory.plan),
    )


def compiler(directory: RunDirectory, machine: Machine) -> str:
    """Return the MPI compiler that a begun run was built with."""
    if machine.build is None:
        raise UsageError(f"{directory.machine}: build = null: this run measured nothing itself and cannot go on")
    return machine.build.mpi.compiler


def refuse_changes(directory: RunDirectory, machine: Machine, build: NativeBuild, hosts: list[Host]) -> None:
    """Raise UsageError unless a begun run would go on with the same program on the same hosts."""
    before = machine.build.fingerprint if machine.build else ""
    if build.fingerprint != before:
        raise UsageError(
            f"{directory.machine}: build.fingerprint = {before}: the program, its compiler or its MPI"
            f" changed meanwhile (now {build.fingerprint}); start a new run"
        )
    names, here = sorted(host.name for host in machine.hosts), sorted(host.name for host in hosts)
    if names != here:
        raise UsageError(
            f"{directory.machine}: hosts = {', '.join(names)}: must be the hosts here, {', '.join(here)}"
        )


def finish(directory: RunDirectory, status: Literal["running", "finished", "interrupted", "failed"]) -> None:
    """Write down how a run ended, or that it goes on."""
    run = read_json(directory.run, Run)
    finished = None if status == "running" else time.time()
    write_json(directory.run, run.model_copy(update={"status": status, "finished_unix_s": finished}))


def finish_early(directory: RunDirectory, interrupted: bool) -> None:
    """Write down how a run ended early; a full disk does not allow even that, and has been told already."""
    with suppress(ScopeError):
        finish(directory, "interrupted" if interrupted else "failed")


@contextmanager
def held(directory: RunDirectory) -> Iterator[int]:
    """Keep other processes from adding to the same run; yields a descriptor for the launcher to inherit.

    So the run stays held while ranks are alive even if this process is killed.
    """
    path = directory.path / ".lock"
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except FileNotFoundError as error:
        raise UsageError(f"{directory.path}: does not exist; must be a run directory") from error
    except OSError as error:
        raise ScopeError(f"{path}: cannot be written: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield lock
    except BlockingIOError as error:
        raise UsageError(f"{directory.path}: another scope run is using it; wait for its end") from error
    finally:
        os.close(lock)


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ScopeError(f"{folder}: cannot be made: {error.strerror}") from error
    return folder


def _point(link: Path, target: str) -> None:
    """Let `link` point to `target` in one step; a reader sees the old or the new one."""
    if link.exists() and not link.is_symlink():
        return
    temporary = link.with_name(f".{link.name}.{os.getpid()}")
    try:
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(target)
        temporary.replace(link)
    except OSError as error:
        raise ScopeError(f"{link}: cannot be written: {error.strerror}") from error
