"""Hostile inputs: does any bring a trace, a hang, a lost sample, a silent change or a leftover? (limit: none).

usage: python benchmarks/fuzz.py [--inputs N] [--after M] [--seed S] [--workers W]
       python benchmarks/fuzz.py --seed S --only KIND:NUMBER       one of them again
       python benchmarks/fuzz.py --seconds T [--door KIND]...     the doors alone: `make fuzz`

The exit code is 1 where anything is wrong. `--after M` leaves out the first M inputs of the seed, so that many can
be tried in several parts.

Command lines, files that people write and damaged runs are tried one after another in forked children, failing
surroundings each in a child of its own; one of 500 is a process of its own, one of 5,000 a real run that is killed
and resumed. With TMPDIR in a memory file system about 140 inputs a second are tried on two processors.

The doors are a server that is asked over sockets, push and pull, import and anonymize. They are tried in turn, the
stored inputs of `tests/fuzz/seeds.txt` first.
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
from itertools import cycle, islice, takewhile
from multiprocessing.pool import Pool
from pathlib import Path
from typing import get_args

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.fuzz import kills, kinds, seeds
from tests.fuzz.inputs import Complaint, Verdict

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
DOORS = ("serve", "exchange", "import", "anonymize")
Tried = tuple[str, int, Verdict | None]
TOGETHER = 200
"""Inputs that a worker takes at a time."""
TURN_S, MOST_OF_A_TURN = 5.0, 10_000
"""Time for which a worker tries one door, and numbers of inputs that it may try."""


def main() -> None:
    """Try all inputs and print what is wrong."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--inputs", type=int, default=10_000)
    arguments.add_argument("--after", type=int, default=0)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    arguments.add_argument("--only", metavar="KIND:NUMBER")
    arguments.add_argument("--seconds", type=float, default=0.0)
    arguments.add_argument("--door", action="append", choices=DOORS)
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
        if asked.seconds:
            tries = tried_at_doors(pool, asked)
        else:
            tries = pool.imap_unordered(partial(tried_in_turn, asked.seed), chosen)
        for some in tries:
            for one in some:
                count[one[0], "inputs"] += 1
                if one[2] is not None:
                    count[one[0], one[2].complaint] += 1
                    told(one, asked.seed)
    done = sum(number for (_, name), number in count.items() if name == "inputs")
    after = f" after the first {asked.after}" if asked.after else ""
    print(f"{done} inputs{after}, seed {asked.seed}, {time.perf_counter() - begin:.0f} s")
    complaints = get_args(Complaint)
    print(f"{'':9}" + "".join(f"{name:>14}" for name in ("inputs", *complaints)))
    for kind in dict.fromkeys(kind for kind, _ in count):
        print(f"{kind:9}" + "".join(f"{count[kind, name]:14}" for name in ("inputs", *complaints)))
    return 1 if any(number for (_, name), number in count.items() if name != "inputs") else 0


def tried_at_doors(pool: Pool, asked: argparse.Namespace) -> Iterator[list[Tried]]:
    """Yield the stored inputs and then, until the time is over, those of the doors in turn."""
    yield [(one.kind, one.number, kinds.tried(one.kind, one.seed, one.number)) for one in seeds.stored()]
    end_s = time.monotonic() + asked.seconds
    doors = cycle(asked.door or DOORS)
    first = dict.fromkeys(DOORS, asked.after)
    while time.monotonic() < end_s:
        turns = []
        for door in islice(doors, asked.workers):
            turns.append((door, first[door]))
            first[door] += MOST_OF_A_TURN
        yield from pool.map(partial(at_a_door, asked.seed, end_s), turns)


def at_a_door(seed: int, end_s: float, turn: tuple[str, int]) -> list[Tried]:
    """Try inputs at a door from a number on, for a while."""
    kind, first = turn
    end_s = min(end_s, time.monotonic() + TURN_S)
    made = takewhile(lambda _: time.monotonic() < end_s, range(first, first + MOST_OF_A_TURN))
    return [tried(seed, kind, number) for number in made]


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
