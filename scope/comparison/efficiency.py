"""What share of its peak each benchmark of two runs reaches, side by side (PARAM 10000, figure 12).

Peaks are measured too, in the same run: what the processors multiply at, what memory streams at, what a path
between two processes can carry. A run that has no peak for a benchmark has no efficiency of it, and says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from scope import units
from scope.errors import UsageError
from scope.models.fit import Ladder, Models, Rung
from scope.plan.place import split
from scope.rundirectory import FORMAT, RunDirectory, read_json
from scope.statistics.summary import Summaries, Summary
from scope.strict import Strict

Kind = Literal["arithmetic", "memory", "messages"]
DEFINITIONS: dict[Kind, str] = {
    "arithmetic": (
        "floating point rate over the number of processes times the fastest node.matrix_multiply of one process in"
        " the same precision and run (node.peak where there is none); of NAS kernels the operations that the suite"
        " counts"
    ),
    "memory": "bandwidth over the fastest node.stream on as many processes, arrays as large or larger",
    "messages": "bandwidth over the limit of the path's ladder: the wire, or a memory copy inside a host",
}
PEAKS = ("node.matrix_multiply", "node.peak")
NOT_FLOATING = ("application.npb_ep", "application.npb_is")
"""They count random numbers and keys."""
STREAM = "node.stream"


class Efficiency(Strict):
    """The best that one run has of a benchmark."""

    case: str
    """Which of its cases was the best."""
    way: str
    """The transport or the path of the messages."""
    share: float
    low: float | None
    high: float | None
    """Of its interval: the rate's over the peak's."""
    rate: float
    peak: float
    unit: str
    peak_is: str
    """What the peak was taken from."""


class EfficiencyRow(Strict):
    """A benchmark in both runs."""

    kind: Kind
    name: str
    """The benchmark, or the layer of a ladder with its message size."""
    ranks: int
    a: Efficiency | None
    b: Efficiency | None

    @property
    def label(self) -> str:
        """The row as people read it; the way is told where both went it and it is not the usual one."""
        ways = {one.way for one in (self.a, self.b) if one is not None} - {"default"}
        ranks = [] if self.kind == "messages" else [f"{self.ranks} rank{'s' if self.ranks != 1 else ''}"]
        return ", ".join([self.name, *ranks, *(ways if len(ways) == 1 and not self.two_ways else [])])

    @property
    def two_ways(self) -> bool:
        """Whether the runs went different ways: two networks."""
        return self.a is not None and self.b is not None and self.a.way != self.b.way


class Efficiencies(Strict):
    """Everything that `scope compare --efficiency` tells."""

    format: int
    a: str
    b: str
    definitions: dict[Kind, str]
    rows: list[EfficiencyRow]
    without_peak: list[str]
    """Benchmarks of either run whose peak is not known, with what to measure."""


@dataclass(frozen=True)
class _Found:
    kind: Kind
    name: str
    ranks: int
    efficiency: Efficiency

    @property
    def row(self) -> tuple[Kind, str, int]:
        return self.kind, self.name, self.ranks


def efficiencies(a: Path, b: Path) -> Efficiencies:
    """Return the efficiency of every benchmark of two runs; UsageError when a file is missing or wrong."""
    lacking: list[str] = []
    left, right = _best(_run(a, "A", lacking)), _best(_run(b, "B", lacking))
    order: list[Kind] = ["arithmetic", "memory", "messages"]
    keys = sorted({*left, *right}, key=lambda key: (order.index(key[0]), key[1:]))
    rows = [
        EfficiencyRow(kind=key[0], name=key[1], ranks=key[2], a=one, b=other)
        for key in keys
        for one, other in _paired(left.get(key, {}), right.get(key, {}))
    ]
    return Efficiencies(
        format=FORMAT,
        a=str(a),
        b=str(b),
        definitions={kind: DEFINITIONS[kind] for kind in order if any(row.kind == kind for row in rows)},
        rows=rows,
        without_peak=list(dict.fromkeys(lacking)),
    )


Best = dict[tuple[Kind, str, int], dict[str, Efficiency]]
"""By row, then by way."""


def _best(found: Iterator[_Found]) -> Best:
    best: Best = defaultdict(dict)
    for one in found:
        ways = best[one.row]
        known = ways.get(one.efficiency.way)
        if known is None or one.efficiency.share > known.share:
            ways[one.efficiency.way] = one.efficiency
    return best


def _paired(
    left: dict[str, Efficiency], right: dict[str, Efficiency]
) -> Iterator[tuple[Efficiency | None, Efficiency | None]]:
    """Pair what went the same way; one way on either side are two networks of one program."""
    if len(left) == len(right) == 1:
        yield next(iter(left.values())), next(iter(right.values()))
        return
    for way in dict.fromkeys([*left, *right]):
        yield left.get(way), right.get(way)


def _run(path: Path, side: str, lacking: list[str]) -> Iterator[_Found]:
    directory = RunDirectory(path)
    if not directory.statistics.is_file():
        raise UsageError(f"{directory.statistics}: does not exist; `scope analyze {path}` derives it")
    summaries = [
        s for s in read_json(directory.statistics, Summaries).summaries if s.primary and s.valid and s.median
    ]
    yield from _arithmetic(summaries, side, lacking)
    yield from _memory(summaries, side, lacking)
    if directory.models.is_file():
        for ladder in read_json(directory.models, Models).ladders:
            yield from _messages(ladder)


def _arithmetic(summaries: list[Summary], side: str, lacking: list[str]) -> Iterator[_Found]:
    for s in summaries:
        if s.metric == "flops_per_s":
            factor = 1.0
        elif s.metric == "mops_per_s" and s.benchmark not in NOT_FLOATING:
            factor = 1e6
        else:
            continue
        if s.benchmark in (STREAM, *PEAKS[1:]):
            continue
        precision = s.parameters.get("precision", "double")
        peak = _flops_peak(summaries, precision, s)
        if peak is None:
            wanted = "node.peak" if s.benchmark == PEAKS[0] else PEAKS[0]
            lacking.append(f"{s.benchmark} in {side}: no {wanted} precision={precision} on one process")
            continue
        yield _found("arithmetic", s, peak, s.ranks, factor)


def _flops_peak(summaries: list[Summary], precision: object, of: Summary) -> Summary | None:
    """Return the fastest product of one process; a product itself is held against what the processor can do."""
    for benchmark in PEAKS[1:] if of.benchmark == PEAKS[0] else PEAKS:
        rates = [
            s
            for s in summaries
            if (s.benchmark, s.metric, s.ranks) == (benchmark, "flops_per_s", 1)
            and s.parameters.get("precision", "double") == precision
            and _alike(s, of)
        ]
        if rates:
            return max(rates, key=_median)
    return None


def _memory(summaries: list[Summary], side: str, lacking: list[str]) -> Iterator[_Found]:
    streams = [s for s in summaries if (s.benchmark, s.metric) == (STREAM, "bandwidth_bytes_per_s")]
    computing = {s.benchmark for s in summaries if s.metric == "flops_per_s"}
    copies = [
        s
        for s in summaries
        if s.metric == "bandwidth_bytes_per_s" and "array_bytes" in s.parameters and s.benchmark not in computing
    ]
    largest: dict[tuple[str, int], int] = defaultdict(int)
    for s in copies:
        largest[s.benchmark, s.ranks] = max(largest[s.benchmark, s.ranks], _array(s))
    for s in copies:
        if _array(s) < largest[s.benchmark, s.ranks]:
            continue
        peaks = [p for p in streams if p.ranks == s.ranks and _array(p) >= _array(s) and _alike(p, s)]
        if peaks:
            yield _found("memory", s, max(peaks, key=_median), 1, 1.0)
        else:
            words = f"no {STREAM} with arrays of {_array(s)} B on {s.ranks} processes"
            lacking.append(f"{s.benchmark} in {side}: {words}")


def _messages(ladder: Ladder) -> Iterator[_Found]:
    if ladder.quantity != "bandwidth_bytes_per_s" or not ladder.rungs or ladder.rungs[0].value is None:
        return
    limit = ladder.rungs[0]
    for rung in ladder.rungs[1:]:
        if rung.layer in ("frames", "network", "mpi", "operation") and rung.value is not None:
            size = f", {ladder.exchange} of {units.size(ladder.message_bytes or 0)}" if ladder.exchange else ""
            yield _Found("messages", f"{rung.layer}{size}", 2, _of_rung(rung, limit, ladder.path))


def _of_rung(rung: Rung, limit: Rung, path: str) -> Efficiency:
    assert rung.value is not None
    assert limit.value is not None
    return Efficiency(
        case=rung.name,
        way=path,
        share=rung.value / limit.value,
        low=_over(rung.low, limit.high or limit.value),
        high=_over(rung.high, limit.low or limit.value),
        rate=rung.value,
        peak=limit.value,
        unit=rung.unit,
        peak_is=limit.name,
    )


def _found(kind: Kind, s: Summary, peak: Summary, times: int, factor: float) -> _Found:
    """Hold a case against so many times a peak; `factor` turns its unit into that of the peak."""
    rate, one = _median(s) * factor, _median(peak)
    low, high = (None if bound is None else bound * factor for bound in (s.ci_low, s.ci_high))
    efficiency = Efficiency(
        case=s.label,
        way=s.transport,
        share=rate / (times * one),
        low=_over(low, times * (peak.ci_high or one)),
        high=_over(high, times * (peak.ci_low or one)),
        rate=rate,
        peak=times * one,
        unit=peak.unit,
        peak_is=f"{times} × {peak.label}" if times > 1 else peak.label,
    )
    return _Found(kind, s.benchmark, s.ranks, efficiency)


def _over(value: float | None, peak: float) -> float | None:
    return None if value is None else value / peak


def _alike(peak: Summary, of: Summary) -> bool:
    """Say whether both ran on the same type of node, or one of them on all."""
    groups = {split(peak.placement)[1], split(of.placement)[1]}
    return len(groups - {"all"}) < 2


def _median(summary: Summary) -> float:
    return summary.median or 0.0


def _array(summary: Summary) -> int:
    return int(summary.parameters["array_bytes"])
