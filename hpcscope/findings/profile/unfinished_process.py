"""Processes that did not reach the end of MPI_Finalize."""

from __future__ import annotations

from collections import defaultdict

from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.profile.facts import ProfileFacts
from hpcscope.programs.profiles.records import Process

_WAYS = {
    "running": "had not ended: killed, crashed, or still running",
    "aborted": "called MPI_Abort",
    "exited": "exited without MPI_Finalize",
}


def find(facts: ProfileFacts) -> list[Finding]:
    """Find processes that were killed, aborted or exited early; one finding per kind of end."""
    alike: dict[tuple[str, str], list[Process]] = defaultdict(list)
    for one in facts.merged.unfinished:
        alike[one.state, one.in_routine].append(one)
    return [_finding(state, routine, found) for (state, routine), found in alike.items()]


def _finding(state: str, routine: str, found: list[Process]) -> Finding:
    ranks = ", ".join(str(one.rank) for one in found[:8]) + (", ..." if len(found) > 8 else "")
    who = f"Rank {ranks}" if len(found) == 1 else f"{len(found)} processes (ranks {ranks})"
    usages = [one.usage for one in found if one.usage is not None]
    codes = sorted({one.abort_code for one in found if one.abort_code is not None})
    return Finding(
        code="unfinished-process",
        severity="error",
        title=f"{who} {_WAYS.get(state, f'ended as {state}')}"
        + (f" with code {codes[0]}" if codes else "")
        + (f", inside {routine}" if routine else ", while computing"),
        where={"ranks": ranks, "hosts": ", ".join(sorted({one.host for one in found})), "layer": "process"}
        | {"state": state}
        | ({"routine": routine} if routine else {}),
        evidence=[
            *(Evidence(what="code of MPI_Abort", value=code) for code in codes),
            Evidence(what="last heartbeat after MPI_Init", value=max(one.wall_s for one in found), unit="s"),
            *(
                [Evidence(what="resident memory then", value=max(one.resident_bytes for one in usages), unit="B")]
                if usages
                else []
            ),
        ],
        advice=(
            "Check the messages of the program and the kernel (`dmesg`: out of memory, segmentation fault). "
            "Processes inside a call when others ended are often victims, not the cause."
        ),
    )
