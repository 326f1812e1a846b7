"""What a finding means for programs: the loss in its case, times the fraction of their time that they spend there.

A message that takes twice as long costs a program little if it computes for nine tenths of its time. The programs
are the algorithms and applications of the run, on their largest number of ranks.
"""

from collections.abc import Iterable
from statistics import median

from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.program_case import ProgramCase, algorithm_cases, application_cases

COMPUTING, COMMUNICATING = "compute_s", "communicate_s"
SPENT_IN = {"node": COMPUTING, "mpi": COMMUNICATING}
"""The phase of programs that each layer serves."""
MESSAGES = ("", "MPI_Send")
"""Routines of message benchmarks; programs that declare no steps are assumed to exchange messages, too."""


def weighed(findings: Iterable[Finding], run: Run) -> list[Finding]:
    """Return the findings with `at_stake` set, if the run has programs that do what a finding is about.

    A loss in one algorithm, in one way to allocate memory or in sockets says nothing about other programs.
    """
    cases = [case for case in [*algorithm_cases(run), *application_cases(run)] if case.total.ranks > 1]
    most = max((case.total.ranks for case in cases), default=0)
    largest = [case for case in cases if case.total.ranks == most]
    return [_weighed(finding, run, largest) for finding in findings]


def _weighed(finding: Finding, run: Run, programs: list[ProgramCase]) -> Finding:
    phase = SPENT_IN.get(layer(finding))
    if finding.lost is None or finding.about == "measurement" or phase is None:
        return finding
    concerned = [case for case in programs if _concerns(finding, run, case)]
    spent = [case.seconds(phase) / (case.total.median or 1.0) for case in concerned if phase in case.figures]
    shares = [min(share, 1.0) for share in spent]
    return finding.model_copy(update={"at_stake": median(shares) * finding.lost}) if shares else finding


def _concerns(finding: Finding, run: Run, case: ProgramCase) -> bool:
    """Return whether a program does, by its declaration, what the benchmark of a finding measures."""
    measured = run.benchmarks.get(str(finding.where.get("benchmark", "")))
    declared = run.benchmarks[case.total.benchmark]
    if measured is None or not set(measured.requires) <= set(declared.requires):
        return measured is None
    steps = [step for step in declared.costs if step.belongs_to(case.total.parameters)]
    called = {step.routine for step in steps if step.kind == "collective"}
    routine = run.benchmarks.routine(measured.name)
    messages = not steps or any(step.kind in ("messages", "neighbor_exchange") for step in steps)
    return measured.level == "node" or routine in called or (routine in MESSAGES and messages)


def layer(finding: Finding) -> str:
    """Return the layer that a finding is about; empty if it names none."""
    where = finding.where
    return str(where.get("layer") or str(where.get("benchmark", "")).partition(".")[0])
