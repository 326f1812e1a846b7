"""The fraction of its peak that each benchmark of several runs reaches, side by side (PARAM 10000, figure 12).

The peaks are measured in the same run: benchmarks declare which of them are the limit of arithmetic or of memory,
and the ladders have the limit of each path between two ranks. If a run has no peak for a benchmark, its efficiency
is unknown and the result names what to measure.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from hpcscope import units
from hpcscope.catalog.benchmark import Pattern
from hpcscope.catalog.catalog import LIMIT, Catalog
from hpcscope.comparison.letters import letter
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import largest_of_each
from hpcscope.models.ladder.rung import Ladder, LadderRung
from hpcscope.models.measurements import benchmarks_of
from hpcscope.plan.placement import ALL
from hpcscope.rundirectory import FORMAT
from hpcscope.statistics.ratio import PerLaunch, ratio
from hpcscope.statistics.summary import Summary
from hpcscope.strict import Strict

Kind = Literal["arithmetic", "memory", "messages"]
DEFINITIONS: dict[Kind, str] = {
    "arithmetic": (
        "floating-point rate / (number of ranks × measured limit of one rank). The limit is the "
        "fastest matrix product of the same run in the same precision, or the peak if no product was measured. "
        "NAS kernels use the suite's operation count"
    ),
    "memory": "bandwidth / highest STREAM bandwidth of the same number of ranks, with arrays at least as large",
    "messages": "bandwidth / limit of the path: the wire, or one memory copy inside a host",
}
OPERATIONS = {"flop/s": 1.0, "Mop/s": 1e6}
"""Operations per second in the units of arithmetic rates."""
PRECISION, DOUBLE = "precision", "double"
"""The parameter that limits and other benchmarks must have in common, and the precision without it."""
MESSAGE_LAYERS = ("frames", "network", "mpi", "operation")


class Efficiency(Strict):
    """The best efficiency of a benchmark in one run."""

    case: str
    """Label of the benchmark's best case."""
    way: str
    """The transport or the path of the messages."""
    share: float
    low: float | None
    high: float | None
    """The interval of the rate over the peak."""
    rate: float
    peak: float
    unit: str
    peak_is: str
    """Label of the peak."""


class EfficiencyRow(Strict):
    """A benchmark in all runs."""

    kind: Kind
    name: str
    """The benchmark, or the layer of a ladder with its message size."""
    ranks: int
    runs: list[Efficiency | None]
    """In the order of the runs; None if a run lacks the benchmark or its peak."""

    @property
    def known(self) -> list[Efficiency]:
        """The efficiencies of the runs that have one."""
        return [efficiency for efficiency in self.runs if efficiency is not None]

    @property
    def label(self) -> str:
        """The row in words; a transport other than the default is named if all runs used it."""
        ways = {efficiency.way for efficiency in self.known}
        ranks = [] if self.kind == "messages" else [f"{self.ranks} rank{'s' if self.ranks != 1 else ''}"]
        return ", ".join([self.name, *ranks, *(ways - {"default"} if len(ways) == 1 else [])])


class Efficiencies(Strict):
    """The result of `scope compare --efficiency`."""

    format: int
    runs: list[str]
    definitions: dict[Kind, str]
    rows: list[EfficiencyRow]
    without_peak: list[str]
    """Benchmarks of any run whose peak is unknown, with what to measure."""


RowKey = tuple[Kind, str, int]
"""Kind, name and ranks of a row."""
Found = Iterator[tuple[RowKey, Efficiency]]


def efficiencies(runs: Sequence[Path]) -> Efficiencies:
    """Return the efficiency of every benchmark of some runs; raises UsageError if a file is missing or wrong."""
    lacking: list[str] = []
    best = [_best(_run(path, letter(number), lacking)) for number, path in enumerate(runs)]
    order: list[Kind] = ["arithmetic", "memory", "messages"]
    keys = sorted({key for rates in best for key in rates}, key=lambda key: (order.index(key[0]), key[1:]))
    rows = [
        EfficiencyRow(kind=kind, name=name, ranks=ranks, runs=row)
        for kind, name, ranks in keys
        for row in _by_way([rates.get((kind, name, ranks), {}) for rates in best])
    ]
    return Efficiencies(
        format=FORMAT,
        runs=list(map(str, runs)),
        definitions={kind: DEFINITIONS[kind] for kind in order if any(row.kind == kind for row in rows)},
        rows=rows,
        without_peak=list(dict.fromkeys(lacking)),
    )


Best = dict[RowKey, dict[str, Efficiency]]
"""By row, then by transport or path."""


def _best(found: Found) -> Best:
    best: Best = defaultdict(dict)
    for row, efficiency in found:
        known = best[row].setdefault(efficiency.way, efficiency)
        if efficiency.share > known.share:
            best[row][efficiency.way] = efficiency
    return best


def _by_way(runs: list[dict[str, Efficiency]]) -> Iterator[list[Efficiency | None]]:
    """Yield a row for each transport; if no run has more than one, all are compared as networks in one row."""
    if all(len(ways) <= 1 for ways in runs):
        yield [next(iter(ways.values()), None) for ways in runs]
        return
    for way in dict.fromkeys(way for ways in runs for way in ways):
        yield [ways.get(way) for ways in runs]


def _run(path: Path, side: str, lacking: list[str]) -> Found:
    run = Run(path)
    summaries = [summary for summary in run.headlines if summary.median]
    yield from _arithmetic(summaries, run.benchmarks, side, lacking)
    yield from _memory(summaries, run.benchmarks, side, lacking)
    if run.directory.models.is_file():
        for ladder in run.models.ladders:
            yield from _messages(ladder)


