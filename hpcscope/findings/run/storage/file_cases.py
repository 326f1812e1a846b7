"""The cases of a run that access files, and pairs of them that differ in one choice."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hpcscope.catalog.benchmark import Pattern
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import but_for, certainly_longer, largest_of_each
from hpcscope.statistics.estimate import in_percent
from hpcscope.statistics.ratio import Ratio, ratio
from hpcscope.statistics.summary import Summary

WRITE: Pattern = "file_write"
LEVEL = "storage"
RATE = "bandwidth_bytes_per_s"


@dataclass(frozen=True)
class FileLoss:
    """A case that is certainly slower than another one."""

    slow: Summary
    fast: Summary
    share: Ratio
    """What the slow one has of the rate of the fast one."""

    @property
    def lost(self) -> float:
        """The share of the fast one's rate that is lost."""
        return 1 - self.share.value

    @property
    def kept(self) -> str:
        """The share in words: `44 % [43, 46]`."""
        return in_percent(self.share)


def rates(run: Run, metric: str = RATE) -> list[Summary]:
    """Return a rate of every case that accesses files of a file system; metadata has rates of its own."""
    names = {benchmark.name for benchmark in run.benchmarks if benchmark.level == LEVEL}
    return [case for case in run.headlines if case.benchmark in names and case.metric == metric and case.median]


def writes(run: Run, case: Summary) -> bool:
    """Return whether a case writes, by the rungs that its benchmark declares; others read."""
    return any(rung.pattern == WRITE for rung in run.benchmark(case).rungs)


def groups(run: Run, parameter: str, metric: str = RATE) -> Iterator[dict[object, Summary]]:
    """Yield the cases that are equal but for one parameter, by its value: at least two of them."""
    found: dict[object, dict[object, Summary]] = defaultdict(dict)
    for case in rates(run, metric):
        if parameter in case.parameters:
            found[but_for(case, parameter)][case.parameters[parameter]] = case
    yield from (group for group in found.values() if len(group) > 1)


def pairs(run: Run, parameter: str, one: str, other: str, metric: str = RATE) -> Iterator[tuple[Summary, Summary]]:
    """Yield the cases that are equal but for one parameter with these two values."""
    for group in groups(run, parameter, metric):
        if one in group and other in group:
            yield group[one], group[other]


def certainly_slower(case: Summary, other: Summary, at_least: float) -> Ratio | None:
    """Return what one rate is of another, where it certainly lacks more than a share of it; else None."""
    # Of rates the greater one is what of times is the longer one.
    if not certainly_longer(other, case, at_least / (1 - at_least)):
        return None
    return ratio(case.per_launch, other.per_launch)


def most_lost(candidates: Iterable[tuple[Summary, Summary]], at_least: float) -> list[FileLoss]:
    """Return for each benchmark the first case of a pair that certainly lacks most of the second one's rate."""
    losses = (
        FileLoss(slow, fast, share)
        for slow, fast in candidates
        if (share := certainly_slower(slow, fast, at_least)) is not None
    )
    return largest_of_each(losses, lambda loss: loss.slow.benchmark, lambda loss: loss.lost)


def where(case: Summary) -> dict[str, str | int | float]:
    """Return the place of a finding about a case."""
    return {"benchmark": case.benchmark, "ranks": case.ranks, "transport": case.transport}
