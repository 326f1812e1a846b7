"""Opening and closing files takes much of the time: there are many opens, or they are slow."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.profile import ProfileFacts

MANY = 50
"""Opened files per rank that count as many; if fewer opens take this long, each of them is slow."""


def find(facts: ProfileFacts) -> Found:
    """Find programs that open files so often, or so slowly, that it takes much of their time."""
    merged = facts.merged
    files = [file for file in merged.program_files if file.opens]
    opens, transfers = sum(file.opens for file in files), sum(file.transfers for file in files)
    time_s = sum(file.open_s + file.other_s for file in files)
    if not facts.worth(time_s):
        return
    many = opens >= MANY * len(merged.processes)
    most = max(files, key=lambda use: use.open_s + use.other_s)
    again = most.path != "" and most.opens > MANY
    yield Finding(
        code="many-opens" if many else "slow-opens",
        severity="advice",
        title=(
            f"Opening and closing files takes {units.share(time_s / facts.total_s)} of the time:"
            f" {opens} opens, {opens / len(merged.processes):.0f} per rank"
        ),
        where={"layer": "files", "file": most.path or "other files"},
        evidence=[
            Evidence(what="time in opening, closing and seeking, all ranks", value=time_s, unit="s"),
            Evidence(what="time per opened file", value=time_s / opens, unit="s"),
            Evidence(what="reads and writes per opened file", value=transfers / opens),
            Evidence(what="most opens of one file", value=max(file.opens for file in files if file.path or again)),
        ],
        advice=(
            "Keep files open over many transfers; `storage.metadata` shows how long an open takes by itself."
            if not many
            else "Open a file once and keep it open."
            if again
            else "Put the data of many small files into few larger ones: one shared file, or one per host. On "
            "a parallel file system each open queries the metadata server, which all programs share."
        ),
        lost=time_s / facts.total_s,
    )
