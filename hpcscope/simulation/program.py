"""A program of the user's own in a simulation: how long it takes on so many simulated ranks."""

import os
import re
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from hpcscope.errors import ScopeError, UsageError
from hpcscope.launch.launcher import MpiProgram
from hpcscope.simulation.start import Simulator

TIMED = ("--cfg=smpi/display-timing:yes", "--log=smpi_utils.thres:info")
TIME = re.compile(r"Simulated time: ([-+.\deE]+) seconds")


def refuse_unfit(words: Sequence[str]) -> None:
    """Raise UsageError where these words name no program that SMPI could load."""
    if not words:
        raise UsageError("--program '': must name a program, compiled with smpicc, smpicxx or smpif90")
    program = Path(words[0])
    if not program.is_file() or not os.access(program, os.X_OK):
        raise UsageError(f"--program {words[0]}: no such program; must be the path of one")
    if b"libsimgrid" not in program.read_bytes():
        raise UsageError(f"--program {words[0]}: must be compiled with smpicc, smpicxx or smpif90 of SimGrid")


def simulated_time_s(
    words: Sequence[str], ranks: int, simulator: Simulator, hostfile: Path, limit_s: float
) -> float:
    """Run a program on simulated ranks and return the simulated time from its start to its end in s.

    Its output goes where that of Scope goes. Raises ScopeError where a rank fails, where ranks wait for each other
    for ever, and after `limit_s` of real time.
    """
    what = f"{' '.join(words)} on {ranks} simulated ranks"
    log = simulator.scratch / "log"
    log.unlink(missing_ok=True)
    program = MpiProgram(str(Path(words[0]).resolve()), tuple(words[1:]), ranks)
    command = simulator.command(program, hostfile, True, [*TIMED, f"--log=root.app:file:{log}"])
    with subprocess.Popen(command.arguments, stdin=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise ScopeError(f"{what}: did not end within {limit_s:g} s; give it more time with --limit") from None
        finally:
            if process.poll() is None:  # smpirun is a script: the simulation is its child
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
    said = log.read_text(errors="replace") if log.exists() else ""
    if code != 0:
        raise ScopeError(f"{what}: ended with exit code {code}")
    if "Deadlock" in said:  # of which smpirun's exit code says nothing
        raise ScopeError(f"{what}: its ranks wait for each other forever")
    match = TIME.search(said)
    if match is None:
        raise ScopeError(f"{what}: SMPI told no time")
    return float(match[1])
