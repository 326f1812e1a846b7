"""Independent MPI-IO through a view with gaps takes much of the time."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.profile import ProfileFacts

MOST = 0.5
"""Least fraction of the reads and writes of a file that are independent and go through a view with gaps."""


def find(facts: ProfileFacts) -> Found:
    """Find files that are read or written independently through views with gaps.

    For each such call, the library either transfers the gaps as well or makes one call per piece. In collective
    calls the ranks fill each other's gaps. Thakur, Gropp & Lusk, Data sieving and collective I/O in ROMIO,
    Frontiers '99.
    """
    uses = [
        file
        for file in facts.merged.program_files
        if file.transfers and max(0, file.file_gaps - file.collective) >= MOST * file.transfers
    ]
    time_s = sum(file.transfer_s for file in uses)
    if not uses or not facts.worth(time_s):
        return
    paths = {file.path for file in uses}
    inside = [file for file in facts.merged.files if file.layer == "inside mpi-io" and file.path in paths]
    moved, asked = sum(file.bytes for file in inside), sum(file.bytes for file in uses)
    most = max(uses, key=lambda use: use.transfer_s)
    yield Finding(
        code="files-with-gaps",
        severity="advice",
        title=(
            "Independent reads and writes through file views with gaps take"
            f" {units.share(time_s / facts.total_s)} of the time"
        ),
        where={"layer": "files", "file": most.path or "other files"},
        evidence=[
            Evidence(what="time in these reads and writes, all ranks", value=time_s, unit="s"),
            Evidence(what="reads and writes", value=sum(file.transfers for file in uses)),
            Evidence(what="bytes requested", value=asked, unit="B"),
            *([Evidence(what="bytes that the library moved", value=moved, unit="B")] if moved else []),
        ],
        advice=(
            "Use the collective form of the call (`MPI_File_write_all` for `MPI_File_write`): then the "
            "ranks fill each other's gaps. Or let each rank have a contiguous part of the file."
        ),
        lost=time_s / facts.total_s,
    )
