"""Whether a break is found where the library was told to switch, and named after the setting that was told.

Open MPI's eager limit is moved to several values, over TCP and in shared memory; each time the ping-pong is
measured at sizes that stand close to the limit. A row is right if a break lies around the limit and the limit is
its first name.
usage: python benchmarks/named_breakpoints.py [--launches N] [--budget S]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from hpcscope.models.fitting.fit import Breakpoint
from hpcscope.models.models import Models
from hpcscope.rundirectory import RunDirectory, read_json

SCOPE = str(Path(sysconfig.get_path("scripts")) / "scope")
ROWS = [("tcp", "btl_tcp_eager_limit", n) for n in (8192, 32768)]
ROWS += [("default", "btl_sm_eager_limit", n) for n in (2048, 16384)]
"""Transport, setting and value."""
HEADER = 256
FACTORS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 5 / 4, 3 / 2, 2, 3, 4)
"""Sizes over the limit; none so close that the header decides."""


def main() -> None:
    """Print a row for each value."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--launches", type=int, default=6)
    arguments.add_argument("--budget", type=float, default=0.3)
    asked = arguments.parse_args()
    print(f"{'setting':<22}{'value':>8}{'before':>9}{'after':>8}{'step us':>9}  named")
    wrong = sum(not row(*one, asked.launches, asked.budget) for one in ROWS)
    sys.exit(1 if wrong else 0)


def row(transport: str, setting: str, value: int, launches: int, budget_s: float) -> bool:
    """Measure with the setting at this value; say whether the break is where it was put and has its name."""
    sizes = ",".join(str(int(value * factor)) for factor in FACTORS)
    case = f"mpi.latency ranks=2 transport={transport} mode=standard completion=blocking message_bytes={sizes}"
    with tempfile.TemporaryDirectory(prefix="scope-breaks-") as directory:
        run = Path(directory) / "run"
        options = ["--case", case, "--launches", str(launches), "--budget", str(budget_s), "--output", str(run)]
        told = ["--launcher-argument=--mca", f"--launcher-argument={setting}", f"--launcher-argument={value}"]
        command = [
            sys.executable,
            "-c",
            "from hpcscope.cli import main; main()",
            "run",
            "--mpi",
            "embedded",
            *options,
            *told,
        ]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=900)
        if ended.returncode:
            sys.exit(f"{' '.join(command)}\n{ended.stderr}")
        models = read_json(RunDirectory(run).models, Models)
    points = [p for fit in models.fits if fit.chosen and fit.metric == "latency_s" for p in fit.breakpoints]
    here = next((p for p in points if p.last_before <= value < p.first_after + HEADER), None)
    print(f"{setting:<22}{value:>8}" + (_written(here) if here else f"  none here; breaks: {points}"), flush=True)
    return here is not None and bool(here.settings) and here.settings[0].name == setting


def _written(point: Breakpoint) -> str:
    names = ", ".join(one.name for one in point.settings)
    where = f"{point.last_before:>9.0f}{point.first_after:>8.0f}"
    return f"{where}{point.jump_s.value * 1e6:>9.2f}  {names}"


if __name__ == "__main__":
    main()
