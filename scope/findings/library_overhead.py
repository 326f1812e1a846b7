"""What the library adds to the latency of the transport below it."""

from __future__ import annotations

from scope import units
from scope.findings.context import Context
from scope.findings.finding import Evidence, Finding
from scope.findings.settings import setting
from scope.models.fit import Ladder, Rung

WORTH_A_LINE = 0.9
"""Retained share of the network's latency above which the library is as good as can be expected."""
MUCH = 0.6


def find(context: Context) -> list[Finding]:
    """Find ladders on which MPI certainly takes longer than the transport it uses."""
    found = []
    for ladder in context.models.ladders:
        rungs = {rung.layer: rung for rung in ladder.rungs}
        network, mpi = rungs.get("network"), rungs.get("mpi")
        if ladder.quantity == "latency_s" and network and mpi and _is_slower(mpi):
            found.append(_finding(context, ladder, network, mpi))
    return found


def _is_slower(mpi: Rung) -> bool:
    return mpi.retained is not None and mpi.retained < WORTH_A_LINE and (mpi.retained_high or mpi.retained) < 1


def _finding(context: Context, ladder: Ladder, network: Rung, mpi: Rung) -> Finding:
    if (
        network.value is None or mpi.value is None or mpi.retained is None
    ):  # pragma: no cover - retained needs both
        raise AssertionError("a retained share without its figures")
    added = mpi.value - network.value
    return Finding(
        code="library-overhead",
        severity="advice" if mpi.retained >= MUCH else "warning",
        title=(
            f"MPI adds {units.quantity(added, 's')} ({units.share(added / network.value)}) "
            f"to the {units.quantity(network.value, 's')} of {ladder.path}"
        ),
        where={"path": ladder.path, "layer": "mpi", "message_bytes": ladder.message_bytes or 0},
        evidence=[
            Evidence(what=network.name, value=network.value, unit="s"),
            Evidence(what=mpi.name, value=mpi.value, unit="s"),
        ],
        advice=(
            f"Compare another MPI with `scope run --mpi NAME` and `scope compare`; "
            f"{setting(context.mpi, 'network stack')}."
        ),
        lost=1 - mpi.retained,
    )
