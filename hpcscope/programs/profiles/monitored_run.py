"""Running of a command under the monitor: find its MPI, preload the library in its processes, pass on signals."""

import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hpcscope.clock import unix_s
from hpcscope.errors import ScopeError, UsageError, naming
from hpcscope.launch.launch_environment import launch_environment
from hpcscope.machine import discover
from hpcscope.machine.machine import Host, Machine, MpiInstallation
from hpcscope.programs.profiles import PROFILES
from hpcscope.programs.profiles.program import Program, recognize
from hpcscope.rundirectory import FORMAT, note_checksums, read_json, replace_json, write_json
from hpcscope.settings.monitoring import MonitorSettings
from hpcscope.signals import handled, leave_alone
from hpcscope.strict import Strict, Unix
from hpcscope.units import quantity
from hpcscope.version import VERSION

MONITOR = "monitor.json"
"""The name of the file that marks the directory of a monitored run."""
PATIENCE_S = 10.0
"""A command that was asked to end is killed after this time."""
WRAPPERS = "wrappers"
"""The option in `monitor.json` that holds the patterns, separated by commas."""
TRACED_CALLS = 65_536
"""Number of calls that a process can keep in a trace (`trace_rows` in monitor/src/options.hpp)."""
_TRACED_BYTES, _WRITTEN_BYTES = 64, 190
"""Bytes per traced call in the process, and in trace.json."""
_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT)

logger = logging.getLogger(__name__)

Stream = int | IO[bytes] | None
"""Target of a stream of the command; None means this process's own stream."""


