"""Timeline of a run: launches, cases and sentinels in Chrome's Trace Event Format.

Perfetto and chrome://tracing open it. The time of day of single repetitions is not recorded; their number is
shown with the visit to the case.
Times of day are recorded to the millisecond; an event that seems to overlap the next one is cut at its start.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from hpcscope.exchange.exports import hosts
from hpcscope.findings.results import Run
from hpcscope.samples.records import LaunchRecord, SentinelRecord
from hpcscope.samples.samples import CaseSamples, Samples

Event = dict[str, Any]
Attempt = tuple[int, int]
"""The number of a launch, and the number of the attempt to run it."""
LAUNCHES, CASES = "launches", "cases"


@dataclass(frozen=True)
class _Span:
    """An event with a duration."""

    track: tuple[str, int]
    """`launches` or `cases`, and the row among launches that ran at the same time."""
    name: str
    category: str
    begin_s: float
    end_s: float
    about: dict[str, Any]


def write(runs: Sequence[Run]) -> str:
    """Return the events of all runs; each run is a process whose time starts with the run. Times are in µs."""
    events: list[Event] = []
    about = []
    for number, run in enumerate(runs, start=1):
        events += _events(number, run)
        about.append({"run": run.record.name, "started_unix_s": run.record.started_unix_s, "hosts": hosts(run)})
    document = {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"runs": about}}
    return json.dumps(document, allow_nan=False) + "\n"


def _events(process: int, run: Run) -> Iterator[Event]:
    start_s = run.record.started_unix_s
    yield {"ph": "M", "pid": process, "name": "process_name", "args": {"name": run.record.name}}
    tracks: dict[tuple[str, int], list[_Span]] = defaultdict(list)
    for span in _spans(run):
        tracks[span.track].append(span)
    for thread, track in enumerate(sorted(tracks, key=lambda one: (one[1], one[0] == CASES)), start=1):
        kind, row = track
        name = f"{kind} {row + 1}" if row else kind
        where = {"pid": process, "tid": thread}
        yield {"ph": "M", **where, "name": "thread_name", "args": {"name": name}}
        yield {"ph": "M", **where, "name": "thread_sort_index", "args": {"sort_index": thread}}
        for span, end_s in _one_after_another(tracks[track]):
            begin_us = _us(span.begin_s - start_s)
            yield {
                **{"ph": "X", **where, "name": span.name, "cat": span.category},
                **{"ts": begin_us, "dur": _us(end_s - start_s) - begin_us, "args": span.about},
            }
    for sentinel in run.raw_samples.sentinels:
        yield from _counters(process, sentinel, start_s)


def _one_after_another(spans: Iterable[_Span]) -> Iterator[tuple[_Span, float]]:
    """Yield the spans of a track with their ends, none later than the start of the next span."""
    ordered = sorted(spans, key=lambda one: (one.begin_s, one.end_s))
    for span, following in zip(ordered, [*ordered[1:], None], strict=True):
        yield span, span.end_s if following is None else min(span.end_s, following.begin_s)


def _spans(run: Run) -> Iterator[_Span]:
    chosen = {summary.samples_key for summary in run.statistics}
    samples = run.raw_samples
    cases = [case for case in _all(samples) if case.key in chosen]
    ends_s = _ends_s(samples)
    rows = _rows(samples.launches, ends_s)
    ended = {(end.launch, end.attempt) for end in samples.ends}
    for record in samples.launches:
        attempt = record.launch, record.attempt
        yield _launch(record, rows[record.launch], ends_s[attempt], attempt in ended)
    for case_samples in cases:
        yield _visit(case_samples, rows.get(case_samples.launch, 0))
    for sentinel in samples.sentinels:
        begin_s = sentinel.started_unix_s
        track = CASES, rows.get(sentinel.launch, 0)
        yield _Span(track, "sentinel", "sentinel", begin_s, begin_s + sentinel.duration_s, {})


def _ends_s(samples: Samples) -> dict[Attempt, float]:
    """Return the end of each attempt: its recorded end or the end of its last visit, whichever is later."""
    durations_s = {(end.launch, end.attempt): end.duration_s for end in samples.ends}
    ends_s = {
        (record.launch, record.attempt): record.started_unix_s
        + durations_s.get((record.launch, record.attempt), 0.0)
        for record in samples.launches
    }
    for case in _all(samples):
        last_s = case.started_unix_s + case.duration_s
        ends_s[case.launch, case.attempt] = max(ends_s.get((case.launch, case.attempt), 0.0), last_s)
    return ends_s


def _all(samples: Samples) -> list[CaseSamples]:
    """Return the cases, and the failed visits that were repeated."""
    seen = {(case.launch, case.attempt, case.started_unix_s) for case in samples.cases}
    failures = (case for case in samples.failures if (case.launch, case.attempt, case.started_unix_s) not in seen)
    return [*samples.cases, *failures]


def _rows(launches: Sequence[LaunchRecord], ends_s: dict[Attempt, float]) -> dict[int, int]:
    """Return the row of each launch: 0, unless launches on other hosts ran at the same time."""
    rows: dict[int, int] = {}
    free_s: list[float] = []
    for record in sorted(launches, key=lambda launch_record: launch_record.started_unix_s):
        row = rows.get(record.launch)
        if row is None:
            row = next((at for at, time_s in enumerate(free_s) if time_s <= record.started_unix_s), len(free_s))
            rows[record.launch] = row
            free_s += [0.0] * (row + 1 - len(free_s))
        free_s[row] = max(free_s[row], ends_s[record.launch, record.attempt])
    return rows


def _launch(record: LaunchRecord, row: int, end_s: float, ended: bool) -> _Span:
    about = {
        **{"ranks": record.ranks, "transport": record.transport, "placement": str(record.placement)},
        **{"hosts": sorted({process.host for process in record.processes}), "library": record.library},
        **{"origin": record.origin, "came to its end": ended},
    }
    again = f", attempt {record.attempt}" if record.attempt > 1 else ""
    name = f"launch {record.launch}{again}"
    return _Span((LAUNCHES, row), name, "launch", record.started_unix_s, end_s, about)


def _visit(samples: CaseSamples, row: int) -> _Span:
    about: dict[str, Any] = {
        **{"benchmark": samples.case.benchmark, **samples.case.parameters, "ranks": samples.case.ranks},
        **{name: getattr(samples, name) for name in ("launch", "status", "reason", "origin")},
    }
    for times in samples.times:
        about[f"{times.cadence} repetitions"] = int(np.count_nonzero(times.counted))
        about[f"{times.cadence} warm-up"] = int(np.count_nonzero(times.warmup))
    if samples.disturbances is not None:
        about["involuntary switches"] = samples.disturbances.involuntary_switches.sum
        about["steal_s"] = samples.disturbances.steal_s
    end_s = samples.started_unix_s + samples.duration_s
    return _Span((CASES, row), samples.case.label, samples.case.benchmark, samples.started_unix_s, end_s, about)


def _counters(process: int, sentinel: SentinelRecord, start_s: float) -> Iterator[Event]:
    """Yield the times of the sentinel in µs: the median over the recorded ranks, and the slowest of them."""
    ts = _us(sentinel.started_unix_s - start_s)
    for name, times_s in (
        ("arithmetic", sentinel.arithmetic_s),
        ("throughput", sentinel.throughput_s),
        ("memory", sentinel.memory_s),
        ("memory bandwidth", sentinel.bandwidth_s),
    ):
        if times_s:
            values = {"median": median(times_s) * 1e6, "slowest rank": max(times_s) * 1e6}
            yield {"ph": "C", "pid": process, "name": f"sentinel, {name}, µs", "ts": ts, "args": values}
    if sentinel.ping_pong_s is not None:
        values = {"rank 0": sentinel.ping_pong_s * 1e6}
        yield {"ph": "C", "pid": process, "name": "sentinel, ping-pong, µs", "ts": ts, "args": values}


def _us(seconds: float) -> int:
    """Return whole microseconds, which every reader of the format keeps exact."""
    return round(seconds * 1e6)
