"""Are the NAS kernels as fast as the public reference? Each against the reference's program, in turn.

The reference (NPB 3.4 MPI, built elsewhere with the same compilers, flags and MPI) is a folder of its programs,
`ep.A.x` and so on. Both time the same part of the same problem; each pair of launches gives a ratio; printed
are the medians with the interval of the ratios' median by order statistics, and the geometric mean of all. Wanted:
each at most 1.
usage: python benchmarks/npb_speed.py --reference FOLDER [--mpi NAME] [--class A] [--ranks 1,2,4] [--pairs N]
       [--kernels ep,is] [--variant tuned]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile
from math import exp, isqrt, log
from pathlib import Path

import numpy as np

from hpcscope.build import installations, native
from hpcscope.launch.launcher import MpiProgram, Site
from hpcscope.launch.site import start_command
from hpcscope.machine import processors
from hpcscope.machine.machine import MpiInstallation
from hpcscope.statistics.order_statistics import median_interval

KERNELS = ("ep", "is", "cg", "mg", "ft", "lu", "sp", "bt")
SQUARES = ("sp", "bt")
"""The reference runs these on square numbers of processes only."""
PRINTED = re.compile(r"Time in seconds\s*=\s*([0-9.]+)")
VARIED = ("mg", "ft", "lu", "sp", "bt")
"""Those of which there is a tuned variant."""
LONGEST_S = 900
SHORTEST_S = 0.1
"""The reference prints hundredths."""


def main() -> None:
    """Print one row for each kernel and number of processes."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--reference", type=Path, required=True)
    arguments.add_argument("--mpi", help="The MPI that the reference was built with.")
    arguments.add_argument("--class", dest="problem", default="A")
    arguments.add_argument("--ranks", default="1,2,4")
    arguments.add_argument("--pairs", type=int, default=7)
    arguments.add_argument(
        "--variant", choices=("plain", "tuned"), default="plain", help="Ours, where there are two."
    )
    arguments.add_argument("--kernels", default=",".join(KERNELS))
    asked = arguments.parse_args()
    mpi = installations.find(asked.mpi)
    program = native.build(mpi).program
    chosen = f"class {asked.problem}, {asked.variant}"
    print(f"{mpi.name} {mpi.version}, {chosen}, {asked.pairs} interleaved pairs of launches")
    print(f"{'kernel':<7}{'ranks':>6}{'own s':>9}{'reference s':>13}{'ratio':>8}   interval")
    medians = []
    for kernel in asked.kernels.split(","):
        reference = asked.reference / f"{kernel}.{asked.problem}.x"
        for ranks in map(int, asked.ranks.split(",")):
            if kernel in SQUARES and isqrt(ranks) ** 2 != ranks:
                continue
            own, theirs = [], []
            for pair in range(asked.pairs):
                for first in (pair % 2 == 0, pair % 2 == 1):
                    if first:
                        own.append(own_s(mpi, program, kernel, asked.problem, asked.variant, ranks))
                    else:
                        theirs.append(reference_s(mpi, reference, ranks))
            ratios = [mine / other for mine, other in zip(own, theirs, strict=True)]
            medians.append(statistics.median(ratios))
            interval = median_interval(np.array(ratios))
            words = f"[{interval.low:.3f}, {interval.high:.3f}]" if interval else ""
            print(
                f"{kernel:<7}{ranks:>6}{statistics.median(own):>9.3f}{statistics.median(theirs):>13.3f}"
                f"{medians[-1]:>8.3f}   {words}",
                flush=True,
            )
    print(f"geometric mean of the ratios: {exp(statistics.mean(map(log, medians))):.3f}")


def own_s(mpi: MpiInstallation, program: str, kernel: str, problem: str, variant: str, ranks: int) -> float:
    """Return the time of the first repetition, of the slowest process, whose result was verified."""
    with tempfile.TemporaryDirectory() as folder:
        plan, output = Path(folder) / "plan.txt", Path(folder) / "samples.jsonl"
        chosen = f" variant={variant}" if kernel in VARIED else ""
        once = "sampling.minimum_repetitions=1 sampling.maximum_repetitions=1"
        line = f"application.npb_{kernel} class={problem}{chosen} {once}"
        plan.write_text(line + "\n")
        start(mpi, program, ["--action=run", f"--plan={plan}", f"--output={output}"], ranks)
        records = [json.loads(text) for text in output.read_text().splitlines()]
    (case,) = [record for record in records if record["record"] == "case"]
    if case["status"] != "ok":
        raise SystemExit(f"application.npb_{kernel} on {ranks}: {case['status']}: {case['reason']}")
    return max(float(times[0]) for times in case["series"][0]["elapsed_s"])


def reference_s(mpi: MpiInstallation, program: Path, ranks: int) -> float:
    """Return the time that the reference prints, whose verification succeeded."""
    printed = start(mpi, str(program), [], ranks)
    found = PRINTED.search(printed)
    if found is None or "UNSUCCESSFUL" in printed or "SUCCESSFUL" not in printed:
        raise SystemExit(f"{program} on {ranks} processes did not verify:\n{printed}")
    if float(found[1]) < SHORTEST_S:
        raise SystemExit(f"{program}: {found[1]} s is too short for what it prints; choose a larger class")
    return float(found[1])


def start(mpi: MpiInstallation, program: str, arguments: list[str], ranks: int) -> str:
    """Run pinned ranks, not pinned where they are more than cores, and return what they print."""
    oversubscribed = ranks > processors.usable()
    binding = "none" if oversubscribed else "core"
    job = MpiProgram(program, tuple(arguments), ranks, binding=binding, oversubscribed=oversubscribed)
    command = start_command(job, Site(mpi, mpi.launcher))
    environment = {**os.environ, **command.environment}
    ended = subprocess.run(
        command.arguments, env=environment, capture_output=True, text=True, timeout=LONGEST_S, check=True
    )
    return ended.stdout


if __name__ == "__main__":
    main()
