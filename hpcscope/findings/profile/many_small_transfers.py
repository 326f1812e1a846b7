"""Reading and writing files in many small pieces takes much of the time."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.profile import ProfileFacts

SMALL_BYTES = 4096
"""Smaller transfers, on average, are small: they are below the page and block size of nearly every file system."""
MANY = 100
"""Fewest small transfers per rank."""


def find(facts: ProfileFacts) -> Found:
    """Find programs that read or write files in small pieces, by POSIX or by MPI-IO without collective calls.

    C's streams and collective MPI-IO gather small pieces themselves.
    """
    small = [
        file
        for file in facts.merged.program_files
        if file.layer != "stream"
        and file.transfers > 2 * file.collective
        and 0 < file.bytes < SMALL_BYTES * file.transfers
    ]
    number, moved = sum(file.transfers for file in small), sum(file.bytes for file in small)
    time_s = sum(file.transfer_s for file in small)
    if number < MANY * len(facts.merged.processes) or not facts.worth(time_s):
        return
    most = max(small, key=lambda use: use.transfer_s)
    yield Finding(
        code="many-small-transfers",
        severity="advice",
        title=(
            f"{number} file reads and writes of {units.quantity(moved / number, 'B')} on average"
            f" take {units.share(time_s / facts.total_s)} of the time"
        ),
        where={"layer": "files", "file": most.path or "other files"},
        evidence=[
            Evidence(what="time in such reads and writes, all ranks", value=time_s, unit="s"),
            Evidence(what="time per read or write", value=time_s / number, unit="s"),
            Evidence(what="reads and writes", value=number),
            Evidence(what="rate", value=moved / time_s, unit="B/s"),
        ],
        advice=(
            "Move more data with each call: collect the data in a buffer of 1 MiB or more, or use streams "
            "(`fwrite`). With collective MPI-IO and a file view, the library combines all ranks' pieces."
        ),
        lost=time_s / facts.total_s,
    )
