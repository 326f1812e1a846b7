"""A layer delivers much less bandwidth than the one below it."""

from __future__ import annotations

from hpcscope import units
from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.rungs import RungLoss, case_of, losses, selecting_the_network
from hpcscope.findings.settings import Advised, advised
from hpcscope.plan.case import transport_words
from hpcscope.settings.transports import ACTIVE_MESSAGES

TOLERATED = 0.7
"""Share of the layer below; less is worth a line."""
MUCH = 0.4


def find(run: Run) -> list[Finding]:
    """Find the network and MPI rungs that certainly retain less than 70 % of the layer below."""
    layers = ("frames", "network", "mpi")
    return [_finding(run, found) for found in losses(run, "bandwidth_bytes_per_s", layers, TOLERATED)]


def _finding(run: Run, found: RungLoss) -> Finding:
    rung = found.rung
    retained = units.share(rung.retained, rung.retained_low, rung.retained_high)
    how = _advice(run, found)
    return Finding(
        code="bandwidth-below-layer",
        severity="advice" if found.retained >= MUCH or _without_library(found) else "warning",
        title=(
            f"{_subject(found)} {units.quantity(rung.value, 'B/s')}, {retained} of the "
            f"{units.quantity(found.below.value, 'B/s')} of the layer below ({found.ladder.path})"
        ),
        where=found.where,
        evidence=found.evidence,
        advice=how.words,
        trials=how.trials,
        lost=1 - found.retained,
    )


def _subject(found: RungLoss) -> str:
    if found.rung.layer == "network":
        if "memory" in found.ladder.path:
            return "Two processes without MPI copy"
        return "TCP delivers" if _over_tcp(found) else "Two processes without MPI reach"
    return {"mpi": "MPI delivers", "frames": "Raw frames deliver"}[found.rung.layer]


def _without_library(found: RungLoss) -> bool:
    """Whether the loss is that of the operating system's ways between two processes of a host."""
    return found.rung.layer == "network" and "memory" in found.ladder.path


def _over_tcp(found: RungLoss) -> bool:
    return not found.ladder.path.startswith(transport_words(ACTIVE_MESSAGES))


def _advice(run: Run, found: RungLoss) -> Advised:
    if found.rung.layer != "mpi":
        return Advised(_below_the_library(found), [])
    if "memory" in found.ladder.path:
        how = advised(run, "memory copies", case_of(run, found.rung))
        return how._replace(words=f"Likely cause: how the library copies in shared memory; {how.words}.")
    how = selecting_the_network(run, found)
    buffers = "larger socket buffers and " if _over_tcp(found) else ""
    return how._replace(words=f"Compare {buffers}another MPI (`scope run --mpi NAME`){how.words}.")


def _below_the_library(found: RungLoss) -> str:
    if found.rung.layer == "frames":
        return "Check the link: errors and drops (`ip -s link`), speed and duplex (`ethtool`), traffic shaping."
    if _without_library(found):
        return (
            "One core copies another's data faster: the kernel's copy (CMA), or two copies by a queue, cost more."
            " Where a program sends much inside a host, try memory that both ranks share (`mpi.shared_window`)."
        )
    if not _over_tcp(found):
        return (
            "Check the MTU (9000 where all switches support it), the retransmissions of the cases without MPI, and"
            " that each process has a processor to itself."
        )
    return (
        "Check the socket buffers (`sysctl net.ipv4.tcp_rmem net.ipv4.tcp_wmem`), the MTU (9000 where all "
        "switches support it), offloads (`ethtool -k`) and retransmissions (`nstat -az TcpRetransSegs`)."
    )
