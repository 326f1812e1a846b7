"""Any number of runs side by side: each is compared with one of them, the baseline."""

from collections.abc import Sequence
from dataclasses import dataclass

from hpcscope.comparison.compare import Side, compare_sides
from hpcscope.comparison.comparison import VERDICTS, ComparedCase, Comparison, Verdict
from hpcscope.comparison.published import PublishedCase
from hpcscope.comparison.published import rows as published_rows
from hpcscope.models.published.machines import PublishedMachine
from hpcscope.plan.case import Key
from hpcscope.rundirectory import FORMAT
from hpcscope.strict import Strict


class SideBySide(Strict):
    """The result of `scope compare` for three runs or more."""

    format: int
    runs: list[str]
    baseline: int
    """The index of the baseline among the runs."""
    level: float
    """The fraction of such comparisons of equal runs, all runs together, that may contain a false alarm."""
    threshold: float
    """Smaller relative changes count as no difference."""
    comparisons: list[Comparison]
    """Each other run compared with the baseline, in the order of the runs; each at its fraction of the level."""
    published: list[PublishedCase] = []
    """Values of historic machines, for cases that a run measured."""

    @property
    def against_baseline(self) -> list[Comparison | None]:
        """The comparison of each run with the baseline; None for the baseline itself."""
        others = iter(self.comparisons)
        return [None if number == self.baseline else next(others) for number in range(len(self.runs))]

    def regressions(self, beyond: float) -> list[ComparedCase]:
        """Return the cases of any run that are worse by more than the fraction `beyond`."""
        return [case for comparison in self.comparisons for case in comparison.regressions(beyond)]


@dataclass(frozen=True)
class Row:
    """One metric of one case in all runs."""

    runs: list[ComparedCase | None]
    """The case as compared with the baseline, by run; None for the baseline, and if neither has the case."""

    @property
    def baseline(self) -> float | None:
        """The baseline's median; None if it has none."""
        return self.case.a_median

    @property
    def case(self) -> ComparedCase:
        """The case and its metric, as the first run has them."""
        return next(case for case in self.runs if case is not None)

    def has(self, *verdicts: Verdict) -> bool:
        """Return whether any run has one of these verdicts."""
        return any(case is not None and case.verdict in verdicts for case in self.runs)


def compared(
    sides: Sequence[Side],
    baseline: int,
    threshold: float,
    level: float,
    across_machines: bool,
    historic: Sequence[PublishedMachine] = (),
) -> SideBySide:
    """Compare every run with the run at the index `baseline`.

    `level` is the fraction of comparisons of equal runs, all together, that may contain a false alarm; each has
    its part of it (Bonferroni). `historic`: machines whose published values are shown next to the runs.
    """
    others = [side for number, side in enumerate(sides) if number != baseline]
    share = level / max(len(others), 1)
    return SideBySide(
        format=FORMAT,
        runs=[side.path for side in sides],
        baseline=baseline,
        level=level,
        threshold=threshold,
        comparisons=[compare_sides(sides[baseline], other, threshold, share, across_machines) for other in others],
        published=published_rows(historic, sides, baseline),
    )


def rows(side: SideBySide) -> list[Row]:
    """Return the metrics of all cases, each once; the metrics that are worst in any run come first."""
    by_run: list[dict[tuple[Key, str], ComparedCase]] = [
        {(case.key, case.metric): case for case in comparison.cases} if comparison else {}
        for comparison in side.against_baseline
    ]
    keys = dict.fromkeys(key for cases in by_run for key in cases)
    return sorted((Row([cases.get(key) for cases in by_run]) for key in keys), key=_worst_first)


def _worst_first(row: Row) -> tuple[int, float, str, str]:
    known = [case for case in row.runs if case is not None]
    first = min(VERDICTS.index(case.verdict) for case in known)
    return first, -max(case.loss for case in known), row.case.label, row.case.metric
