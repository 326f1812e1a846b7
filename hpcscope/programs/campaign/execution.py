"""Execution of one run: start, time limit and verdict."""

import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hpcscope.clock import unix_s
from hpcscope.commands import captured
from hpcscope.errors import UsageError
from hpcscope.launch import processes
from hpcscope.launch.diagnosis import diagnose
from hpcscope.launch.launch_environment import launch_environment
from hpcscope.launch.launcher import Command
from hpcscope.programs.campaign.record import Status

MARK = "SCOPE_CAMPAIGN_RUN"
"""The environment variable that marks the processes of a run; its value is the run's directory."""
GRACE_S = 5.0
"""Time for a launcher to end its ranks itself."""
TAIL_BYTES = 65536
OUTPUT, ERRORS = "stdout.txt", "stderr.txt"


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    status: Status
    reason: str
    exit_code: int | None
    started_unix_s: float
    elapsed_s: float
    user_s: float
    system_s: float


def execute(command: Command, folder: Path, directory: Path, limit_s: float, check: Sequence[str] = ()) -> Outcome:
    """Run a command in `directory` to its end, with its output in `folder`, and return how it ended.

    The CPU time counts the command and all its descendants on this host that were waited for (wait4).
    Raises UsageError if the command cannot be started; a KeyboardInterrupt ends the run and is raised again.
    """
    folder.mkdir(parents=True, exist_ok=True)
    started_unix_s, begin_s = unix_s(), time.perf_counter()
    with launch_environment({**command.environment, MARK: str(folder)}) as variables:
        with (folder / OUTPUT).open("wb") as output, (folder / ERRORS).open("wb") as errors:
            try:
                process = subprocess.Popen(
                    command.arguments,
                    env=variables,
                    cwd=directory,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=errors,
                    start_new_session=True,
                )
            except OSError as error:
                raise UsageError(f"{command.arguments[0]}: does not start: {error.strerror}") from error
        in_time = False
        try:
            in_time = _ended(process.pid, limit_s)
        finally:
            if not in_time:
                _end(process.pid, str(folder))
            _, waited, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(waited)
    elapsed_s = time.perf_counter() - begin_s
    processes.kill(lambda: processes.with_variable(MARK, str(folder)))  # leftovers would disturb the next run
    code = process.returncode if process.returncode >= 0 else 128 - process.returncode
    status, reason = _verdict(in_time, code, folder, limit_s, check, directory)
    return Outcome(
        status=status,
        reason=reason,
        exit_code=code if in_time else None,
        started_unix_s=started_unix_s,
        elapsed_s=elapsed_s,
        user_s=used.ru_utime,
        system_s=used.ru_stime,
    )


def _verdict(
    in_time: bool, code: int, folder: Path, limit_s: float, check: Sequence[str], directory: Path
) -> tuple[Status, str]:
    if not in_time:
        return "timeout", f"did not end within {limit_s:g} s"
    if code:
        said = diagnose(f"{_tail(folder / ERRORS)}\n{_tail(folder / OUTPUT)}").text
        return "failed", f"exit code {code}: {said}" if said else f"exit code {code}"
    return _checked(check, folder / OUTPUT, directory, limit_s) if check else ("ok", "")


def _checked(check: Sequence[str], printed: Path, directory: Path, limit_s: float) -> tuple[Status, str]:
    """Run the command that decides whether the output of a run is correct; the output is its input."""
    with printed.open("rb") as output:
        try:
            said = captured(check, limit_s, cwd=directory, stdin=output)
        except subprocess.TimeoutExpired:
            return "wrong", f"the check did not end within {limit_s:g} s"
        except OSError as error:
            raise UsageError(f"check = {check[0]}: does not start: {error.strerror}") from error
    if said.returncode == 0:
        return "ok", ""
    lines = f"{said.stdout}\n{said.stderr}".split("\n")
    word = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return "wrong", f"the check ended with {said.returncode}" + (f": {word}" if word else "")


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL_BYTES))
        return file.read().decode(errors="replace")


def _ended(pid: int, limit_s: float) -> bool:
    """Wait for a child process without reaping it; return whether it ended in time."""
    handle = os.pidfd_open(pid)
    try:
        return bool(select.select([handle], [], [], limit_s)[0])
    finally:
        os.close(handle)


def _end(pid: int, mark: str) -> None:
    """Ask a command to end its ranks, then kill what is left."""
    try:
        _signal(pid, signal.SIGTERM)
        _ended(pid, GRACE_S)
    finally:  # even if another Ctrl-C arrives meanwhile
        _signal(pid, signal.SIGKILL)
        processes.kill(lambda: processes.with_variable(MARK, mark))


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
