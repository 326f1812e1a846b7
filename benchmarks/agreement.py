"""Does the framework add anything? Scope's figures of MPI over those of plain C loops and of other suites.

Interleaved, pinned launches; the ratio over the pairs of launches, with its 95 % interval. Exit code 1 where an
interval lies outside 0.97 to 1.03; one that is wider than that is undecided.
usage: python benchmarks/agreement.py [--mpi NAME] [--launches N] [--ranks N] [--exchange NAME ...]
                                      [--size BYTES ...] [--imb IMB-MPI1] [--osu FOLDER]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import peers
from launches import Pair, headline_s
from verdict import TITLES, alternated, summary

SIZES = {1: (50, 1000), 1 << 10: (25, 1000), 1 << 12: (15, 1000), 1 << 14: (6, 800), 1 << 16: (2, 500)}
SIZES |= {1 << 20: (1, 150), 1 << 22: (1, 60)}
"""Iterations in a loop, and loops. A loop lasts about as long as one of Scope's repetitions, so that the medians
of both see interruptions alike; a mean over a long loop holds them, a median over short ones does not."""
HALF = "half_round_trip"
Statistic = Callable[[Any], Any]
"""The median, or the mean: other suites print means, which hold every interruption."""


@dataclass(frozen=True)
class Exchange:
    """One exchange of messages, as Scope and as others measure it."""

    name: str
    """As the plain program calls it."""
    case: str
    """Scope's, without the size."""
    definition: str = "local"
    iterations_over: int = 1
    """How many times longer it takes than a ping-pong."""
    smallest: int = 1
    in_places: bool = False
    """Every operation of a loop has a place of its own: as many in both, for they must fit into a cache."""
    peers: tuple[peers.Program, ...] = ()


EXCHANGES = (
    Exchange("ping_pong", "mpi.latency", HALF, peers=(peers.imb("PingPong"), peers.osu("osu_latency"))),
    Exchange("echo", "mpi.latency buffers=one", HALF),
    Exchange(
        "stream",
        "mpi.bandwidth",
        iterations_over=25,
        peers=(peers.imb("Uniband", 64), peers.osu("osu_bw", 64)),
    ),
    Exchange("sendrecv", "mpi.comms2"),
    Exchange("put", "mpi.one_sided operation=put epoch=fence", smallest=8, in_places=True),
    Exchange("get", "mpi.one_sided operation=get epoch=fence", smallest=8, in_places=True),
    Exchange("allreduce", "mpi.allreduce", "global", smallest=8, peers=(peers.osu("osu_allreduce"),)),
    Exchange("broadcast", "mpi.broadcast", "global", peers=(peers.osu("osu_bcast"),)),
    Exchange("alltoall", "mpi.alltoall", "global", peers=(peers.osu("osu_alltoall"),)),
)


def main() -> int:
    """Print one row per exchange, size and other program; return the exit code."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--mpi")
    arguments.add_argument("--launches", type=int, default=11)
    arguments.add_argument(
        "--ranks", type=int, default=2, help="of collectives; more than the cores are not pinned"
    )
    arguments.add_argument("--exchange", nargs="+", choices=[one.name for one in EXCHANGES])
    arguments.add_argument("--size", nargs="+", type=int, choices=list(SIZES))
    arguments.add_argument("--imb", type=Path, help="the program IMB-MPI1 of the same MPI")
    arguments.add_argument("--osu", type=Path, help="the folder of osu_latency, osu_bw, ... of the same MPI")
    asked = arguments.parse_args()
    pair = Pair(asked.mpi, asked.ranks)
    print(
        f"{pair.mpi.name} {pair.mpi.version}, {asked.launches} interleaved launches of each, {asked.ranks} ranks"
    )
    print(f"{'exchange':<12}{'against':<16}{'bytes':>9}{TITLES}")
    words = []
    for exchange in EXCHANGES:
        if asked.exchange and exchange.name not in asked.exchange:
            continue
        for size in asked.size or SIZES:
            if size < exchange.smallest:
                continue
            for other, statistic, seconds in others(pair, exchange, size, asked.imb, asked.osu):
                ours = partial(scope_s, pair, exchange, size, statistic)
                found = alternated(ours, seconds, asked.launches)
                words.append(found.word)
                print(f"{exchange.name:<12}{other:<16}{size:>9}{found.columns()}", flush=True)
    return summary(words)


def scope_s(pair: Pair, exchange: Exchange, size: int, statistic: Statistic) -> float:
    """Return the median or mean of Scope's case in one launch, in s."""
    return headline_s(pair.measured([line_of(exchange, size)])[0], exchange.definition, statistic)


def line_of(exchange: Exchange, size: int) -> str:
    """Return the line of Scope's case in a plan."""
    return f"{exchange.case} message_bytes={size} sampling.budget_s=0.4 sampling.precision=0.002"


def others(
    pair: Pair, exchange: Exchange, size: int, imb: Path | None, osu: Path | None
) -> Iterator[tuple[str, Statistic, Callable[[], float]]]:
    """Yield each program to compare with, the statistic it prints, and what starts it once and returns seconds."""
    iterations, loops = SIZES[size]
    looped = max(1, iterations // exchange.iterations_over)
    if exchange.in_places:
        looped = pair.measured([line_of(exchange, size)])[0]["series"][0]["operations"]
    words = [exchange.name, str(size), str(looped), str(loops)]
    yield "plain loop", np.median, lambda: pair.plain(words)
    for program in exchange.peers:
        path = imb if program.suite == "IMB" else osu
        if path is not None:
            yield (
                program.name,
                np.mean,
                lambda p=program, where=path: p.seconds(pair, where, size, iterations * loops),
            )


if __name__ == "__main__":
    sys.exit(main())
