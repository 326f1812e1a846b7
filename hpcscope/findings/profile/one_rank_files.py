"""One rank does all the input and output."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.profile import ProfileFacts

MOST = 0.9
"""Least fraction of all bytes of files that one rank reads and writes."""
WORTH = 0.05
"""Least fraction of the wall-clock time that this rank spends on files; the others wait or could help."""


def find(facts: ProfileFacts) -> Found:
    """Find programs in which one rank reads and writes nearly everything and takes long for it."""
    processes = facts.merged.processes
    moved = sum(process.file_bytes for process in processes)
    if len(processes) < 2 or moved == 0:
        return
    busy = max(processes, key=lambda one: one.file_bytes)
    share = busy.file_bytes / moved
    if share < MOST or busy.file_s < WORTH * facts.merged.wall_s:
        return
    others = [process for process in processes if process.rank != busy.rank]
    # All ranks could share the work, although the disk may not be faster for it.
    lost = busy.file_s * len(others) / len(processes) / max(facts.merged.wall_s, 1e-9)
    yield Finding(
        code="one-rank-files",
        severity="advice",
        title=(
            f"Rank {busy.rank} does nearly all reading and writing of files: {units.share(share)} of"
            f" {units.quantity(moved, 'B')}, in {units.share(busy.file_s / facts.merged.wall_s)} of its time"
        ),
        where={"layer": "files", "rank": busy.rank, "host": busy.host},
        evidence=[
            Evidence(what=f"reading and writing, rank {busy.rank}", value=busy.file_s, unit="s"),
            Evidence(
                what="reading and writing, mean of the other ranks",
                value=sum(process.file_s for process in others) / len(others),
                unit="s",
            ),
            Evidence(what="rate", value=busy.file_bytes / busy.file_s, unit="B/s"),
        ],
        advice=(
            "Let every rank write its own part of a shared file with MPI-IO (`MPI_File_write_at_all`), or let "
            "one rank write while the other ranks compute."
        ),
        lost=lost,
    )
