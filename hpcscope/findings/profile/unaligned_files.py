"""Large reads and writes begin in the middle of file system blocks."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.profile import ProfileFacts

MANY = 10
"""Fewest reads and writes per rank."""
MOST = 0.5
"""Least fraction of these that begin within a block."""


def find(facts: ProfileFacts) -> Found:
    """Find files whose reads and writes are at least a block long but mostly begin within a block.

    A partly written block must be read first, and two ranks that share a block wait for each other's lock.
    """
    files = [
        file
        for file in facts.merged.files
        if file.block_bytes
        and file.bytes >= file.block_bytes * max(file.transfers, 1)
        and file.unaligned > MOST * file.transfers
    ]
    number, unaligned = sum(file.transfers for file in files), sum(file.unaligned for file in files)
    time_s = sum(file.transfer_s for file in files)
    if number < MANY * len(facts.merged.processes) or not facts.worth(time_s):
        return
    most = max(files, key=lambda use: use.transfer_s)
    block = units.quantity(most.block_bytes, "B")
    yield Finding(
        code="unaligned-files",
        severity="advice",
        title=(
            f"{units.share(unaligned / number)} of {number} large reads and writes do not begin where a block "
            f"({block}) begins. Access to these files takes {units.share(time_s / facts.total_s)} of the time"
        ),
        where={"layer": "files", "file": most.path or "other files"},
        evidence=[
            Evidence(what="time in accesses to such files, all ranks", value=time_s, unit="s"),
            Evidence(what="mean size", value=sum(file.bytes for file in files) / number, unit="B"),
            Evidence(what="block size of the file system", value=most.block_bytes, unit="B"),
            Evidence(what="ranks that share the file", value=most.processes),
        ],
        advice=(
            f"Let every part of a file begin at a multiple of {block}. Pad headers and records, or give "
            "MPI-IO the hint `striping_unit` and let collective calls align the parts."
        ),
        lost=unaligned / number * time_s / facts.total_s,
    )
