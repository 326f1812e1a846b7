"""The time of `scope run`, `show`, `compare` and `monitor` beside the plain launch of two ranks that they start.

All take turns, with warm file caches. Wall time is what people wait; on a machine that others use, CPU time of all
processes of a command says what it would be.
usage: python benchmarks/command_wait.py [--rounds N]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sysconfig
import tempfile
import time
from pathlib import Path
from statistics import median

from hpcscope.build import installations, native

SCOPE = str(Path(sysconfig.get_path("scripts")) / "scope")
CASE = "mpi.latency message_bytes=8"
ENVIRONMENT = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def main() -> None:
    """Print the median and the least of wall and CPU time of each command, in s."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=20)
    rounds = arguments.parse_args().rounds
    mpi = installations.find(None)
    alone = [mpi.launcher, "-n", "2", native.build(mpi).program, "--action=alone", f"--case={CASE}"]
    with tempfile.TemporaryDirectory() as temporary:
        kept = [str(Path(temporary) / name) for name in "ab"]

        def run(folder: str) -> list[str]:
            return [SCOPE, "run", "--case", CASE, "--launches", "1", "--budget", "0.05", "--output", folder]

        for folder in kept:
            took(run(folder))
        times: dict[str, list[tuple[float, float]]] = {}
        for number in range(rounds + 1):
            commands = {
                "mpiexec": alone,
                "run": run(f"{temporary}/run-{number}"),
                "monitor": [SCOPE, "monitor", "--output", f"{temporary}/monitored-{number}", "--", *alone],
                "show": [SCOPE, "show", kept[0]],
                "compare": [SCOPE, "compare", *kept],
            }
            for name, command in commands.items():
                times.setdefault(name, []).append(took(command))
    print(f"{'command':<10}{'wall':>8}{'least':>8}{'CPU':>8}{'least':>8}")
    for name, (_, *measured) in times.items():  # the first round warms the caches
        walls, processors = zip(*measured, strict=True)
        print(
            f"{name:<10}{median(walls):>8.2f}{min(walls):>8.2f}{median(processors):>8.2f}{min(processors):>8.2f}"
        )


def took(command: list[str]) -> tuple[float, float]:
    """Return wall and CPU time of a command that must succeed."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=ENVIRONMENT)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
