"""The cases of a run that access files, and pairs of cases that differ in one choice."""

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
    """A case that is significantly slower than another one."""

    slow: Summary
    fast: Summary
    share: Ratio
    """Rate of the slow case as a fraction of the fast case's rate."""

    @property
    def lost(self) -> float:
        """The fraction of the fast case's rate that is lost."""
        return 1 - self.share.value

    @property
    def kept(self) -> str:
        """The fraction that is left, in words: `44 % [43, 46]`."""
        return in_percent(self.share)


def rates(run: Run, metric: str = RATE) -> list[Summary]:
    """Return one rate of every case that accesses files in a file system; metadata cases have other metrics."""
    names = {benchmark.name for benchmark in run.benchmarks if benchmark.level == LEVEL}
    return [case for case in run.headlines if case.benchmark in names and case.metric == metric and case.median]


def writes(run: Run, case: Summary) -> bool:
    """Return whether a case writes, according to the rungs that its benchmark declares; other cases read."""
    return any(rung.pattern == WRITE for rung in run.benchmark(case).rungs)


def groups(run: Run, parameter: str, metric: str = RATE) -> Iterator[dict[object, Summary]]:
    """Yield groups of at least two cases that differ only in one parameter, by its value."""
    found: dict[object, dict[object, Summary]] = defaultdict(dict)
    for case in rates(run, metric):
        if parameter in case.parameters:
            found[but_for(case, parameter)][case.parameters[parameter]] = case
    yield from (group for group in found.values() if len(group) > 1)


def pairs(run: Run, parameter: str, one: str, other: str, metric: str = RATE) -> Iterator[tuple[Summary, Summary]]:
    """Yield pairs of cases that differ only in one parameter, which has these two values."""
    for group in groups(run, parameter, metric):
        if one in group and other in group:
            yield group[one], group[other]


def most_lost(candidates: Iterable[tuple[Summary, Summary]], at_least: float) -> list[FileLoss]:
    """Return for each benchmark the largest significant loss of a pair's first case against the second."""
    # The higher rate takes the place of the longer time.
    losses = (
        FileLoss(slow, fast, ratio(slow.per_launch, fast.per_launch))
        for slow, fast in candidates
        if certainly_longer(fast, slow, at_least / (1 - at_least))
    )
    return largest_of_each(losses, lambda loss: loss.slow.benchmark, lambda loss: loss.lost)


def where(case: Summary) -> dict[str, str | int | float]:
    """Return the location of a finding about a case."""
    return {"benchmark": case.benchmark, "ranks": case.ranks, "transport": case.transport}
