"""The overhead of the MPI library, relative to the latency of the transport below it."""

from hpcscope import units
from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.rungs import RungLoss, losses, selecting_the_network

EXPECTED = 0.6
"""Expected ratio of the transport's latency to the library's latency.

Healthy libraries over TCP reach 65 % or more here. The library whose cost Melas 2000 names reached 51 % over
Ethernet and 49 % over Myrinet (table 7.3)."""
MUCH = 0.4
WORTH_S = 1e-6
"""Least overhead that counts: over shared memory, healthy libraries add 0.1 to 0.4 us to a message here."""


def find(run: Run) -> list[Finding]:
    """Find ladders on which MPI takes much longer than the transport at 95 % confidence, and by a microsecond.

    Of several MPI rungs on a ladder only the fastest counts: something else delayed the others.
    """
    rung_losses = losses(run, "latency_s", ("mpi",), EXPECTED)
    return [
        _finding(run, loss)
        for loss in rung_losses
        if (loss.rung.value or 0.0) - (loss.below.value or 0.0) > WORTH_S
        if loss.rung.value == min(rung.value for rung in loss.ladder.rungs if rung.layer == "mpi" and rung.value)
    ]


def _finding(run: Run, loss: RungLoss) -> Finding:
    network_s, mpi_s = loss.below.value or 0.0, loss.rung.value or 0.0
    added = mpi_s - network_s
    how = selecting_the_network(run, loss)
    return Finding(
        code="library-overhead",
        cause="overhead of the library",
        severity="advice" if loss.retained >= MUCH else "warning",
        title=(
            f"MPI adds {units.quantity(added, 's')} ({units.share(added / network_s)}) "
            f"to the {units.quantity(network_s, 's')} of {loss.ladder.path}"
        ),
        where=loss.where,
        evidence=loss.evidence,
        advice=(
            f"Compare another MPI with `scope compare --measure`{how.words}. "
            f"At most {units.quantity(added, 's')} per message can be saved."
        ),
        trials=how.trials,
        lost=1 - loss.retained,
    )
