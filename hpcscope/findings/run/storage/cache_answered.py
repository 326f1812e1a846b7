"""The page cache answered instead of the storage, as Melas 2000, appendix E.5, warns."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import written
from hpcscope.findings.run.storage.file_cases import FileLoss, most_lost, pairs, rates, where, writes
from hpcscope.statistics.summary import Summary

CAUSE = "page cache"
RESIDENT = "resident_share"
TOLERATED = 0.05
"""Fraction of a file that may stay in memory when the storage is to be measured."""
KEPT = ("cached", "other_rank")
"""Values of `cache` under which a file may be in memory."""
UNFLUSHED_GAIN = 1 / 3
"""Writes that lose more than a third of their rate when they are flushed were writes to memory."""


def find(run: Run) -> list[Finding]:
    """Find reads of files that were in memory, and writes that ended in memory."""
    resident = {case.key: case for case in rates(run, RESIDENT)}
    reads = [
        (case, resident[case.key])
        for case in rates(run)
        if not writes(run, case) and case.key in resident and (resident[case.key].median or 0.0) > TOLERATED
    ]
    asked = [read for read in reads if read[0].parameters.get("cache") in KEPT]
    unasked = [read for read in reads if read not in asked]
    unflushed = most_lost(pairs(run, "sync", "fsync", "none"), UNFLUSHED_GAIN)
    return [
        *([_read(run, *max(asked, key=_rate), asked=True)] if asked else []),
        *([_read(run, *max(unasked, key=_rate), asked=False)] if unasked else []),
        *(_written(run, loss) for loss in unflushed),
    ]


def _rate(each: tuple[Summary, Summary]) -> float:
    return each[0].median or 0.0


def _read(run: Run, rate: Summary, resident: Summary, asked: bool) -> Finding:
    advice = (
        "To measure the storage, use `cache=dropped` or `cache=direct`, or files larger than the memory of all "
        "hosts."
        if asked
        else "The file system keeps files in memory although it was asked to drop them: use files larger than "
        "the memory of all hosts, or `cache=direct`."
    )
    share = units.share(resident.median or 0.0)
    return Finding(
        code="cache-answered",
        cause=CAUSE,
        severity="information" if asked else "warning",
        about="cluster" if asked else "measurement",
        title=f"{rate.label}: {written(rate)} are not the storage's rate: the page cache held {share} of the file",
        where=where(rate),
        evidence=[
            *run.evidence(rate),
            Evidence(what="fraction of the file in memory", value=resident.median or 0.0),
        ],
        advice=advice,
    )


def _written(run: Run, loss: FileLoss) -> Finding:
    flushed, buffered = loss.slow, loss.fast
    return Finding(
        code="cache-answered",
        cause=CAUSE,
        severity="information",
        title=(
            f"{buffered.label}: {written(buffered)} without a flush, {written(flushed)} with a flush: the data "
            "ended up in memory"
        ),
        where=where(buffered),
        evidence=run.evidence(buffered, flushed),
        advice=(
            "To compare storage, write with `sync=fsync`. A program that needs its data after a crash must flush."
        ),
    )
