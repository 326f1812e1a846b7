"""How wrong are predictions? Predicted over measured total time at every point of this machine.

One process and the levels below give the parameters, every run on several processes is a test. Prints the errors
of each kind and the median of all points, the bias (mean logarithm of predicted over measured) of computation,
communication and total, and how many measured medians lie in the intervals.
usage: python benchmarks/prediction_error.py [--mpi NAME] [--launches N] [--run DIR, a run that is there]
"""

from __future__ import annotations

import argparse
import math
import statistics
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterable
from pathlib import Path

from hpcscope.models.models import Models
from hpcscope.models.prediction.points import PredictedPoint
from hpcscope.models.prediction.prediction import Prediction
from hpcscope.report.run.prediction_table import summary
from hpcscope.rundirectory import RunDirectory, read_json

SCOPE = Path(sysconfig.get_path("scripts")) / "scope"
PRODUCTS = "variant=plain,transposed,tuned"
CASES = [
    "mpi.latency ranks=2 mode=standard completion=blocking message_bytes=0,8,64,1Ki,16Ki,64Ki,256Ki,1Mi,4Mi,16Mi",
    "mpi.broadcast ranks=every message_bytes=8,1Ki,64Ki,1Mi",
    "mpi.reduce ranks=every message_bytes=8",
    "node.stream ranks=every kernel=triad array_bytes=64Ki,256Ki,1Mi,4Mi,16Mi,64Mi",
    "node.peak ranks=every precision=double",
    "operation.broadcast ranks=every buffers=cold n=60,120,240,480,840",
    f"algorithm.matmul_cannon ranks=1 {PRODUCTS} n=60,120,180,240,360,480",
    f"algorithm.matmul_cannon ranks=every {PRODUCTS} n=120,240,360,480",
    f"algorithm.matmul_striped ranks=every {PRODUCTS} n=120,240,360,480",
    "algorithm.sort_psrs ranks=1 variant=plain,tuned input=uniform,sorted n=64Ki",
    "algorithm.sort_psrs ranks=every variant=plain,tuned input=uniform,sorted n=128Ki,256Ki,512Ki,1Mi",
    "algorithm.relaxation ranks=1 method=chaotic,jacobi,red_black variant=plain,tuned n=85,170,340",
    "algorithm.relaxation ranks=every method=chaotic,jacobi,red_black variant=plain,tuned n=120,240,480",
    "algorithm.relaxation ranks=1 method=jacobi variant=tuned n=700,1000,1400,2000",
    "algorithm.relaxation ranks=every method=jacobi variant=tuned n=1000,1400,2000",
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
    print(f"{'kind':<80}{'points':>8}  errors")
    for one in found:
        row(one)
    points = [point for one in found for point in one.points if point.is_counted]
    errors = [abs(error) for one in found for error in one.errors]
    if errors:
        print(f"{'all':<80}{len(errors):>8}{statistics.median(errors):>9.1%}{max(errors):>9.1%}")
    for name, shown in (("hidden", True), ("other", False)):
        of_class = [point for point in points if bool(point.hidden_s) == shown]
        biases = [
            bias((point.compute_s.value, point.measured_compute_s) for point in of_class),
            bias((point.communicate_s.value, point.measured_communicate_s) for point in of_class),
            bias((point.total_s.value, measured_s(point)) for point in of_class),
        ]
        print(f"{name}: mean log error of compute, communicate, total: {', '.join(biases)}")
        held = [inside(point) for point in of_class if point.interval_errors]
        print(f"  {sum(held)} of {len(held)} measured totals lie in the interval of their prediction")


def measured_s(point: PredictedPoint) -> float | None:
    return point.measured_total_s.value if point.measured_total_s else None


def bias(pairs: Iterable[tuple[float, float | None]]) -> str:
    logs = [math.log(one / other) for one, other in pairs if one > 0 and other]
    return f"{statistics.mean(logs):+.2f}" if logs else "none"


def measured(run: Path, mpi: str | None, launches: int) -> Path:
    cases = [word for case in CASES for word in ("--case", case)]
    chosen = ["--mpi", mpi] if mpi else []
    words = ["run", *cases, *chosen, "--launches", str(launches), "--output", str(run)]
    subprocess.run([str(SCOPE), *words], check=True, stdout=subprocess.DEVNULL)
    return run


def inside(point: PredictedPoint) -> bool:
    measured, low, high = point.measured_total_s, point.total_s.low, point.total_s.high
    return measured is not None and low is not None and high is not None and low <= measured.value <= high


def row(one: Prediction) -> None:
    name = " ".join([one.subject.benchmark, *(f"{key}={value}" for key, value in one.subject.parameters.items())])
    print(f"{name:<80}{len(one.errors):>8}  {summary(one)}")


if __name__ == "__main__":
    main()
