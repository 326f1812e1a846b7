"""A layer delivers much less bandwidth than the layer below it."""

from hpcscope import units
from hpcscope.findings.finding import Finding, Found
from hpcscope.findings.results import Run
from hpcscope.findings.run.rungs import RungLoss, case_of, losses, selecting_the_network
from hpcscope.findings.settings import Advised, advised
from hpcscope.plan.case import transport_words
from hpcscope.settings.transports import ACTIVE_MESSAGES

TOLERATED = 0.7
"""Fraction of the bandwidth of the layer below; less is worth a line."""
MUCH = 0.4


def find(run: Run) -> Found:
    """Find rungs of frames, network and MPI below 70 % of the layer below at 95 % confidence."""
    layers = ("frames", "network", "mpi")
    for loss in losses(run, "bandwidth_bytes_per_s", layers, TOLERATED):
        rung = loss.rung
        retained = units.share(rung.retained, rung.retained_low, rung.retained_high)
        how = _advice(run, loss)
        yield Finding(
            code="bandwidth-below-layer",
            severity="advice" if loss.retained >= MUCH or _without_library(loss) else "warning",
            title=(
                f"{_subject(loss)} {units.quantity(rung.value, 'B/s')}, {retained} of the "
                f"{units.quantity(loss.below.value, 'B/s')} of the layer below ({loss.ladder.path})"
            ),
            where=loss.where,
            evidence=loss.evidence,
            advice=how.words,
            trials=how.trials,
            lost=1 - loss.retained,
        )


def _subject(loss: RungLoss) -> str:
    if loss.rung.layer == "network":
        if "memory" in loss.ladder.path:
            return "Without MPI, two ranks copy data at"
        return "TCP delivers" if _over_tcp(loss) else "Without MPI, two ranks reach"
    return {"mpi": "MPI delivers", "frames": "Raw frames deliver"}[loss.rung.layer]


def _without_library(loss: RungLoss) -> bool:
    """Return whether the operating system's paths between two processes of a host cause the loss."""
    return loss.rung.layer == "network" and "memory" in loss.ladder.path


def _over_tcp(loss: RungLoss) -> bool:
    return not loss.ladder.path.startswith(transport_words(ACTIVE_MESSAGES))


def _advice(run: Run, loss: RungLoss) -> Advised:
    if loss.rung.layer != "mpi":
        return Advised(_below_the_library(loss), [])
    if "memory" in loss.ladder.path:
        how = advised(run, "memory copies", case_of(run, loss.rung))
        return how._replace(words=f"The library's copies in shared memory are the likely cause; {how.words}.")
    how = selecting_the_network(run, loss)
    buffers = "larger socket buffers and " if _over_tcp(loss) else ""
    return how._replace(words=f"Compare {buffers}another MPI (`scope run --mpi NAME`){how.words}.")


def _below_the_library(loss: RungLoss) -> str:
    if loss.rung.layer == "frames":
        return "Check the link: errors and drops (`ip -s link`), speed and duplex (`ethtool`), traffic shaping."
    if _without_library(loss):
        return (
            "The kernel's copy (CMA), or two copies through a queue, take longer than a plain copy by one core."
            " If a program sends much data inside a host, try memory that both ranks share (`mpi.shared_window`)."
        )
    if not _over_tcp(loss):
        return (
            "Check the MTU (9000 if all switches support it), the retransmissions of the cases without MPI, and"
            " that each rank has a processor to itself."
        )
    return (
        "Check the socket buffers (`sysctl net.ipv4.tcp_rmem net.ipv4.tcp_wmem`), the MTU (9000 if all "
        "switches support it), offloads (`ethtool -k`) and retransmissions (`nstat -az TcpRetransSegs`)."
    )
