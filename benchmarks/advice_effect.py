"""What each setting that findings advise does on the libraries here: before and after in turn, as a trial does.

`python -m benchmarks.advice_effect --mpi embedded --mpi mpich --time 60` prints a table. A setting has an effect
where the change is not "no difference"; which direction is better depends on the machine.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hpcscope.comparison.table import change
from hpcscope.engine.compare.compare import Kept, Pace, measure_sides
from hpcscope.engine.compare.sides import in_common, settled_side
from hpcscope.findings.settings import MCA, Change, advised, algorithms, spelt

TOPICS: dict[str, str] = {
    "memory copies": "mpi.latency message_bytes=1Mi",
    "network stack": "mpi.latency message_bytes=8",
    "waiting": "mpi.barrier ranks=4",
    "collective buffering": "storage.write interface=mpiio access=collective file_bytes=4Mi transfer_bytes=64Ki",
}
COLLECTIVES = {
    "MPI_Bcast": "mpi.broadcast message_bytes=64Ki ranks=2",
    "MPI_Allreduce": "mpi.allreduce message_bytes=64Ki ranks=2",
    "MPI_Allgather": "mpi.allgather message_bytes=64Ki ranks=2",
    "MPI_Alltoall": "mpi.alltoall message_bytes=64Ki ranks=2",
    "MPI_Scan": "mpi.scan message_bytes=64Ki ranks=2",
    "MPI_Reduce": "mpi.reduce message_bytes=64Ki ranks=2",
}
LIMITS = {"openmpi": {f"{MCA}btl_sm_eager_limit": "16384"}, "mpich": {"UCX_RNDV_THRESH": "1024"}}
"""Around a message of 8 KiB, where the library does not switch by default."""


HEAD = ("library", "setting", "case", "before", "after", "change [interval]", "verdict")


def trials(mpi: str, version: str) -> list[tuple[Change, str]]:
    """Return the changes that advice may ask to try of a library, each with a case to which it may matter."""
    build = SimpleNamespace(mpi=SimpleNamespace(version=version))
    run: Any = SimpleNamespace(mpi=mpi, machine=SimpleNamespace(build=build, environment={}))
    found: list[tuple[Change, str]] = []
    for topic, case in TOPICS.items():
        asked: Any = SimpleNamespace(request=case)
        found += [(one.environment, case) for one in advised(run, topic, asked).trials]
    limit = {
        name.replace("_sm_", "_vader_" if version.startswith("4.") else "_sm_"): n
        for name, n in LIMITS[mpi].items()
    }
    found.append((limit, "mpi.latency message_bytes=8Ki"))
    return found + [(each, case) for routine, case in COLLECTIVES.items() for each in algorithms(mpi, routine)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mpi", action="append", required=True)
    parser.add_argument("--time", type=float, default=60.0, help="seconds for each setting; 0: one round")
    parser.add_argument("--algorithms", action="store_true", help="only the algorithms of collectives")
    asked = parser.parse_args()
    print(f"| {' | '.join(HEAD)} |\n{'|---' * len(HEAD)}|")
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        number = 0
        for name in asked.mpi:
            sides: dict[str, Any] = {}
            mpi = settled_side(name, {"case": ["mpi.latency message_bytes=8"]}).settled.build.mpi
            for setting, case in trials(mpi.name, mpi.version):
                if asked.algorithms != ("_algorithm" in str(setting).lower()):
                    continue
                number += 1
                given = {"case": [case], "sampling.budget_s": 0.1, "launcher.oversubscribe": True}
                side = sides.setdefault(case, settled_side(name, given))
                changed = replace(side, name=spelt(setting), environment=setting)
                kept = Kept(Path(folder) / str(number))
                found = measure_sides((side, changed), in_common(side, changed), kept, Pace(asked.time)).comparison
                for one in found.cases:
                    values = f"{one.shown(one.a_median)} | {one.shown(one.b_median)}"
                    ratio = ", ".join(f"{each:.2f}" for each in one.rounds.values())
                    shown = change(one) if one.ratio is not None else f"one round: {ratio or one.reason}"
                    label = f"{one.label}: {one.metric_label}"
                    cells = (f"{mpi.name} {mpi.version}", spelt(setting), label, values, shown, one.verdict)
                    print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
