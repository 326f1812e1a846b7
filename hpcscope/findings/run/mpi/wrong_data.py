"""Received or computed data are wrong."""

import re
from collections.abc import Mapping
from typing import Any

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.grouping import grouped
from hpcscope.launch import wrong_data
from hpcscope.launch.wrong_data import Shown
from hpcscope.plan.case import Case
from hpcscope.samples.samples import CaseSamples

_MOST = 8
"""Maximum number of cases that the evidence names."""


def find(run: Run) -> list[Finding]:
    """Find cases that failed verification: one finding per MPI routine, or per benchmark without a routine."""
    return [_finding(run, *item) for item in by_routine(run).items()]


def by_routine(run: Run) -> dict[str, list[CaseSamples]]:
    """Return the visits with wrong data, grouped by what they called: an MPI routine, else the benchmark."""
    wrong = filter(is_wrong, run.raw_samples.failures)
    return grouped(wrong, lambda failure: _called(run, failure.case) or failure.case.benchmark)


def is_wrong(case: CaseSamples) -> bool:
    """Return whether a visit ran to its end and its verification failed."""
    return case.status == "failed" and case.verification is not None and not case.verification.passed


def _called(run: Run, case: Case) -> str:
    return wrong_data.called_by(case.benchmark, case.parameters, run.benchmarks).routine


def _finding(run: Run, called: str, visits: list[CaseSamples]) -> Finding:
    case = visits[0].case
    wrong = {visit.key: visit.case for visit in visits}
    seen = _shown(run, called)
    library = (seen.library if seen else _library(run)) if called.startswith("MPI_") else ""
    where = {"benchmark": case.benchmark, "ranks": case.ranks, "transport": case.transport, "library": library}
    right = _right(run, called, case)
    return Finding(
        code="wrong-data",
        severity="error",
        title=_title(called, library, seen, wrong, visits),
        where={**where, "called": called, "layer": run.benchmark(case).level, **_place(visits[0].reason)},
        evidence=[
            Evidence(what="first reason", value=visits[0].reason),
            *(
                Evidence(what=f"measurements of {case.label} with wrong data", value=_visits(run, visits, case))
                for case in list(wrong.values())[:_MOST]
            ),
            *([Evidence(what="routines with correct data", value=", ".join(right))] if right else []),
            *(_of_the_program(called, seen) if seen else []),
        ],
        advice=_advice(called, seen, right),
        lost=1.0,
    )


def _place(reason: str) -> dict[str, str | int | float]:
    """Return the rank and the host that the native program names first."""
    named = re.match(r"rank (\d+) on ([^\s:]+)", reason)
    return {"rank": int(named[1]), "host": named[2]} if named else {}


def _visits(run: Run, visits: list[CaseSamples], case: Case) -> str:
    wrong = sum(visit.case.key == case.key for visit in visits)
    return f"{wrong} of {max(wrong, sum(samples.case.key == case.key for samples in run.raw_samples.cases))}"


def _right(run: Run, called: str, case: Case) -> list[str]:
    """Return the other routines that delivered the same number of bytes on the same ranks, always correctly."""
    sizes = run.benchmarks.of_role(case.benchmark, case.parameters, "size")
    ok: dict[str, bool] = {}
    for samples in run.raw_samples.cases:
        name, other = _called(run, samples.case), samples.case
        alike = (other.benchmark, other.batch) == (case.benchmark, case.batch)
        if alike and run.benchmarks.of_role(other.benchmark, other.parameters, "size") == sizes:
            ok[name] = ok.get(name, True) and samples.ok
    return sorted(name for name, fine in ok.items() if fine and name not in ("", called))


def _shown(run: Run, called: str) -> Shown | None:
    path = run.directory.wrong_data / f"{called}.txt"
    return wrong_data.read(path.read_text(errors="replace")) if path.is_file() else None


def _library(run: Run) -> str:
    mpi = run.machine.build.mpi if run.machine.build else None
    return f"{mpi.name} {mpi.version}" if mpi else "the MPI library"


def _title(
    called: str, library: str, seen: Shown | None, wrong: Mapping[Any, Case], visits: list[CaseSamples]
) -> str:
    cases = units.count(len(wrong), "case")
    what = f"{called} of {library}" if library else called
    if seen is None or not seen.wrong:
        return f"{what}: data were wrong in {cases}: {visits[0].reason}"
    repeated = f", starting with call {seen.first_time}" if seen.first_time > 1 else ""
    least = f"at {units.size(min(seen.wrong))} or more" if seen.right else f"at {units.size(max(seen.wrong))}"
    return f"{what} delivers {' or '.join(seen.kinds)} data {least}{repeated}, also without Scope"


def _of_the_program(called: str, seen: Shown) -> list[Evidence]:
    def listed(sizes: list[int]) -> str:
        return ", ".join(map(units.size, sizes)) or "none"

    name = f"wrong-data/{called}.c"
    sizes = {"correct": seen.right, "wrong": seen.wrong}
    evidence = [Evidence(what=f"{name}: {what} data at", value=listed(each)) for what, each in sizes.items()]
    if seen.wrong:
        evidence.append(Evidence(what=f"{name}: what arrived instead", value=", ".join(seen.details)))
    return evidence


def _advice(called: str, seen: Shown | None, right: list[str]) -> str:
    program = f"`wrong-data/{called}.c` of the run"
    elsewhere = "Run the case again with another MPI (`scope run --mpi NAME`) and on other hosts."
    apart = " Memory and links are unlikely causes: other routines work at this size." if right else ""
    if seen is None:
        return f"Suspect the library, the driver, the link or memory. {elsewhere}{apart}"
    if seen.wrong:
        return (
            f"{program} shows the fault without Scope: the cause is in the library or below it.{apart} Send the"
            f" program and its output to the developers. Until then, use {f'{right[0]} or ' if right else ''}"
            "another version (`scope run --mpi NAME`)."
        )
    return (
        f"{program} makes the same call without Scope, and its data were correct. Either this call alone does not "
        f"cause the fault, or the fault is rare. {elsewhere}{apart}"
    )
