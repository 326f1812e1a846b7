"""A layer delivers much less bandwidth than the one below it."""

from __future__ import annotations

from scope import units
from scope.findings.finding import Finding
from scope.findings.run.context import Context
from scope.findings.run.rungs import Lossy, lossy
from scope.findings.settings import setting

WORTH_A_LINE = 0.7
MUCH = 0.4


def find(context: Context) -> list[Finding]:
    """Find the network and MPI rungs that certainly retain less than 70 % of the rung below."""
    layers = ("frames", "network", "mpi")
    return [_finding(context, found) for found in lossy(context, "bandwidth_bytes_per_s", layers, WORTH_A_LINE)]


def _finding(context: Context, found: Lossy) -> Finding:
    rung = found.rung
    retained = units.share(rung.retained, rung.retained_low, rung.retained_high)
    return Finding(
        code="bandwidth-below-layer",
        severity="advice" if found.retained >= MUCH else "warning",
        title=(
            f"{_called(found)} {units.quantity(rung.value, 'B/s')}, {retained} of "
            f"{units.quantity(found.below.value, 'B/s')} below it ({found.ladder.path})"
        ),
        where=found.where,
        evidence=found.evidence,
        advice=_advice(context, found),
        lost=1 - found.retained,
    )


def _called(found: Lossy) -> str:
    if found.rung.layer == "network":
        return ("A shared-memory queue" if "memory" in found.ladder.path else "TCP") + " delivers"
    return {"mpi": "MPI delivers", "frames": "Raw frames deliver"}[found.rung.layer]


def _advice(context: Context, found: Lossy) -> str:
    inside = "memory" in found.ladder.path
    if found.rung.layer == "frames":
        return (
            "Look at the link itself: errors and drops (`ip -s link`), its speed and duplex (`ethtool`), a shaper."
        )
    if found.rung.layer == "network" and inside:
        return "Two processes copy slower than one: look where they are placed, and whether they share a cache."
    if found.rung.layer == "network":
        return (
            "Look at the socket buffers (`sysctl net.ipv4.tcp_rmem net.ipv4.tcp_wmem`), the MTU (9000 where all "
            "switches allow it), offloads (`ethtool -k`) and retransmissions (`nstat -az TcpRetransSegs`)."
        )
    if inside:
        how = setting(context.mpi, "memory copies")
        return f"Messages are copied more than once or by one core at a time; {how}."
    return (
        f"Compare larger socket buffers and another MPI (`scope run --mpi NAME`); "
        f"{setting(context.mpi, 'network stack')}."
    )
