"""A host, a pair of hosts, or the path between two groups of hosts is slower than its peers."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import largest_of_each
from hpcscope.models.communication.pair_matrix import PairMatrix, Slow
from hpcscope.models.measurements import shared_processors

SHORT_BYTES = 1024
"""Up to this size, latency dominates the time of a message; for larger messages, bytes count increasingly."""


def find(run: Run) -> list[Finding]:
    """Find the outliers of the pair matrices, each one once, in the matrix that shows it most clearly."""
    outliers = [
        (kind, slow, matrix)
        for matrix in run.models.pairs
        for kind, slow in _all(matrix)
        # If hosts share processors, short messages only show which hosts share one.
        if kind != "groups" or matrix.message_bytes > SHORT_BYTES or not _hosts_share_processors(run)
    ]
    clearest = largest_of_each(
        outliers, lambda one: (one[0], tuple(sorted(one[1].members))), lambda one: one[1].excess.value
    )
    return [_finding(*outlier, run.models.pairs) for outlier in clearest]


def _hosts_share_processors(run: Run) -> bool:
    room = shared_processors(run.machine) if run.machine.lab else None
    return room is not None and room < len(run.machine.hosts)


def _all(matrix: PairMatrix) -> list[tuple[str, Slow]]:
    return [
        *(("host", slow) for slow in matrix.slow_processes),
        *(("pair", slow) for slow in matrix.slow_pairs),
        *([("groups", matrix.slow_between)] if matrix.slow_between else []),
    ]


def _finding(kind: str, slow: Slow, matrix: PairMatrix, matrices: list[PairMatrix]) -> Finding:
    names = ", ".join(slow.members)
    load = "one pair at a time" if matrix.load == "isolated" else "all pairs at once"
    where = f"{units.size(matrix.message_bytes)}, {load}"
    excess = slow.excess
    lost = excess.value / (1 + excess.value)
    code, title, advice = _words(kind, slow, names, matrices)
    return Finding(
        code=code,
        severity="warning",
        title=f"{title} {units.longer(excess.value, excess.low, excess.high)} others ({where})",
        where={"pair" if kind == "pair" else "host": names, "layer": "mpi"},
        evidence=[
            Evidence(what="excess over its peers", value=excess.value),
            Evidence(what="excess, lower bound (95 %)", value=excess.low or 0.0),
            Evidence(what="excess, upper bound (95 %)", value=excess.high or 0.0),
            Evidence(what="launches", value=matrix.launches),
            Evidence(what="ranks compared", value=len(matrix.names)),
        ],
        advice=advice,
        lost=lost,
    )


def _words(kind: str, slow: Slow, names: str, matrices: list[PairMatrix]) -> tuple[str, str, str]:
    """Return the code, the beginning of the title and the advice."""
    if kind == "pair":
        return (
            "slow-pair",
            f"Only the messages between {' and '.join(slow.members)} are slow: they take",
            "With all other partners, these two hosts are not slow. Check what only this pair uses, such as "
            "a route or a link of the fabric (`traceroute`, error counters of the switch, adaptive routing).",
        )
    if kind == "groups":
        return (
            "slow-link",
            f"Messages between {names} and all other hosts take",
            "Messages inside each group are as fast as expected, so the path between the groups is narrower or "
            "longer (an uplink between switches, another building). Keep jobs inside a group, or use "
            "topology-aware collectives.",
        )
    short = [matrix for matrix in matrices if matrix.message_bytes <= SHORT_BYTES]
    long = [matrix for matrix in matrices if matrix.message_bytes > SHORT_BYTES]
    in_short, in_long = (any(_has(slow, matrix) for matrix in group) for group in (short, long))
    if in_long and short and not in_short:
        return (
            "slow-host-link",
            f"Long messages from and to {names} take",
            f"Short messages of {names} are not slow, so the link of {names} has a lower rate. Compare `ethtool` "
            "(rate, duplex), cable, PCIe width and switch port with another host.",
        )
    return (
        "slow-host-messages",
        f"Messages from and to {names} take",
        f"Every partner sees slow messages, so {names} or its link is slow. If another finding reports slow "
        "computation on this host, check governor, throttling and other processes. Without such a finding, check "
        "adapter, driver and interrupts.",
    )


def _has(slow: Slow, matrix: PairMatrix) -> bool:
    return any(other.members == slow.members for other in matrix.slow_processes)
