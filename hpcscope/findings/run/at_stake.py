"""What a finding means for programs: the share lost in its case, times the share of their time spent there.

A message that takes twice as long costs a program little if it computes nine tenths of its time. The programs are
those of the run: its algorithms and applications, on their largest number of processes.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.program_case import ProgramCase, algorithm_cases, application_cases

COMPUTING, COMMUNICATING = "compute_s", "communicate_s"
SPENT_IN = {"node": COMPUTING, "network": COMMUNICATING, "mpi": COMMUNICATING, "operation": COMMUNICATING}
"""The phase of programs that each layer serves."""


def weighed(findings: Iterable[Finding], run: Run) -> list[Finding]:
    """Return the findings with what is at stake where the run has programs to tell."""
    shares = {phase: _share_of(phase, run) for phase in (COMPUTING, COMMUNICATING)}
    return [_weighed(finding, shares) for finding in findings]


def _weighed(finding: Finding, shares: dict[str, float | None]) -> Finding:
    if finding.lost is None or finding.about == "measurement":
        return finding
    phase = SPENT_IN.get(layer(finding))
    share = shares[phase] if phase else 1.0
    return finding if share is None else finding.model_copy(update={"at_stake": share * finding.lost})


def layer(finding: Finding) -> str:
    """Return the layer that a finding is about; empty where it names none."""
    where = finding.where
    return str(where.get("layer") or str(where.get("benchmark", "")).partition(".")[0])


def _share_of(phase: str, run: Run) -> float | None:
    """Return the median share that the programs spend in a phase; None without a program of several processes."""
    cases = [case for case in [*algorithm_cases(run), *application_cases(run)] if case.total.ranks > 1]
    most = max((case.total.ranks for case in cases), default=0)
    shares = [_share(case, phase) for case in cases if case.total.ranks == most and phase in case.figures]
    return median(shares) if shares else None


def _share(case: ProgramCase, phase: str) -> float:
    return min(case.seconds(phase) / (case.total.median or 1.0), 1.0)
