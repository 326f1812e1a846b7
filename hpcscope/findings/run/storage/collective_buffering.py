"""Collective access of MPI-IO is slower than independent access of the same data."""

from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import written
from hpcscope.findings.run.storage.file_cases import FileLoss, most_lost, pairs, where
from hpcscope.findings.settings import advised

AT_LEAST = 0.1


def find(run: Run) -> list[Finding]:
    """Find for each benchmark the largest significant loss of collective against independent access."""
    losses = most_lost(pairs(run, "access", "collective", "independent"), AT_LEAST)
    return [_finding(run, loss) for loss in losses]


def _finding(run: Run, loss: FileLoss) -> Finding:
    how = advised(run, "collective buffering", loss.slow)
    return Finding(
        code="collective-buffering",
        severity="advice",
        title=f"{loss.slow.label}: {written(loss.slow)}, {loss.kept} of independent access ({written(loss.fast)})",
        where=where(loss.slow),
        evidence=run.evidence(loss.slow, loss.fast),
        advice=f"If each rank accesses large pieces, call the independent routines, or {how.words}.",
        trials=how.trials,
        lost=loss.lost,
    )
