"""Compare the benchmarks of devices with plain loops on the same device, after each case was verified once.

Every case that `device.*` declares runs once, then two ranks share one device. Then launches of Scope and of
`plain_device.c` alternate: STREAM's triad, an empty kernel, copies from and to pinned memory. Printed are the
median of the ratios of pairs and its 95 % interval. Exit code 1 where a case is wrong, or where an interval does
not touch 0.98 to 1.02. With 7 launches it takes less than 5 minutes.
Arrays of the triad are beyond all caches: between its repetitions Scope reads the results, which replaces what
a cache had. usage: python benchmarks/devices.py [--mpi NAME] [--launches N] [--only NAME...]
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from launches import Pair, seconds
from verdict import TITLES, Verdict, alternated

from hpcscope import units
from hpcscope.build import registry
from hpcscope.catalog.benchmark import Benchmark
from hpcscope.machine import devices
from hpcscope.plan import sweep

BAND = (0.98, 1.02)
"""An interval that touches it shows no difference between the programs."""
SAMPLING = "sampling.budget_s=0.1 sampling.maximum_repetitions=60"
MIB = 1 << 20
COMPARED = {
    "triad": (f"device.stream kernel=triad array_bytes={256 * MIB}", 256 * MIB, 1, 60),
    "launch": ("device.launch", 8, 200, 60),
    "to_device": (f"device.transfer direction=to_device memory=pinned transfer_bytes={64 * MIB}", 64 * MIB, 1, 60),
    "to_host": (f"device.transfer direction=to_host memory=pinned transfer_bytes={64 * MIB}", 64 * MIB, 1, 60),
}
"""A case, and the bytes of each array, calls and loops of the plain program that does the same."""


def main() -> int:
    """Print the cases and the ratios; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi")
    parser.add_argument("--launches", type=int, default=7)
    parser.add_argument("--only", nargs="+", choices=COMPARED, default=[*COMPARED])
    asked = parser.parse_args()
    began = time.monotonic()
    os.environ.update(devices.variables())
    pair = Pair(asked.mpi)
    listed = [each for each in registry.load(pair.native) if each.level == "device"]
    right = True
    for ranks in (1, 2):
        fitting = [each for each in listed if each.ranks.allows(ranks)]
        lines = [line for each in fitting for line in (declared(each) if ranks == 1 else [each.name])]
        for case in pair.measured([f"{line} {SAMPLING}" for line in lines], ranks):
            right &= shown(case)
    print(f"\n{asked.launches} alternating launches of each")
    print(f"{'figure':<12}{'size':>10}{TITLES}")
    plain = pair.compiled("plain_device.c")
    for name in asked.only:
        right &= compared(pair, plain, name, asked.launches)
    print(f"{time.monotonic() - began:.0f} s")
    return int(not right)


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
        for name, by_rank in series["observed"].items():
            print(f"{name} {statistics.median(by_rank[0]):.4g}; ", end="")
        print(f"{case['verification']['checks']} checks; {settings['device_name']}, {settings['device_driver']},")
        print(f"    ranks on it: {settings['ranks_on_device']}", end="")
    print(flush=True)
    return case["status"] in ("ok", "unavailable")


def compared(pair: Pair, plain: str, name: str, launches: int) -> bool:
    """Print one row of the comparison; return whether the interval touches the band."""
    line, size, calls, loops = COMPARED[name]
    (case,) = pair.measured([f"{line} {SAMPLING}"], ranks=1)
    if case["status"] != "ok":
        print(f"{name:<12}{size:>10} {case['status']}: {case['reason']}")
        return case["status"] == "unavailable"
    library = "cuda" if case["settings"]["device_driver"].startswith("CUDA") else "opencl"
    ours = partial(_scope_s, pair, f"{line} sampling.budget_s=1 sampling.maximum_repetitions=60")
    theirs = partial(_plain_s, pair, plain, [library, name, str(size), str(calls), str(loops)])
    found: Verdict = alternated(ours, theirs, launches)
    touches = found.high >= BAND[0] and found.low <= BAND[1]
    figures = found.columns().removesuffix(found.word)
    print(f"{name:<12}{size:>10}{figures}{'touches' if touches else 'misses'} {BAND[0]} to {BAND[1]}", flush=True)
    return touches


def _scope_s(pair: Pair, line: str) -> float:
    return seconds(pair.measured([line], ranks=1)[0])


def _plain_s(pair: Pair, plain: str, words: list[str]) -> float:
    return statistics.median(float(line) for line in pair.start(plain, words, ranks=1).split())


if __name__ == "__main__":
    sys.exit(main())
