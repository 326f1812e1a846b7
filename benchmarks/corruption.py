"""One flipped bit in a random message: does the benchmark notice? (limit: whenever a result changes).

usage: python -m benchmarks.corruption [--hits N] [--seed S] [--seconds T] [CASE]...

Each launch runs one case on 2 ranks with three repetitions on the same data. A preloaded library flips one bit of
a receive of at least 64 bytes. By the stack of the receive it is payload (of the benchmark's own `run`) or of the
framework: clocks, times, decisions, and what checks results. A first launch lists the receives, so that each kind
gets its number of hits. Noticed: the case or the launch fails. Digests of all
that was received and computed are complete here. Where payload is hit and the case passes, everything is bitwise
equal in all repetitions, and the bit was one that nobody reads. Such hits are told with the way to try them again.
"""

from __future__ import annotations

import argparse
import bisect
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from hpcscope.build import installations, native
from hpcscope.machine.machine import NativeBuild
from tests.measure.conftest import start

CASES = (
    *("algorithm.linpack n=500", "algorithm.summa n=96 block=8 panel=16", "algorithm.relaxation n=93"),
    *("algorithm.sort_psrs n=5000", "application.npb_cg", "application.npb_is", "mpi.alltoall message_bytes=4096"),
)
RANKS, LEAST_BYTES = 2, 64
SAMPLING = (
    "sampling.complete=1 sampling.budget_s=600 sampling.minimum_span_s=0 sampling.precision=0"
    " sampling.maximum_repetitions=3 sampling.minimum_repetitions=3"
)
HIT = re.compile(r"corrupted byte (\d+) of (\d+) on rank (\d)((?: [0-9a-f]+)*)")
RECEIVE = re.compile(r"receive (\d+) on rank (\d)((?: [0-9a-f]+)*)")
KINDS = ("payload", "framework")
OWN = re.compile(r"::(residual|verify\w*|observe)\(")
"""What checks results, and what collects the times of phases."""
LIMIT_S = 40.0


class Study:
    """Launches of one case with a flipped bit each."""

    def __init__(self, build: NativeBuild, library: Path, folder: Path, case: str) -> None:
        self._build, self._library, self._folder, self._case = build, library, folder, case
        listed = subprocess.run(["nm", "-C", build.program], capture_output=True, text=True, check=True).stdout
        found = re.findall(r"^([0-9a-f]+) [tTwW] (.+)$", listed, re.MULTILINE)
        symbols = sorted((int(address, 16), name) for address, name in found)
        self._addresses, self._names = [one[0] for one in symbols], [one[1] for one in symbols]
        self._receives = self._listed()

    def launched(self, rule: str) -> tuple[int | None, str]:
        """Return exit code and errors of a launch under a rule; None where it did not end."""
        plan, output = self._folder / "plan.txt", self._folder / "samples.jsonl"
        plan.write_text(f"{self._case} {SAMPLING}\n")
        output.unlink(missing_ok=True)
        options = ["--action=run", f"--plan={plan}", f"--output={output}"]
        preload = {"LD_PRELOAD": str(self._library), "CORRUPT": rule}
        try:
            return start(self._build.program, self._build.mpi, RANKS, options, LIMIT_S, **preload)
        except subprocess.TimeoutExpired:
            return None, ""

    def _listed(self) -> dict[str, list[tuple[int, int]]]:
        """Return rank and number of each receive of payload and of the framework."""
        code, errors = self.launched(";".join(f"-{LEAST_BYTES}:0:{rank}:none" for rank in range(RANKS)))
        receives: dict[str, list[tuple[int, int]]] = {kind: [] for kind in KINDS}
        for number, rank, callers in RECEIVE.findall(errors):
            receives[self._kind(callers)].append((int(rank), int(number)))
        if code != 0 or not receives["payload"]:
            raise SystemExit(f"{self._case}: does not run without a flipped bit: {errors[-500:]}")
        return receives

    def hit(self, wanted: str, chance: random.Random) -> tuple[str, str, str] | None:
        """Flip a bit in a message of the wanted kind; return its kind, the case's end and the hit in words.

        The number of the receive may be one of the other kind in another launch, or none.
        """
        rank, number = chance.choice(self._receives[wanted] or self._receives["payload"])
        rule = f"-{LEAST_BYTES}:{number}:{rank}:{chance.randrange(10**6)}"
        code, errors = self.launched(rule)
        found = HIT.search(errors)
        if found is None:
            return (wanted, "hung", rule) if code is None else None  # what it printed is lost with it
        became = "hung" if code is None else "noticed" if code else "unnoticed"
        names = self._names_of(found[4])
        return self._kind(found[4]), became, f"{rule}: byte {found[1]} of {found[2]}, called by {names[:2]}"

    def _kind(self, callers: str) -> str:
        names = self._names_of(callers)
        of_run = any("::run(scope::Repetition&)" in name for name in names)
        return KINDS[0] if of_run and not any(OWN.search(name) for name in names) else KINDS[1]

    def _names_of(self, callers: str) -> list[str]:
        return [self._name(int(address, 16)) for address in callers.split()]

    def _name(self, address: int) -> str:
        return self._names[bisect.bisect_right(self._addresses, address) - 1]


def main() -> None:
    """Flip bits in the messages of each case, and print a row for each."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("cases", nargs="*", metavar="CASE", default=CASES)
    arguments.add_argument("--hits", type=int, default=100, help="of payload and of the framework, in each case")
    arguments.add_argument("--seconds", type=float, default=3600.0, help="at most, for each case")
    arguments.add_argument("--seed", type=int, default=1)
    asked = arguments.parse_args()
    build = native.build(installations.find("embedded"))
    source = Path(__file__).parents[1] / "tests" / "measure" / "corrupting.c"
    print(
        "| case | payload hits | noticed | nothing changed | hung | framework hits | noticed | unnoticed | hung |"
    )
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory(prefix="scope-corruption-") as name:
        library = Path(name) / "corrupting.so"
        compiler = build.mpi.compiler.replace("mpicxx", "mpicc")
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", source, "-o", library, "-ldl"], check=True)
        for case in asked.cases:
            studied(Study(build, library, Path(name), case), case, asked)


def studied(study: Study, case: str, asked: argparse.Namespace) -> None:
    """Flip bits in the messages of a case, and print its row."""
    chance = random.Random(f"{asked.seed} {case}")
    end_s = time.monotonic() + asked.seconds
    count: Counter[tuple[str, str]] = Counter()
    while time.monotonic() < end_s:
        hits = {kind: sum(number for (of, _), number in count.items() if of == kind) for kind in KINDS}
        if min(hits.values()) >= asked.hits:
            break
        if (found := study.hit(min(KINDS, key=hits.__getitem__), chance)) is not None:
            count[found[0], found[1]] += 1
            if found[1] != "noticed":
                print(f"{found[1]}, {found[0]}: {case}: {found[2]}", file=sys.stderr, flush=True)
    cells = []
    for kind in KINDS:
        results = [count[kind, end] for end in ("noticed", "unnoticed", "hung")]
        cells += [sum(results), *results]
    print(f"| `{case}` | {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
