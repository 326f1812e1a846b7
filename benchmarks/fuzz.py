"""Hostile inputs: does any bring a trace, a hang, a lost sample, a silent change or a leftover? (limit: none).

usage: python benchmarks/fuzz.py [--inputs N] [--after M] [--seed S] [--workers W]
       python benchmarks/fuzz.py --seed S --only KIND:NUMBER       one of them again

The exit code is 1 where anything is wrong. `--after M` leaves out the first M inputs of the seed, so that many can
be tried in several parts.

Command lines, files that people write and damaged runs are tried one after another in forked children, failing
surroundings each in a child of its own; one of 500 is a process of its own, one of 5,000 a real run that is killed
and resumed. With TMPDIR in a memory file system about 140 inputs a second are tried on two processors.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.fuzz import kills, kinds
from tests.fuzz.inputs import Verdict

SHARES = {
    "command": 0.45,
    "table": 0.33,
    "output": 0.02,
    "damage": 0.08,
    "folder": 0.05,
    "fault": 0.0678,
    "process": 0.002,
    "kill": 0.0002,
}
COMPLAINTS = ("trace", "hang", "silence", "accepted", "silent change", "lost samples", "leftover")
Tried = tuple[str, int, Verdict | None]
TOGETHER = 200
"""Inputs that a worker takes at a time."""


def main() -> None:
    """Try all inputs and print what is wrong."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--inputs", type=int, default=10_000)
    arguments.add_argument("--after", type=int, default=0)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    arguments.add_argument("--only", metavar="KIND:NUMBER")
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="scope-fuzz-", ignore_cleanup_errors=True) as folder:
        tempfile.tempdir = folder  # what an interrupted input leaves goes with it
        raise SystemExit(carried_out(asked))


def carried_out(asked: argparse.Namespace) -> int:
    """Try what is asked for, print what is wrong, and return the exit code."""
    kinds.prepare()
    kills.prepare()
    if asked.only:
        kind, _, number = asked.only.partition(":")
        return 1 if told(tried(asked.seed, kind, int(number)), asked.seed) else 0
    count: Counter[tuple[str, str]] = Counter()
    begin = time.perf_counter()
    chosen = together(asked.seed, asked.after, asked.inputs)
    # Inputs are tried by processes that fork once for each: what one of them does to itself ends with it.
    with multiprocessing.get_context("fork").Pool(asked.workers) as pool:
        for some in pool.imap_unordered(partial(tried_in_turn, asked.seed), chosen):
            for one in some:
                count[one[0], "inputs"] += 1
                if one[2] is not None:
                    count[one[0], one[2].complaint] += 1
                    told(one, asked.seed)
    done = sum(number for (_, name), number in count.items() if name == "inputs")
    after = f" after the first {asked.after}" if asked.after else ""
    print(f"{done} of {asked.inputs} inputs{after}, seed {asked.seed}, {time.perf_counter() - begin:.0f} s")
    print(f"{'':8}" + "".join(f"{name:>14}" for name in ("inputs", *COMPLAINTS)))
    for kind in SHARES:
        print(f"{kind:8}" + "".join(f"{count[kind, name]:14}" for name in ("inputs", *COMPLAINTS)))
    return 1 if any(number for (_, name), number in count.items() if name != "inputs") else 0


def together(seed: int, after: int, inputs: int) -> Iterator[list[tuple[str, int]]]:
    """Yield kind and number of each input after the first ones of a seed, some at a time."""
    chosen = random.Random(seed).choices(list(SHARES), list(SHARES.values()), k=after + inputs)
    numbered = [(kind, number) for number, kind in enumerate(chosen)][after:]
    for first in range(0, len(numbered), TOGETHER):
        yield numbered[first : first + TOGETHER]


def tried_in_turn(seed: int, which: list[tuple[str, int]]) -> list[Tried]:
    """Try inputs; those that kill a run each alone."""
    killed = [tried(seed, kind, number) for kind, number in which if kind == "kill"]
    return [*kinds.tried_in_turn(seed, [one for one in which if one[0] != "kill"]), *killed]


def tried(seed: int, kind: str, number: int) -> Tried:
    """Try one input alone."""
    if kind == "kill":
        return kind, number, kills.killed(random.Random(f"{seed} {kind} {number}"))
    return kind, number, kinds.tried(kind, seed, number)


def told(one: Tried, seed: int) -> bool:
    """Print what is wrong with an input, and how to try it again."""
    kind, number, verdict = one
    if verdict is None:
        return False
    words = " ".join(word if len(word) < 60 else f"{word[:60]}..." for word in verdict.words)
    print(
        f"{verdict.complaint}: scope {words!r}\n  --seed {seed} --only {kind}:{number}\n  {verdict.said}",
        flush=True,
    )
    return True


if __name__ == "__main__":
    main()
