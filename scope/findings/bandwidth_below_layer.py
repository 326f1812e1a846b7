"""A layer delivers much less bandwidth than the one below it."""

from __future__ import annotations

from itertools import pairwise

from scope import units
from scope.findings.context import Context
from scope.findings.finding import Evidence, Finding
from scope.findings.settings import setting
from scope.models.fit import Ladder, Rung

WORTH_A_LINE = 0.7
MUCH = 0.4


def find(context: Context) -> list[Finding]:
    """Find the network and MPI rungs that certainly retain less than 70 % of the rung below."""
    return [
        _finding(context, ladder, below, rung)
        for ladder in context.models.ladders
        if ladder.quantity == "bandwidth_bytes_per_s"
        for below, rung in pairwise(ladder.rungs)
        if rung.layer in ("network", "mpi") and _is_low(rung)
    ]


def _is_low(rung: Rung) -> bool:
    return rung.retained is not None and (rung.retained_high or rung.retained) < WORTH_A_LINE


def _finding(context: Context, ladder: Ladder, below: Rung, rung: Rung) -> Finding:
    retained = units.share(rung.retained, rung.retained_low, rung.retained_high)
    return Finding(
        code="bandwidth-below-layer",
        severity="advice" if (rung.retained or 0) >= MUCH else "warning",
        title=(
            f"{_called(rung)} delivers {units.quantity(rung.value, 'B/s')}, {retained} of "
            f"{units.quantity(below.value, 'B/s')} below it ({ladder.path})"
        ),
        where={"path": ladder.path, "layer": rung.layer, "message_bytes": ladder.message_bytes or 0},
        evidence=[
            Evidence(what=below.name, value=below.value or 0.0, unit="B/s"),
            Evidence(what=rung.name, value=rung.value or 0.0, unit="B/s"),
        ],
        advice=_advice(context, ladder, rung),
        lost=1 - (rung.retained or 0),
    )


def _called(rung: Rung) -> str:
    return "MPI" if rung.layer == "mpi" else "TCP"


def _advice(context: Context, ladder: Ladder, rung: Rung) -> str:
    if rung.layer == "network":
        return (
            "Look at the socket buffers (`sysctl net.ipv4.tcp_rmem net.ipv4.tcp_wmem`), the MTU (9000 where all "
            "switches allow it), offloads (`ethtool -k`) and retransmissions (`nstat -az TcpRetransSegs`)."
        )
    if "memory" in ladder.path:
        how = setting(context.mpi, "memory copies")
        return f"Messages are copied more than once or by one core at a time; {how}."
    return (
        f"Compare larger socket buffers and another MPI (`scope run --mpi NAME`); "
        f"{setting(context.mpi, 'network stack')}."
    )
