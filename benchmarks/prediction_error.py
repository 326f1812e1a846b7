"""How wrong are predictions? Predicted over measured total time at every point of this machine.

One process and the levels below give the parameters, every run on several processes is a test. Prints the median
absolute error of each kind and that of all points, and how many measured medians lie in the intervals.
usage: python benchmarks/prediction_error.py [--mpi NAME] [--launches N] [--run DIR, a run that is there]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sysconfig
import tempfile
from pathlib import Path

from hpcscope.models.models import Models
from hpcscope.models.prediction.points import PredictedPoint
from hpcscope.models.prediction.prediction import Prediction
from hpcscope.rundirectory import RunDirectory, read_json

SCOPE = Path(sysconfig.get_path("scripts")) / "scope"
PRODUCTS = "variant=plain,transposed,tuned"
CASES = [
    "mpi.latency ranks=2 mode=standard completion=blocking message_bytes=0,8,64,1Ki,16Ki,64Ki,256Ki,1Mi,4Mi,16Mi",
    "mpi.broadcast ranks=every message_bytes=8,1Ki,64Ki,1Mi",
    "mpi.reduce ranks=every message_bytes=8",
    "operation.broadcast ranks=every buffers=cold n=60,120,240,480,840",
    f"algorithm.matmul_cannon ranks=1 {PRODUCTS} n=60,120,180,240,360,480",
    f"algorithm.matmul_cannon ranks=every {PRODUCTS} n=120,240,360,480",
    f"algorithm.matmul_striped ranks=every {PRODUCTS} n=120,240,360,480",
    "algorithm.sort_psrs ranks=1 variant=plain,tuned input=uniform,sorted n=64Ki",
    "algorithm.sort_psrs ranks=every variant=plain,tuned input=uniform,sorted n=128Ki,256Ki,512Ki,1Mi",
    "algorithm.relaxation ranks=1 method=chaotic,jacobi,red_black variant=plain,tuned n=85,170,340",
    "algorithm.relaxation ranks=every method=chaotic,jacobi,red_black variant=plain,tuned n=120,240,480",
]


def main() -> None:
    """Measure, analyse, and print one row for each kind of algorithm."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--mpi")
    arguments.add_argument("--launches", type=int, default=6)
    arguments.add_argument("--run", type=Path)
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = asked.run or measured(Path(folder) / "run", asked.mpi, asked.launches)
        found = read_json(RunDirectory(run).models, Models).predictions
    print(f"{'kind':<80}{'points':>8}{'median':>9}{'worst':>9}")
    errors: list[float] = []
    for one in found:
        errors += row(one)
    if errors:
        print(f"{'all':<80}{len(errors):>8}{statistics.median(errors):>9.1%}{max(errors):>9.1%}")
        held = [inside(point) for one in found for point in counted(one)]
        print(f"{sum(held)} of {len(held)} measured totals lie in the interval of their prediction")


def measured(run: Path, mpi: str | None, launches: int) -> Path:
    cases = [word for case in CASES for word in ("--case", case)]
    chosen = ["--mpi", mpi] if mpi else []
    words = ["run", *cases, *chosen, "--launches", str(launches), "--budget", "0.3", "--output", str(run)]
    subprocess.run([str(SCOPE), *words], check=True, stdout=subprocess.DEVNULL)
    return run


def counted(one: Prediction) -> list[PredictedPoint]:
    return [point for point in one.points if point.error is not None and not point.oversubscribed]


def inside(point: PredictedPoint) -> bool:
    measured, low, high = point.measured_total_s, point.total_s.low, point.total_s.high
    return measured is not None and low is not None and high is not None and low <= measured.value <= high


def row(one: Prediction) -> list[float]:
    errors = [abs(point.error or 0.0) for point in counted(one)]
    name = " ".join([one.subject.benchmark, *(f"{key}={value}" for key, value in one.subject.parameters.items())])
    if errors:
        print(f"{name:<80}{len(errors):>8}{statistics.median(errors):>9.1%}{max(errors):>9.1%}")
    else:
        print(f"{name:<80}{0:>8}  {one.reason or 'nothing on several processes'}")
    return errors


if __name__ == "__main__":
    main()