def _standing(pattern: Pattern, limits: bool, summaries: list[Summary], catalog: Catalog) -> Iterator[Summary]:
    """Yield the results on the limits of a pattern, or on its other rungs."""
    for place in catalog.standing(pattern):
        if (place.rung.layer == LIMIT) is limits:
            for summary in summaries:
                if (
                    summary.benchmark == place.benchmark.name
                    and place.shows(summary.metric)
                    and place.holds(summary.parameters)
                ):
                    yield summary


def _arithmetic(summaries: list[Summary], catalog: Catalog, side: str, lacking: list[str]) -> Found:
    limits = [case for case in _standing("arithmetic", True, summaries, catalog) if case.ranks == 1]
    for summary in _standing("arithmetic", False, summaries, catalog):
        precision = _precision(summary, catalog)
        peak = _arithmetic_peak([case for case in limits if _precision(case, catalog) == precision], summary)
        if peak is None:
            places = catalog.standing("arithmetic", LIMIT)
            wanted = benchmarks_of(place for place in places if place.benchmark.name != summary.benchmark)
            lacking.append(
                f"{summary.benchmark} in {side}: {wanted} was not measured in {precision} precision on one rank"
            )
        else:
            yield _found("arithmetic", summary, peak, summary.ranks)


def _precision(case: Summary, catalog: Catalog) -> str:
    declared = catalog.defaults(case.benchmark)
    return str(case.parameters.get(PRECISION, declared.get(PRECISION, DOUBLE)))


def _arithmetic_peak(limits: list[Summary], of: Summary) -> Summary | None:
    """Return the fastest case of the tightest limit other than the benchmark itself."""
    others = (case for case in limits if case.benchmark != of.benchmark and _same_nodes(case, of))
    fastest = largest_of_each(others, lambda case: case.benchmark, lambda case: case.estimate.value)
    return min(fastest, key=lambda case: case.estimate.value, default=None)


def _memory(summaries: list[Summary], catalog: Catalog, side: str, lacking: list[str]) -> Found:
    def size(case: Summary) -> int:
        return catalog.array_bytes(case.benchmark, case.parameters)

    limits = list(_standing("memory", True, summaries, catalog))
    held = list(_standing("memory", False, summaries, catalog))
    largest: dict[tuple[str, int], int] = defaultdict(int)
    for summary in held:
        largest[summary.benchmark, summary.ranks] = max(largest[summary.benchmark, summary.ranks], size(summary))
    for summary in held:
        # Smaller arrays may stay in a cache.
        if size(summary) < largest[summary.benchmark, summary.ranks]:
            continue
        peaks = [
            case
            for case in limits
            if case.ranks == summary.ranks and size(case) >= size(summary) and _same_nodes(case, summary)
        ]
        if peaks:
            peak = max(peaks, key=lambda each: each.estimate.value)
            yield _found("memory", summary, peak, 1)
        else:
            wanted = " or ".join(place.benchmark.name for place in catalog.standing("memory", LIMIT))
            words = f"no {wanted} with arrays of at least {units.size(size(summary))} on {summary.ranks} ranks"
            lacking.append(f"{summary.benchmark} in {side}: {words}")


def _messages(ladder: Ladder) -> Found:
    if ladder.quantity != "bandwidth_bytes_per_s" or not ladder.rungs or ladder.rungs[0].value is None:
        return
    limit = ladder.rungs[0]
    for rung in ladder.rungs[1:]:
        if rung.layer in MESSAGE_LAYERS and rung.value is not None:
            size = f", {ladder.exchange} of {units.size(ladder.message_bytes or 0)}" if ladder.exchange else ""
            yield ("messages", f"{rung.layer}{size}", 2), _of_rung(rung, limit, ladder.path)


def _of_rung(rung: LadderRung, limit: LadderRung, path: str) -> Efficiency:
    assert rung.value is not None
    assert limit.value is not None
    return Efficiency(
        case=rung.name,
        way=path,
        share=rung.value / limit.value if rung.of_limit is None else rung.of_limit,
        low=_over(rung.low, limit.high or limit.value),
        high=_over(rung.high, limit.low or limit.value),
        rate=rung.value,
        peak=limit.value,
        unit=rung.unit,
        peak_is=limit.name,
    )


def _found(kind: Kind, summary: Summary, peak: Summary, times: int) -> tuple[RowKey, Efficiency]:
    """Return a case's fraction of `times` times a peak."""
    rate, limit = _operations(summary), _operations(peak).scaled(times)
    share = ratio(rate, limit)
    efficiency = Efficiency(
        case=summary.label,
        way=summary.transport,
        share=share.value,
        low=share.low,
        high=share.high,
        rate=rate.estimate.value,
        peak=limit.estimate.value,
        unit=peak.unit,
        peak_is=f"{times} × {peak.label}" if times > 1 else peak.label,
    )
    return (kind, summary.benchmark, summary.ranks), efficiency


def _operations(case: Summary) -> PerLaunch:
    return case.per_launch.scaled(OPERATIONS.get(case.unit, 1.0))


def _over(value: float | None, peak: float) -> float | None:
    return None if value is None else value / peak


def _same_nodes(peak: Summary, of: Summary) -> bool:
    """Return whether both ran on the same type of node, or one of them on all types."""
    return ALL in (peak.placement.group, of.placement.group) or peak.placement.group == of.placement.group
