"""With enough ranks, an algorithm is communication-bound."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import largest_of_each
from hpcscope.findings.run.program_case import ProgramCase, algorithm_cases, written
from hpcscope.grouping import grouped
from hpcscope.models.scaling.speedup import Speedup


def find(run: Run) -> list[Finding]:
    """Find for each algorithm the largest problem whose communication takes significantly longer than computation.

    Melas 2000, sec. 7.6.1: beyond that number of ranks, little is gained. Communication must dominate on all
    larger numbers of ranks, too. All communication of an algorithm counts, including distribution and collection.
    """
    parallel = [case for case in algorithm_cases(run) if case.total.ranks > 1]
    curves = grouped(parallel, lambda case: (*case.apart(), case.size))
    firsts = (_from(sorted(cases, key=lambda case: case.total.ranks)) for cases in curves.values())
    bound = (case for case in firsts if case is not None)
    largest = {
        key: max(case.size for case in cases) for key, cases in grouped(parallel, ProgramCase.apart).items()
    }
    worst = largest_of_each(bound, ProgramCase.apart, lambda case: case.size)
    return [_finding(run, case, case.size == largest[case.apart()]) for case in worst]


def _from(cases: list[ProgramCase]) -> ProgramCase | None:
    """Return the first case from which communication dominates in all larger ones; None if not in the last."""
    first = None
    for case in reversed(cases):
        if not case.certainly_exceeds("communicate_s", "compute_s"):
            break
        first = case
    return first


def _finding(run: Run, case: ProgramCase, every_size: bool) -> Finding:
    """Return advice only for the largest problem: small problems are communication-bound on any machine."""
    total = case.total
    communicate, compute = case.seconds("communicate_s"), case.seconds("compute_s")
    times = f"communication {units.quantity(communicate, 's')}, computation {units.quantity(compute, 's')}"
    return Finding(
        code="communication-outweighs",
        cause="communication of small problems",
        severity="advice" if every_size else "information",
        title=f"With {total.ranks} or more ranks, {case.name} is communication-bound: {times}",
        where=case.where,
        evidence=[
            *case.evidence("communicate_s", "compute_s", "idle_s", "time_s"),
            *(
                evidence
                for speedup in run.models.speedups
                if _same(speedup, case)
                for evidence in _counts(speedup)
            ),
        ],
        advice=(
            "Use fewer ranks for this size, or larger problems on this number of ranks: computation grows "
            "faster with size than communication. If one rank distributes and collects the data, communication "
            "grows with the number of ranks: let each rank create or read its part."
        ),
        lost=communicate / (total.median or 1.0) if communicate < (total.median or 0.0) else None,
    )


def _same(speedup: Speedup, case: ProgramCase) -> bool:
    subject, total = speedup.subject, case.total
    return (subject.benchmark, subject.transport) == (total.benchmark, total.transport) and (
        subject.parameters.items() <= total.parameters.items()
    )


def _counts(speedup: Speedup) -> list[Evidence]:
    evidence = []
    if speedup.effective_ranks is not None:
        evidence.append(
            Evidence(what="most cost-effective number of ranks", value=written(speedup.effective_ranks))
        )
    if speedup.amdahl is not None and speedup.amdahl.critical_ranks is not None:
        evidence.append(Evidence(what="critical number of ranks", value=written(speedup.amdahl.critical_ranks, 1)))
    return evidence
