"""Cases that failed, crashed, or did not end."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.mpi.wrong_data import is_wrong
from hpcscope.grouping import grouped
from hpcscope.samples.records import RankState
from hpcscope.samples.samples import CaseSamples, PrintedFigure

_HAPPENED = {"failed": "failed", "crashed": "crashed", "timeout": "did not end and was terminated"}
_ADVICE = {
    "failed": "If a call failed, for example because of a full disk or too little memory, remove that cause.",
    "crashed": "The last output is in `{folder}/stderr.txt`.",
    "timeout": "The evidence and `{folder}/stderr.txt` show what each rank was doing; `--limit TIME` allows a "
    "case more time.",
}


def find(run: Run) -> list[Finding]:
    """Find every case that failed in some attempt, except for wrong data; one finding per case and failure."""
    failures = (case for case in run.raw_samples.failures if case.status in _HAPPENED and not is_wrong(case))
    groups = grouped(failures, lambda case: (case.key, case.status))
    wrong = (each for each in run.raw_samples.printed if each.record.failure)
    printed = grouped(wrong, lambda each: (each.record.file, each.case.benchmark, each.record.failure))
    return [
        *(_finding(run, several) for several in groups.values()),
        *(_of_another_program(several) for several in printed.values()),
    ]


def _of_another_program(several: list[PrintedFigure]) -> Finding:
    """Return the finding about values that failed their program's verification or whose output is truncated."""
    printed, record = several[0], several[0].record
    more = len({printed_figure.case.key for printed_figure in several}) - 1
    others = f" and {units.count(more, 'more case')}" if more else ""
    return Finding(
        code="failed-case",
        severity="error",
        title=f"{printed.case.label}{others}: the program's own verification failed, or its output is truncated",
        where={"benchmark": printed.case.benchmark, "ranks": printed.case.ranks, "file": record.file},
        evidence=[Evidence(what=f"{record.file}:{record.line}", value=record.failure)],
        advice="The values are shown but are not results. If the values are wrong, run the program again; if the "
        "output is truncated, import the complete output.",
        lost=1.0,
    )


def _finding(run: Run, several: list[CaseSamples]) -> Finding:
    first = several[0]
    case = first.case
    absent = [state for state in first.rank_states if not state.arrived]
    launches = sorted({failed.launch for failed in several})
    succeeded = any(other.ok for other in run.raw_samples.cases if other.key == first.key)
    return Finding(
        code="failed-case",
        severity="error",
        title=f"{case.label}: {_HAPPENED[first.status]}{_why(first)}{_who(absent)}",
        where={
            "benchmark": case.benchmark,
            "ranks": case.ranks,
            "transport": case.transport,
            "launch": ", ".join(map(str, launches)),
            **_located(absent),
        },
        evidence=[
            Evidence(what="reason", value=first.reason or first.status),
            Evidence(what=f"launches in which the case {_HAPPENED[first.status]}", value=len(launches)),
            Evidence(
                what="the same case in other launches", value="succeeded" if succeeded else "never succeeded"
            ),
            *(Evidence(what=_place(state), value=_doing(state)) for state in absent[:8]),
        ],
        advice=_ADVICE[first.status].format(folder=f"launches/{first.launch:04d}-{first.attempt}"),
        lost=1.0 if not succeeded else None,
    )


def _why(failed: CaseSamples) -> str:
    """Return the program's own reason, if it ended cleanly enough to report one."""
    return f": {failed.reason}" if failed.status == "failed" and failed.reason else ""


def _who(absent: list[RankState]) -> str:
    if not absent:
        return ""
    first = f"rank {absent[0].rank} on {absent[0].host}"
    others = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
    return f"; {first}{others} did not arrive"


def _located(absent: list[RankState]) -> dict[str, str | int | float]:
    if not absent:
        return {}
    hosts = sorted({state.host for state in absent})
    return {"host": ", ".join(hosts), "rank": ", ".join(str(state.rank) for state in absent)}


def _place(state: RankState) -> str:
    if state.pid == 0:
        return f"rank {state.rank}"
    return f"rank {state.rank} on {state.host} (process {state.pid})"


def _doing(state: RankState) -> str:
    if state.pid == 0:
        return "never reported"
    return (
        f"{state.state}, in {state.stage}, repetition {state.repetition}, "
        f"last heartbeat {state.last_heartbeat_s:.1f} s before termination"
    )
