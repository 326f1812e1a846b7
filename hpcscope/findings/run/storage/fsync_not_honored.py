"""A flush costs nothing: the data are not on the storage when fsync returns."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import written
from hpcscope.findings.run.storage.file_cases import pairs, rates, where, writes
from hpcscope.statistics.ratio import ratio

SYNC = "sync_s"
FREE = 0.9
"""A write that keeps more than this fraction of its unflushed rate with a flush was not flushed."""
SHARE_OF_TIME = 0.01
"""A flush that takes less than this fraction of the time has written nothing."""


def find(run: Run) -> Found:
    """Find the largest flushed write that, at 95 % confidence, took no longer than without a flush."""
    flushes = {case.key: case for case in rates(run, SYNC)}
    found = []
    for flushed, buffered in pairs(run, "sync", "fsync", "none"):
        flush = flushes.get(flushed.key)
        if flush is None or not writes(run, flushed) or flushed.parameters.get("cache") == "direct":
            continue
        kept = ratio(flushed.per_launch, buffered.per_launch)
        seconds = (flushed.work.bytes if flushed.work else 0.0) / (flushed.median or 1.0)
        if (kept.low or 0.0) > FREE and (flush.median or 0.0) < SHARE_OF_TIME * seconds:
            found.append((flushed, buffered, flush))
    if not found:
        return
    flushed, buffered, flush = max(found, key=lambda each: each[0].work.bytes if each[0].work else 0.0)
    yield Finding(
        code="fsync-not-honored",
        severity="warning",
        title=(
            f"{flushed.label}: a flush takes {units.quantity(flush.median, 's')}; {written(flushed)} with a "
            f"flush, {written(buffered)} without"
        ),
        where=where(flushed),
        evidence=[
            *run.evidence(flushed, buffered),
            Evidence(what="time of the flush", value=flush.median or 0.0, unit="s"),
        ],
        advice=(
            "The file system is in memory, ignores fsync (an option such as nobarrier, sync=disabled or "
            "libeatmydata), or has a cache that survives a power failure. Find out which is the case. If "
            "fsync is ignored, write rates describe the cache."
        ),
    )