@dataclass(frozen=True)
class Options(MonitorSettings):
    """How a command is monitored, with the settings of the library."""

    def words(self) -> str:
        """Return the value of SCOPE_MONITOR_OPTIONS."""
        words = f"interval={self.interval_s:g} trace={self.trace} depth={self.frames} sample={self.sample_hz:g}"
        return words if self.files else f"{words} files=0"

    def variables(self, library: Path, profiles: Path, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the variables that make processes load the library and write profiles into a directory."""
        return {
            "LD_PRELOAD": ":".join(filter(None, [str(library), environment.get("LD_PRELOAD", "")])),
            "SCOPE_MONITOR": str(profiles),
            "SCOPE_MONITOR_OPTIONS": self.words(),
        }

    @property
    def traced_s(self) -> float:
        """Length of the trace window; 0 without a trace."""
        return float(self.trace.partition(":")[2])

    def trace_room(self) -> str:
        """Return in words how long the trace has room at which call rates; empty without a trace."""
        if not self.traced_s:
            return ""
        memory, written = (TRACED_CALLS * size / 1e6 for size in (_TRACED_BYTES, _WRITTEN_BYTES))
        calls_per_s = TRACED_CALLS / self.traced_s
        return (
            f"a trace has room for {TRACED_CALLS:,} calls of each rank ({memory:.0f} MB of memory, "
            f"{written:.0f} MB of trace.json). It is full after {quantity(self.traced_s, 's')} at "
            f"{calls_per_s:.0f} calls per second, or after {quantity(TRACED_CALLS / 1e6, 's')} at a million"
        )


class Monitored(Strict):
    """`monitor.json`: a command that ran under the monitor, and how it ended."""

    format: int
    scope_version: str
    command: list[str]
    directory: str
    started_unix_s: Unix | None
    """None if the tool that made the profile did not record it."""
    finished_unix_s: Unix | None
    """None while the command runs."""
    wall_s: float | None
    """Wall-clock time of the whole command, including launcher and start-up."""
    exit_code: int | None
    """None if a signal ended the command, or while it runs."""
    signal: int | None
    host: str
    mpi: MpiInstallation | None
    """The MPI that the library was built for."""
    library: str
    """Path of the monitor library that was preloaded."""
    options: dict[str, str]
    machine: Machine | None
    """Facts of the starting host, and the MPI environment variables; None until the program has ended."""

    @property
    def code(self) -> int:
        """The exit code as in a shell: 128 plus the signal number if a signal ended the command."""
        return 128 + self.signal if self.signal is not None else self.exit_code or 0


def run(
    command: Sequence[str],
    folder: Path,
    options: Options | None = None,
    *,
    directory: Path | None = None,
    environment: Mapping[str, str] | None = None,
    stdin: Stream = None,
    stdout: Stream = None,
    stderr: Stream = None,
    timeout_s: float | None = None,
    host: Callable[[], Host] = discover.this_host,
    program: Program | None = None,
    started: Callable[[], object] = lambda: None,
) -> Monitored:
    """Run a command under the monitor and return how it ended; afterwards, its profiles are in `folder`/profiles.

    Args:
        command: the words of any command that starts MPI processes, launcher included.
        folder: directory of this run; created if it does not exist.
        options: how to monitor.
        directory: where the command runs; by default the current directory.
        environment: variables in addition to this process's own.
        stdin: source of the command's input; by default, like `stdout` and `stderr`, this process's own stream.
        stdout: target of the command's output.
        stderr: target of the command's error output.
        timeout_s: time after which the command is asked to end, and killed if it does not.
        host: returns the facts of this host; called after the program has ended.
        program: result of `recognize` for the command, if already known.
        started: called once, as soon as the command runs.

    Raises:
        UsageError: the command does not exist, its MPI is not installed here, or an option is not allowed.
        ScopeError: the library cannot be built, or a file cannot be written.

    """
    chosen = options or Options()
    variables = {**os.environ, **(environment or {})}
    place = directory or Path.cwd()
    program = program or recognize(command, chosen.mpi, variables, place)
    library = _library(program)
    if room := chosen.trace_room():
        logger.info("%s", room)
    profiles = (folder / PROFILES).absolute()
    with naming(profiles, "cannot be created", UsageError):
        profiles.mkdir(parents=True, exist_ok=True)
    settings = chosen.variables(library, profiles, variables)
    if chosen.transport != "default":
        from hpcscope.launch import active_messages  # rarely needed

        messages = active_messages.around(program.mpi, chosen.transport)
        variables |= messages
        words, extra = program.monitored(settings, messages)
    else:
        words, extra = program.monitored(settings)
    begun = Monitored(
        format=FORMAT,
        scope_version=VERSION,
        command=list(command),
        directory=str(place.absolute()),
        started_unix_s=unix_s(),
        finished_unix_s=None,
        wall_s=None,
        exit_code=None,
        signal=None,
        host=os.uname().nodename,
        mpi=program.mpi,
        library=str(library),
        options={
            "interval_s": f"{chosen.interval_s:g}",
            "trace": chosen.trace,
            "depth": str(chosen.frames),
            "sample_hz": f"{chosen.sample_hz:g}",
            WRAPPERS: ",".join(chosen.wrappers),
            "transport": chosen.transport,
        },
        machine=None,
    )
    write_json(folder / MONITOR, begun)
    started_s = time.monotonic()
    status = _run(words, {**variables, **extra}, place, (stdin, stdout, stderr), timeout_s, started)
    ended = begun.model_copy(
        update={
            "finished_unix_s": unix_s(),
            "wall_s": time.monotonic() - started_s,
            "exit_code": status if status >= 0 else None,
            "signal": -status if status < 0 else None,
            "machine": discover.machine([host()], None),
        }
    )
    from hpcscope.programs.profiles.folder import complete  # late, so that its imports do not delay the start

    try:
        note_checksums(profiles, complete(profiles))
        replace_json(folder / MONITOR, ended)
    except ScopeError as error:
        logger.warning("%s", error)  # the program has run, and its exit code matters more
    return ended


def read(folder: Path) -> Monitored:
    """Read `monitor.json` of a monitored run; a UsageError says what is missing or wrong in it."""
    return read_json(folder / MONITOR, Monitored)


def wrappers(folder: Path) -> tuple[str, ...]:
    """Return the patterns for functions that only pass calls on to MPI, as given to the run in `folder`."""
    said = read(folder).options.get(WRAPPERS, "") if is_monitored(folder) else ""
    return tuple(filter(None, said.split(",")))


def is_monitored(folder: Path) -> bool:
    """Return whether a directory belongs to a monitored run."""
    return (folder / MONITOR).is_file()


def _library(program: Program) -> Path:
    from hpcscope.build import monitor

    mpi = program.mpi
    if (library := monitor.built(mpi)) is not None:
        return library
    logger.info("Scope now compiles the monitor for %s %s (once, about 10 s).", mpi.name, mpi.version)
    return monitor.build(mpi)


def _run(
    words: Sequence[str],
    environment: Mapping[str, str],
    directory: Path,
    streams: tuple[Stream, Stream, Stream],
    timeout_s: float | None,
    started: Callable[[], object],
) -> int:
    """Run the command to its end and return the exit code, or minus the signal number."""
    stdin, stdout, stderr = streams
    with launch_environment(environment) as variables:
        try:
            process = subprocess.Popen(
                words, env=variables, cwd=directory, stdin=stdin, stdout=stdout, stderr=stderr
            )
        except OSError as error:
            raise UsageError(f"{words[0]}: cannot be started: {error.strerror or error}") from error
        with _passing_on(process):
            try:
                started()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout_s)
            finally:
                _end(process)
            return process.returncode


@contextmanager
def _passing_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Pass signals on to the command; on a terminal, it receives Ctrl-C itself."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def forward(number: int, _frame: object) -> None:
        with suppress(ProcessLookupError):
            process.send_signal(number)

    with handled({**dict.fromkeys(_FORWARDED, forward), signal.SIGINT: leave_alone if os.isatty(0) else forward}):
        yield


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the command if it still runs: its time is over, or this process leaves early."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_S)
        process.kill()
        process.wait()
