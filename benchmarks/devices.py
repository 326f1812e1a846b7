"""Compare the benchmarks of devices with plain loops on the same device, after each case was verified once.

Every case that `device.*` declares runs once, then two ranks share one device. Two ranks exchange messages between
memories of devices: staged, and where the MPI takes them, directly. Then launches of Scope, of
`plain_device.c` and, if there is one, of PyTorch alternate: STREAM's triad, an empty kernel, copies from and to
pinned memory, products of matrices by cuBLAS; with PyTorch, a copy and products. Printed are the median of the
ratios of launches and its 95 % interval. Exit code 1 where a case is wrong, or where an interval does not touch
0.98 to 1.02. It takes less than 5 minutes.
Arrays of the triad are beyond all caches: between its repetitions Scope reads the results, which replaces what
a cache had.
usage: python benchmarks/devices.py [--mpi NAME] [--launches N] [--seconds N] [--only PART] [--torch PYTHON]
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from launches import HERE, Pair, seconds
from verdict import TITLES, Verdict, verdict

from hpcscope import units
from hpcscope.build import registry
from hpcscope.catalog.benchmark import Benchmark
from hpcscope.machine import devices
from hpcscope.plan import sweep

BAND = (0.98, 1.02)
"""An interval that touches it shows no difference between the programs."""
SAMPLING = "sampling.budget_s=0.1 sampling.maximum_repetitions=60"
MIB = 1 << 20
LOOPS = 60
"""Of the plain program and of PyTorch; the first one is left out."""
SIZES = (8, 64 << 10, 4 * MIB)
"""Of messages, in bytes."""
ORDER = 4096
"""Of the matrices."""
PRODUCT = f"device.matrix_multiply n={ORDER}"
PLAIN = {
    "triad": (f"device.stream kernel=triad array_bytes={256 * MIB}", 256 * MIB, 1),
    "launch": ("device.launch", 8, 200),
    "to_device": (f"device.transfer direction=to_device memory=pinned transfer_bytes={64 * MIB}", 64 * MIB, 1),
    "to_host": (f"device.transfer direction=to_host memory=pinned transfer_bytes={64 * MIB}", 64 * MIB, 1),
    "double": (f"{PRODUCT} precision=double", 8 * ORDER**2, 1),
    "half": (f"{PRODUCT} precision=half", 2 * ORDER**2, 1),
}
"""A case, and the bytes of each array and the calls of a loop of the plain program that does the same."""
TORCH = {
    "copy": (f"device.stream kernel=copy array_bytes={256 * MIB}", 256 * MIB),
    "double": (PLAIN["double"][0], ORDER),
    "half": (PLAIN["half"][0], ORDER),
    "tf32": (f"{PRODUCT} precision=tf32", ORDER),
}
"""A case, and the bytes of each array, or the order, of what PyTorch does. The device's clock times both."""

Figures = dict[tuple[str, str], float]
"""Seconds by the other program, `plain` or `torch`, and what it does."""


def main() -> int:
    """Print the cases and the ratios; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi")
    parser.add_argument("--launches", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=300, help="do not begin launches that would end later")
    parser.add_argument("--only", choices=("cases", "messages", "ratios"), help="one of the parts")
    parser.add_argument("--torch", metavar="PYTHON", default=sys.executable, help="the Python that has PyTorch")
    asked = parser.parse_args()
    began = time.monotonic()
    os.environ.update(devices.variables())
    pair = Pair(asked.mpi)
    right = True
    if asked.only in (None, "cases"):
        right &= all_right(pair)
    if asked.only in (None, "messages"):
        right &= messages_right(pair)
    if asked.only in (None, "ratios"):
        right &= compared(pair, asked.torch, asked.launches, began + asked.seconds)
    print(f"{time.monotonic() - began:.0f} s")
    return int(not right)


def all_right(pair: Pair) -> bool:
    """Run and print every declared case once, and two ranks on one device; return whether all were right."""
    listed = [each for each in registry.load(pair.native) if each.level == "device"]
    right = True
    for ranks in (1, 2):
        fitting = [each for each in listed if each.ranks.allows(ranks)]
        lines = [line for each in fitting for line in (declared(each) if ranks == 1 else [each.name])]
        right &= measured_right(pair, lines, ranks)
    return right


def measured_right(pair: Pair, lines: list[str], ranks: int) -> bool:
    """Run and print cases; return whether all were right."""
    cases = pair.measured([f"{line} {SAMPLING}" for line in lines], ranks)
    return min([shown(case) for case in cases], default=True)


def messages_right(pair: Pair) -> bool:
    """Run and print MPI between memories of devices on two ranks; return whether all was right."""
    lines = [line for benchmark in registry.load(pair.native) for line in between_devices(benchmark)]
    return measured_right(pair, lines, ranks=2)


def between_devices(benchmark: Benchmark) -> Iterator[str]:
    """Yield plan lines of a benchmark of MPI whose messages may be in memory of a device."""
    memories = [name for name in ("memory", "sender_memory", "receiver_memory") if name in benchmark.parameter]
    if benchmark.level == "mpi" and memories:
        for kind, size in itertools.product(("device", "staged"), SIZES):
            yield " ".join([benchmark.name, *(f"{name}={kind}" for name in memories), f"message_bytes={size}"])


def declared(benchmark: Benchmark) -> Iterator[str]:
    """Yield the plan lines of all cases that a benchmark's sweeps name."""
    for each in benchmark.sweeps:
        factors = {
            name: words
            for name, words in sweep.parse(each.cases, benchmark.name).items()
            if name in benchmark.parameter
        }
        for values in itertools.product(*factors.values()):
            words = (f"{name}={_number(word)}" for name, word in zip(factors, values, strict=True))
            yield " ".join([benchmark.name, *words])


