"""Programs under the monitor: the library built once per MPI, each run's profiles kept for many assertions."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from hpcscope.build import monitor
from hpcscope.errors import ScopeError
from hpcscope.launch.launch_environment import launch_environment
from hpcscope.launch.launcher import MpiProgram, Site
from hpcscope.launch.site import start_command
from hpcscope.machine import processors
from hpcscope.machine.machine import MpiInstallation
from hpcscope.programs.profiles import profile
from hpcscope.programs.profiles.profile import Profile
from tests import installed_mpi
from tests.installed_mpi import embedded, mpi, quickly  # noqa: F401
from tests.patience import PATIENCE_S, until

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Ended:
    """What a monitored job left behind."""

    code: int
    output: str
    errors: str
    profiles: list[Profile]
    """By rank."""

    def totals(self, rank: int) -> dict[str, tuple[int, int]]:
        """Return calls and bytes of every routine that a rank called."""
        found: dict[str, tuple[int, int]] = {}
        one = self.profiles[rank]
        for row in one.tables["calls"]:
            name = one.routine(int(row["routine"])).removeprefix("MPI_")
            calls, size = found.get(name, (0, 0))
            found[name] = calls + int(row["calls"]), size + int(row["bytes"])
        return found

    def waits(self, rank: int) -> dict[str, tuple[int, int]]:
        """Return requests and bytes that waits of a rank completed, by the routine that made them."""
        found: dict[str, tuple[int, int]] = {}
        one = self.profiles[rank]
        for row in one.tables["waits"]:
            name = one.routine(int(row["operation"])).removeprefix("MPI_")
            requests, size = found.get(name, (0, 0))
            found[name] = requests + int(row["requests"]), size + int(row["bytes"])
        return found


Run = Callable[..., Ended]
under_every_mpi = installed_mpi.under_every_mpi("MPICH 4.0 stands for the others", "mpich-debian")


@contextmanager
def killing(profiles: Path, rank: int, when: Callable[[dict[int, Profile]], bool]) -> Iterator[None]:
    """Kill a rank of the job that the body runs, when the profiles so far, by rank, are as `when` says."""

    def kill() -> None:
        until(lambda: when(read_by_rank(profiles)), f"the moment to kill rank {rank}")
        os.kill(int(read_by_rank(profiles)[rank].path.name.split(".")[-2]), signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    yield
    killer.join(PATIENCE_S)


def read_by_rank(folder: Path) -> dict[int, Profile]:
    """Return the profiles of a running job that can be read by now, by rank."""
    found = {}
    for path in folder.glob("*.profile"):
        with suppress(ScopeError):  # a process is just writing the head of it
            one = profile.read(path)
            found[one.rank] = one
    return found


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[MpiInstallation], Path]:
    """Compile the test program for an MPI, once."""
    folder = tmp_path_factory.mktemp("programs")

    def compile_once(installation: MpiInstallation) -> Path:
        program = folder / f"program-{installation.compiler.replace('/', '-')}"
        if not program.exists():
            source = str(HERE / "program.cpp")
            command = [installation.compiler, "-std=c++20", "-O0", "-pthread", source, "-o", str(program)]
            subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S)
        return program

    return compile_once


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory, compiled: Callable[[MpiInstallation], Path]) -> Run:
    """Run a program on so many ranks under the monitor."""

    def start(
        installation: MpiInstallation,
        ranks: int,
        *words: str,
        program: str | Path | None = None,
        directory: Path | None = None,
        folder: Path | None = None,
        **environment: str,
    ) -> Ended:
        profiles = directory or tmp_path_factory.mktemp("profiles")
        settings = {
            "LD_PRELOAD": str(quickly(monitor.build, installation)),
            "SCOPE_MONITOR": str(profiles),
            **environment,
        }
        # Only the ranks get the library, not what starts them.
        arguments = (*(f"{name}={value}" for name, value in settings.items()),)
        arguments += (str(program or compiled(installation)), *words)
        asked = MpiProgram("/usr/bin/env", arguments, ranks, oversubscribed=ranks > processors.usable())
        command = start_command(asked, Site(installation, installation.launcher))
        with launch_environment(command.environment) as variables:
            ended = subprocess.run(
                command.arguments, env=variables, capture_output=True, text=True, timeout=PATIENCE_S, cwd=folder
            )
        found = sorted((profile.read(path) for path in profiles.glob("*.profile")), key=lambda one: one.rank)
        return Ended(ended.returncode, ended.stdout, ended.stderr, found)

    return start
