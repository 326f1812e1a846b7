"""A host, a pair of hosts, or the way between two groups of hosts that is slower than its equals."""

from __future__ import annotations

from scope import units
from scope.findings.finding import Evidence, Finding
from scope.findings.run.context import Context
from scope.models.fit import PairMatrix, Slow

SHORT_BYTES = 1024
"""Up to here a message takes the time of its processors and its way, beyond it more and more that of its bytes."""


def find(context: Context) -> list[Finding]:
    """Find what stands out in the matrices of pairs, each thing once, in the matrix that shows it most clearly."""
    worst: dict[tuple[str, tuple[str, ...]], tuple[Slow, PairMatrix]] = {}
    for matrix in context.models.pairs:
        for kind, slow in _all(matrix):
            key = (kind, tuple(sorted(slow.members)))
            if key not in worst or slow.excess > worst[key][0].excess:
                worst[key] = (slow, matrix)
    matrices = context.models.pairs
    return [_finding(kind, slow, matrix, matrices) for (kind, _), (slow, matrix) in worst.items()]


def _all(matrix: PairMatrix) -> list[tuple[str, Slow]]:
    return [
        *(("host", slow) for slow in matrix.slow_processes),
        *(("pair", slow) for slow in matrix.slow_pairs),
        *([("groups", matrix.slow_between)] if matrix.slow_between else []),
    ]


def _finding(kind: str, slow: Slow, matrix: PairMatrix, matrices: list[PairMatrix]) -> Finding:
    names = ", ".join(slow.members)
    where = f"{units.size(matrix.message_bytes)}, {'alone' if matrix.load == 'alone' else 'all pairs at once'}"
    lost = slow.excess / (1 + slow.excess)
    code, title, advice = _words(kind, slow, names, matrices)
    return Finding(
        code=code,
        severity="warning",
        title=f"{title} {units.share(slow.excess)} more time than the others ({where})",
        where={"pair" if kind == "pair" else "host": names, "layer": "mpi"},
        evidence=[
            Evidence(what="excess over its equals", value=slow.excess),
            Evidence(what="excess, lower end of the 95 % interval over launches", value=slow.low),
            Evidence(what="excess, upper end", value=slow.high),
            Evidence(what="launches", value=matrix.launches),
            Evidence(what="processes compared", value=len(matrix.names)),
        ],
        advice=advice,
        lost=lost,
    )


def _words(kind: str, slow: Slow, names: str, matrices: list[PairMatrix]) -> tuple[str, str, str]:
    """Return code, beginning of the title and advice."""
    if kind == "pair":
        return (
            "slow-pair",
            f"Messages between {' and '.join(slow.members)} alone need",
            "Both are as fast as the others with everybody else: look at what only this pair uses, a route or a "
            "link of the fabric (`traceroute`, the switch's error counters, adaptive routing).",
        )
    if kind == "groups":
        return (
            "slow-link",
            f"Messages between {names} and all others need",
            "Inside both groups all is well: the way between them is narrower or longer (an uplink between "
            "switches, another building). Keep jobs inside a group, or use collectives that know the topology.",
        )
    short = [matrix for matrix in matrices if matrix.message_bytes <= SHORT_BYTES]
    long = [matrix for matrix in matrices if matrix.message_bytes > SHORT_BYTES]
    in_short, in_long = (any(_has(slow, matrix) for matrix in group) for group in (short, long))
    if in_long and short and not in_short:
        return (
            "slow-host-link",
            f"Long messages from and to {names} need",
            f"Short messages of {names} are as fast as the others': its link carries less. Compare `ethtool` "
            "(rate, duplex), cable, PCIe width and the switch port with those of another host.",
        )
    return (
        "slow-host-messages",
        f"Messages from and to {names} need",
        f"With every partner, and so it is {names} itself or its link. If the findings also call it slow in its "
        "own work it is the host (governor, throttling, other processes); else its adapter, driver or interrupts.",
    )


def _has(slow: Slow, matrix: PairMatrix) -> bool:
    return any(other.members == slow.members for other in matrix.slow_processes)