def _number(word: str) -> str:
    return str(units.whole(word)) if word[0].isdigit() else word


def shown(case: dict[str, Any]) -> bool:
    """Print a case by both clocks; return whether it was right, or cannot be measured on this device."""
    words = " ".join(f"{name}={value}" for name, value in case["parameters"].items())
    print(f"{case['benchmark']} {words}: {case['status']}", case["reason"], end="")
    if case["status"] == "ok":
        series, settings = case["series"][0], case["settings"]
        print(f"{seconds(case) * 1e6:.3f} us by the host's clock; ", end="")
        for name, by_rank in series.get("observed", {}).items():
            print(f"{name} {statistics.median(by_rank[0]):.4g}; ", end="")
        print(f"{case['verification']['checks']} checks; {settings['device_name']}, {settings['device_driver']},")
        print(f"    ranks on it: {settings['ranks_on_device']}", end="")
    print(flush=True)
    return case["status"] in ("ok", "unavailable")


def compared(pair: Pair, python: str, launches: int, end: float) -> bool:
    """Print a row for each figure; return whether every interval touches the band. `end`: in monotonic time."""
    first = pair.measured([f"{line} {SAMPLING}" for line, *_ in PLAIN.values()], ranks=1)
    known = {case["benchmark"]: case for case in first}
    right = all(case["status"] in ("ok", "unavailable") for case in first)
    cuda = known["device.launch"]["settings"].get("device_driver", "").startswith("CUDA")
    library = "cuda" if cuda else "opencl"
    plain = {name: row for name, row in PLAIN.items() if known[row[0].split()[0]]["status"] == "ok"}
    torch = TORCH if cuda and has_torch(python) else {}
    programs: list[Callable[[], Figures]] = [
        partial(scope_s, pair, plain, torch),
        partial(plain_s, pair, pair.compiled("plain_device.c"), library, plain),
        *([partial(torch_s, python, torch)] if torch else []),
    ]
    launched: list[list[Figures]] = [[] for _ in programs]
    longest = 0.0
    for launch in range(launches):
        start = time.monotonic()
        if start + longest > end:
            break
        for which in sorted(range(len(programs)), reverse=launch % 2 == 0):
            launched[which].append(programs[which]())
        longest = max(longest, time.monotonic() - start)
    print(f"\n{len(launched[0])} alternating launches of each\n{'other':<7}{'figure':<11}{TITLES}")
    ours, *others = launched
    for key in [key for other in others for key in other[0]]:
        theirs = next(other for other in others if key in other[0])
        found: Verdict = verdict([each[key] for each in ours], [each[key] for each in theirs], BAND)
        touches = found.high >= BAND[0] and found.low <= BAND[1]
        figures = found.columns().removesuffix(found.word)
        print(f"{key[0]:<7}{key[1]:<11}{figures}{'touches' if touches else 'misses'} {BAND[0]} to {BAND[1]}")
        right &= touches
    return right


def scope_s(pair: Pair, plain: dict[str, tuple[str, int, int]], torch: dict[str, tuple[str, int]]) -> Figures:
    """Return what Scope measures by the clock with which each other program times."""
    cases = dict.fromkeys(line for line, *_ in [*plain.values(), *torch.values()])
    records = pair.measured(
        [f"{line} sampling.budget_s=0.2 sampling.maximum_repetitions={LOOPS}" for line in cases], 1
    )
    by_line = dict(zip(cases, records, strict=True))
    by_host = {("plain", name): seconds(by_line[line]) for name, (line, *_) in plain.items()}
    return by_host | {("torch", name): worked_s(by_line[line]) for name, (line, _) in torch.items()}


def worked_s(case: dict[str, Any]) -> float:
    """Median time by the device's clock."""
    series = case["series"][0]
    return statistics.median(series["observed"]["device_s"][0][series["warmup"] :])


def plain_s(pair: Pair, program: str, library: str, rows: dict[str, tuple[str, int, int]]) -> Figures:
    """Return the medians over the loops of one launch of the plain program."""
    words = [word for name, (_, size, calls) in rows.items() for word in (name, str(size), str(calls), str(LOOPS))]
    printed = pair.start(program, [library, *words], ranks=1).split()
    return {
        ("plain", name): statistics.median(map(float, printed[place * LOOPS : (place + 1) * LOOPS]))
        for place, name in enumerate(rows)
    }


def has_torch(python: str) -> bool:
    """Return whether this Python has a PyTorch that uses the device."""
    question = "import torch; raise SystemExit(not torch.cuda.is_available())"
    has = subprocess.run([python, "-c", question], capture_output=True).returncode == 0
    if not has:
        print("torch  not compared: no PyTorch for this device (--torch PYTHON names another Python)")
    return has


def torch_s(python: str, rows: dict[str, tuple[str, int]]) -> Figures:
    """Return the medians over the loops of one launch of PyTorch."""
    words = [word for name, (_, size) in rows.items() for word in (name, str(size))]
    ended = subprocess.run(
        [python, HERE / "plain_torch.py", str(LOOPS), *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    lines = [line.split() for line in ended.stdout.splitlines()]
    return {("torch", name): statistics.median(map(float, times)) for name, *times in lines}


if __name__ == "__main__":
    sys.exit(main())
