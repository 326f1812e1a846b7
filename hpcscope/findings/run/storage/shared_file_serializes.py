"""One file for all ranks is slower than a file for each rank: its locks serialize the ranks."""

from hpcscope.findings.finding import Finding, Found
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import written
from hpcscope.findings.run.storage.file_cases import most_lost, pairs, where

AT_LEAST = 0.25


def find(run: Run) -> Found:
    """Find for each benchmark the largest significant loss of a shared file against one file per rank."""
    several = [pair for pair in pairs(run, "file", "shared", "per_process") if pair[0].ranks > 1]
    for loss in most_lost(several, AT_LEAST):
        yield Finding(
            code="shared-file-serializes",
            severity="advice",
            title=(
                f"{loss.slow.label}: {written(loss.slow)}, only {loss.kept} of the {written(loss.fast)} that were "
                "measured with a file for each rank"
            ),
            where=where(loss.slow),
            evidence=run.evidence(loss.slow, loss.fast),
            advice=(
                "Write a file per rank or per host, or let collective access of MPI-IO give each region of the "
                "file to one rank. On a parallel file system, stripe the file over more servers."
            ),
            lost=loss.lost,
        )
