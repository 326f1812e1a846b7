"""How a lab that is up is entered: commands on its hosts, and their environment."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hpcscope.build.mpi.implementation import Conditions
from hpcscope.build.mpi.registry import FAMILIES
from hpcscope.errors import UsageError
from hpcscope.lab import folder
from hpcscope.lab.active import INTERFACE, MANAGEMENT, VARIABLE, ActiveLab
from hpcscope.lab.wiring import COUNTERS, counters
from hpcscope.rundirectory import write_json

STORAGE = "SCOPE_STORAGE"
"""The environment variable with the folder of the file system."""
EMULATED = Conditions(shared_kernel=True, one_host=False, interface=INTERFACE)
TEMPORARY = "tmp"
TIMEOUT_S = 30.0
ENTRY_S = 60.0
"""Time for a command to enter the lab on a busy machine; a signal is held until then, or it would be lost."""
AGAIN_S = 0.005
"""Polling interval for a command that is entering a lab."""


@dataclass(frozen=True)
class Emulation:
    """A lab that is up, seen from outside."""

    folder: Path
    state: ActiveLab

    def command(self, words: Sequence[str], host: str | None = None) -> list[str]:
        """Return how to run a command in this working directory on a host of the lab, or (None) in its fabric.

        Raises UsageError for an unknown host.
        """
        inside = ["sh", "-c", 'cd "$0" && exec "$@"', str(Path.cwd()), *words]
        if host is not None:
            known = self.state.host(host)
            if known is None:
                names = ", ".join(up_host.name for up_host in self.state.hosts)
                raise UsageError(f"lab {self.state.name}: host {host}: must be one of {names}")
            inside = ["nsenter", "--target", str(known.pid), "--net", "--uts", "--mount", *inside]
        user = ["--user", "--preserve-credentials"] if self.state.rootless else []
        return ["nsenter", "--target", str(self.state.holder), *user, "--mount", "--net", "--pid", *inside]

    @property
    def storage(self) -> Path | None:
        """The folder of the lab's file system, on every host with ranks; None if it has none."""
        return self.folder / "storage" if self.state.description.storage else None

    @property
    def environment(self) -> dict[str, str]:
        """Variables of every command inside; this process's variables for MPI take precedence over the lab's.

        A lab has its own temporary folder: launchers name files by process numbers, which labs count separately.
        """
        own = {VARIABLE: str(self.folder / folder.STATE), "TMPDIR": str(self.folder / TEMPORARY)}
        if self.state.description.trunk:
            own[COUNTERS] = counters(self.state.description, self.folder)
        if self.storage is not None:
            own[STORAGE] = str(self.storage)
        return {**variables(self.state.remote_shell), **os.environ, **own}

    def run(
        self, host: str | None, words: Sequence[str], timeout: float = TIMEOUT_S, given: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command inside and return its output; `given` goes to its standard input."""
        return subprocess.run(
            self.command(words, host),
            env=self.environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            **({"input": given} if given is not None else {"stdin": subprocess.DEVNULL}),
        )

    def started(self, host: str | None, words: Sequence[str]) -> subprocess.Popen[str]:
        """Start a command inside; its output goes into a pipe."""
        return subprocess.Popen(
            self.command(words, host),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )

    def kept(self, state: ActiveLab) -> Emulation:
        """Write a new state and return the lab with it."""
        write_json(self.folder / folder.STATE, state)
        return Emulation(self.folder, state)


def variables(remote_shell: str) -> dict[str, str]:
    """Return the variables for all MPI families with which `mpiexec --host a1,b1 ./app` works as on a cluster.

    Without them launchers would look for ssh (`remote_shell` replaces it), messages could take the unshaped
    network or memory that all hosts share, and the first rank of every host would be bound to the same processor.
    """
    steering = {name: value for family in FAMILIES for name, value in family.environment(EMULATED).items()}
    launching = {
        name: value for family in FAMILIES for name, value in family.launching(remote_shell, MANAGEMENT).items()
    }
    return steering | launching


def signal_command(command: subprocess.Popen[bytes], number: int) -> None:
    """Send a signal to a command inside: `nsenter` would not forward it.

    `nsenter` starts the command as its child after a moment; if it has no child by then, it has ended.
    """
    deadline = time.monotonic() + ENTRY_S
    while not (children := _children_of(command.pid)) and time.monotonic() < deadline:
        if command.poll() is not None:
            return
        time.sleep(AGAIN_S)
    for child in children:
        with suppress(ProcessLookupError):
            os.kill(child, number)


def _children_of(parent: int) -> list[int]:
    """Return the children of a process: not every kernel lists them in one file."""
    numbers = (int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit())
    return [number for number in numbers if _parent_of(Path(f"/proc/{number}")) == parent]


def _parent_of(process: Path) -> int | None:
    """Return the parent of a process, by its folder in /proc; None if the process has gone."""
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None
