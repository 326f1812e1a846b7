"""Small transfers reach only a fraction of the bandwidth of large ones."""

from collections.abc import Iterator

from hpcscope import units
from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import written
from hpcscope.findings.run.storage.file_cases import FileLoss, groups, most_lost, where
from hpcscope.statistics.summary import Summary

PARAMETER = "transfer_bytes"
AT_LEAST = 0.5
NEARLY = 0.9
"""Fraction of the best bandwidth: the smallest transfers that reach it are large enough."""


def find(run: Run) -> list[Finding]:
    """Find for each benchmark the small transfers that lose most, if that is significantly over half."""
    best = {}
    for cases in by_size(run):
        fastest = max(cases.values(), key=lambda case: case.median or 0.0)
        enough = min(size for size, case in cases.items() if (case.median or 0) >= NEARLY * (fastest.median or 0))
        best[cases[min(cases)].key] = (cases[min(cases)], fastest, enough)
    losses = most_lost([(small, fastest) for small, fastest, _ in best.values()], AT_LEAST)
    return [_finding(run, loss, best[loss.slow.key][2]) for loss in losses]


def by_size(run: Run) -> Iterator[dict[int, Summary]]:
    """Yield groups of cases that differ only in the size of their transfers, by that size."""
    for group in groups(run, PARAMETER):
        yield {size_of(case): case for case in group.values()}


def size_of(case: Summary) -> int:
    """Return the size of each transfer of a case in bytes."""
    return int(str(case.parameters[PARAMETER]))


def _finding(run: Run, loss: FileLoss, enough: int) -> Finding:
    return Finding(
        code="small-transfers",
        severity="advice",
        title=(
            f"{loss.slow.label}: transfers of {units.size(size_of(loss.slow))} reach {written(loss.slow)}; "
            f"transfers of {units.size(size_of(loss.fast))} reach {written(loss.fast)}"
        ),
        where={**where(loss.slow), PARAMETER: size_of(loss.slow)},
        evidence=run.evidence(loss.slow, loss.fast),
        advice=(
            f"Read and write at least {units.size(enough)} at a time: gather small records in a buffer, or let "
            "collective access of MPI-IO gather them."
        ),
        lost=loss.lost,
    )
