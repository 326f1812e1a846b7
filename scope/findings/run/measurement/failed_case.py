"""Cases that gave wrong data, died, or did not end."""

from __future__ import annotations

from scope.findings.finding import Evidence, Finding
from scope.findings.run.context import Context, label
from scope.samples.records import Arrival
from scope.samples.samples import CaseSamples

_HAPPENED = {"failed": "gave wrong data", "crashed": "crashed", "timeout": "did not end and was stopped"}
_ADVICE = {
    "failed": "Data were changed on the way or computed wrongly: suspect the library, the driver, the link or "
    "memory; run the case again with another MPI (`scope run --mpi NAME`) and on other hosts.",
    "crashed": "Its last words are in `{folder}/stderr.txt`.",
    "timeout": "What it was doing is in the evidence and in `{folder}/stderr.txt`; `--case-limit SECONDS` gives "
    "it more time.",
}


def find(context: Context) -> list[Finding]:
    """Find every case that failed in some attempt; one finding per case and way of failing."""
    groups: dict[tuple[object, ...], list[CaseSamples]] = {}
    for case in context.samples.failures:
        if case.status in _HAPPENED:
            groups.setdefault((case.identity, case.status), []).append(case)
    return [_finding(context, cases) for cases in groups.values()]


def _finding(context: Context, cases: list[CaseSamples]) -> Finding:
    case = cases[0]
    absent = [arrival for arrival in case.arrivals if not arrival.arrived]
    launches = sorted({failed.launch for failed in cases})
    succeeded = any(other.ok for other in context.samples.cases if other.identity == case.identity)
    return Finding(
        code="failed-case",
        severity="error",
        title=f"{label(case)}: {_HAPPENED[case.status]}{_who(absent)}",
        where={
            "benchmark": case.benchmark,
            "ranks": case.ranks,
            "transport": case.transport,
            "launch": ", ".join(map(str, launches)),
            **_located(absent),
        },
        evidence=[
            Evidence(what="reason", value=case.reason or case.status),
            Evidence(what=f"launches in which it {_HAPPENED[case.status]}", value=len(launches)),
            Evidence(
                what="the same case in other launches", value="succeeded" if succeeded else "never succeeded"
            ),
            *(Evidence(what=_place(a), value=_doing(a)) for a in absent[:8]),
        ],
        advice=_ADVICE[case.status].format(folder=f"launches/{case.launch:04d}-{case.attempt}"),
        lost=1.0 if not succeeded else None,
    )


def _who(absent: list[Arrival]) -> str:
    if not absent:
        return ""
    first = f"rank {absent[0].rank} on {absent[0].host}"
    others = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
    return f"; {first}{others} did not arrive"


def _located(absent: list[Arrival]) -> dict[str, str | int | float]:
    if not absent:
        return {}
    hosts = sorted({arrival.host for arrival in absent})
    return {"host": ", ".join(hosts), "rank": ", ".join(str(arrival.rank) for arrival in absent)}


def _place(arrival: Arrival) -> str:
    return f"rank {arrival.rank} on {arrival.host} (process {arrival.pid})"


def _doing(arrival: Arrival) -> str:
    return (
        f"{arrival.state}, in {arrival.stage}, repetition {arrival.repetition}, "
        f"last sign {arrival.last_sign_s:.1f} s before the end"
    )
