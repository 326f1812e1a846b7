"""Ranks that did not reach the end of MPI_Finalize."""

from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.profile import ProfileFacts
from hpcscope.grouping import grouped
from hpcscope.programs.profiles.records import ProfiledProcess

_WAYS = {
    "running": "had not ended (killed, crashed, or still running)",
    "aborted": "called MPI_Abort",
    "exited": "exited without MPI_Finalize",
}


def find(facts: ProfileFacts) -> list[Finding]:
    """Find ranks that were killed, aborted or exited early; one finding per kind of end."""
    alike = grouped(facts.merged.unfinished, lambda process: (process.state, process.in_routine))
    return [_finding(state, routine, processes) for (state, routine), processes in alike.items()]


def _finding(state: str, routine: str, processes: list[ProfiledProcess]) -> Finding:
    ranks = ", ".join(str(process.rank) for process in processes[:8]) + (", ..." if len(processes) > 8 else "")
    who = f"Rank {ranks}" if len(processes) == 1 else f"{len(processes)} ranks (ranks {ranks})"
    memory = [process.usage.resident_bytes for process in processes if process.usage is not None]
    codes = sorted({process.abort_code for process in processes if process.abort_code is not None})
    return Finding(
        code="unfinished-process",
        severity="error",
        title=f"{who} {_WAYS.get(state, f'ended as {state}')}"
        + (f" with code {codes[0]}" if codes else "")
        + (f", inside {routine}" if routine else ", while computing"),
        where={
            "ranks": ranks,
            "hosts": ", ".join(sorted({process.host for process in processes})),
            "layer": "process",
            "state": state,
            **({"routine": routine} if routine else {}),
        },
        evidence=[
            *(Evidence(what="code of MPI_Abort", value=code) for code in codes),
            Evidence(
                what="last heartbeat after MPI_Init", value=max(process.wall_s for process in processes), unit="s"
            ),
            *([Evidence(what="memory at that time", value=max(memory), unit="B")] if memory else []),
        ],
        advice=(
            "Check the messages of the program and the kernel (`dmesg`: out of memory, segmentation fault). "
            "Ranks that were inside a call when other ranks ended are often victims, not the cause."
        ),
    )
