"""Cases without a result: skipped, unavailable, or never reached; rounds of a mix without samples."""

from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run


def find(run: Run) -> Found:
    """Find skipped and unavailable cases, one finding per reason, and planned cases that were never reached."""
    reasons: dict[str, list[str]] = {}
    lacking = {lack.resource for lack in run.record.lacks}
    for skipped in run.record.skipped:
        if skipped.resource in lacking:
            continue  # reported by below_minimum_configuration
        reasons.setdefault(skipped.reason, []).append(f"{skipped.benchmark} {skipped.case}".strip())
    for launches in run.raw_samples.by_case().values():
        first = launches[0]
        if first.status == "unavailable":
            reasons.setdefault(first.reason, []).append(first.case.benchmark)
    yield from (_skipped(reason, cases) for reason, cases in reasons.items())
    missing, planned = _not_reached(run)
    if missing:
        yield _unreached(run, missing, planned)
    if len(run.raw_samples.rounds) < run.record.rounds:
        yield _without_rounds(run)


def _not_reached(run: Run) -> tuple[list[str], int]:
    """Return the planned cases that have no record in their launch, and how many were planned."""
    if run.plan is None:
        return [], 0
    seen = {(samples.launch, samples.key[0]) for samples in run.raw_samples.cases}
    planned = [(launch.number, key) for launch in run.plan.launches for key in map(launch.key, launch.cases)]
    return [key[0] for number, key in planned if (number, key) not in seen], len(planned)


def _skipped(reason: str, cases: list[str]) -> Finding:
    names = sorted(set(cases))
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return Finding(
        code="skipped-cases",
        about="measurement",
        severity="information",
        title=f"Skipped: {shown}: {reason}",
        where={"benchmark": ", ".join(sorted({name.split()[0] for name in names}))},
        evidence=[
            Evidence(what="cases", value=len(cases)),
            *(Evidence(what="case", value=name) for name in names[:8]),
        ],
        advice="All other cases are unaffected; the reason in the title says what the skipped cases need.",
    )


def _unreached(run: Run, missing: list[str], planned: int) -> Finding:
    names = sorted(set(missing))
    return Finding(
        code="unfinished-run",
        about="measurement",
        severity="warning",
        title=f"{len(missing)} of {planned} planned cases have no samples: the run is {run.record.status}",
        where={"benchmark": ", ".join(names)},
        evidence=[Evidence(what=f"missing cases of {name}", value=missing.count(name)) for name in names],
        advice="`scope run --resume DIRECTORY` measures only these cases.",
        lost=len(missing) / planned,
    )


def _without_rounds(run: Run) -> Finding:
    planned, missing = run.record.rounds, run.record.rounds - len(run.raw_samples.rounds)
    return Finding(
        code="unfinished-run",
        about="measurement",
        severity="warning",
        title=f"{missing} of {planned} rounds have no samples: the run is {run.record.status}",
        where={"mix": run.record.mix},
        evidence=[Evidence(what="missing rounds", value=missing)],
        advice="`scope throughput --resume DIRECTORY` measures only these rounds.",
        lost=missing / planned,
    )
