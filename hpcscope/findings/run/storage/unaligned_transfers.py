"""Transfers that are not a multiple of the file system's block are slower than smaller aligned transfers."""

from collections.abc import Iterator

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import written
from hpcscope.findings.run.storage.file_cases import FileLoss, most_lost, where
from hpcscope.findings.run.storage.small_transfers import by_size, size_of
from hpcscope.statistics.summary import Summary

BLOCK_BYTES = 4096
"""A page: the smallest unit of the page cache of Linux."""
AT_LEAST = 0.1


def find(run: Run) -> list[Finding]:
    """Find for each benchmark the largest significant loss of unaligned transfers against smaller aligned ones."""
    return [_finding(run, loss) for loss in most_lost(_beside_aligned(run), AT_LEAST)]


def _beside_aligned(run: Run) -> Iterator[tuple[Summary, Summary]]:
    """Yield each case of unaligned transfers with the case of the next smaller aligned transfers."""
    for cases in by_size(run):
        for size, case in cases.items():
            smaller = [other for other in cases if other < size and other % BLOCK_BYTES == 0]
            if size % BLOCK_BYTES and smaller:
                yield case, cases[max(smaller)]


def _finding(run: Run, loss: FileLoss) -> Finding:
    return Finding(
        code="unaligned-transfers",
        severity="advice",
        title=(
            f"{loss.slow.label}: transfers of {size_of(loss.slow)} B, not a multiple of {BLOCK_BYTES} B, reach "
            f"{written(loss.slow)}; transfers of {units.size(size_of(loss.fast))} reach {written(loss.fast)}"
        ),
        where={**where(loss.slow), "transfer_bytes": size_of(loss.slow)},
        evidence=[*run.evidence(loss.slow, loss.fast), Evidence(what="page", value=BLOCK_BYTES, unit="B")],
        advice=(
            "Align records to blocks of the file system: pad them, or gather records to a multiple of "
            f"{BLOCK_BYTES} B."
        ),
        lost=loss.lost,
    )
