"""Modified tests, normalized: each value of a run over the value of the unmodified test in a baseline run.

The thesis (section 8.3) lets advanced tests change the compiler's flags, the algorithm or the way a library is
used, and compares them with standard tests only after normalization. A case is modified if a parameter that does
not change the problem (how it is computed, shared, called, sent or laid out in memory) differs from its default,
or if the transport does. The unmodified test is the same problem with the defaults, on the same number of ranks
with the same placement.
"""

from pathlib import Path
from typing import Literal

import numpy as np

from hpcscope.catalog.benchmark import Role
from hpcscope.catalog.catalog import Catalog
from hpcscope.comparison import effect, machines
from hpcscope.errors import UsageError
from hpcscope.findings.results import Run
from hpcscope.plan.case import Case, Key
from hpcscope.rundirectory import FORMAT
from hpcscope.statistics.summary import Summary
from hpcscope.strict import Strict

CHANGEABLE: set[Role] = {"method", "parallel", "layout", "call", "path"}
"""Roles of parameters that do not change the problem."""
DEFAULT_TRANSPORT = "default"


class NormalizedCase(Case):
    """A value over the value of the unmodified test."""

    metric: str
    metric_label: str = ""
    """The metric in words, as its benchmark declares it."""
    unit: str
    better: Literal["lower", "higher"]
    unmodified: str
    """Label of the unmodified test; the case's own label if only the build differs."""
    unmodified_median: float
    median: float
    ratio: float
    ratio_low: float | None
    ratio_high: float | None
    """None if one of the two has fewer than two launches."""

    @property
    def verdict(self) -> Literal["better", "worse", ""]:
        """Whether the modification changed the value at 95 % confidence, and how."""
        if self.ratio_low is None or self.ratio_high is None or self.ratio_low <= 1 <= self.ratio_high:
            return ""
        return "better" if (self.ratio < 1) == (self.better == "lower") else "worse"


class Normalized(Strict):
    """The result of `scope compare --normalized`."""

    format: int
    baseline: str
    run: str
    optimized: list[str]
    """The sides whose native program has flags other than the baseline's; A is the baseline run."""
    cases: list[NormalizedCase]
    without_unmodified: list[str]
    """Labels of modified cases whose unmodified test is not in the baseline run."""


def normalized(baseline: Path, run: Path) -> Normalized:
    """Return the values of a run over the values of the unmodified tests of another run, or of the run itself.

    Raises UsageError if a file is missing or wrong, or if the machines differ.
    """
    base, modified = Run(baseline), Run(run)
    if different := machines.obstacles(base.machine, modified.machine):
        names = ", ".join(factor.name for factor in different)
        raise UsageError(f"{run}: --normalized needs the same machine as {baseline}; these facts differ: {names}")
    catalog = modified.benchmarks
    references = {(summary.key, summary.metric): summary for summary in base.headlines}
    cases: list[NormalizedCase] = []
    lacking: list[str] = []
    same_run = base.path.resolve() == modified.path.resolve()
    for headline in modified.headlines:
        if catalog[headline.benchmark].metric[headline.metric].role != "result":
            continue
        key = unmodified(headline, catalog)
        if same_run and key == headline.key:
            continue
        reference = references.get((key, headline.metric))
        if reference is None:
            lacking.append(headline.label)
        elif (case := _over(headline, reference)) is not None:
            words = catalog.metric_label(headline.metric, headline.benchmark)
            cases.append(case.model_copy(update={"metric_label": words}))
    return Normalized(
        format=FORMAT,
        baseline=str(baseline),
        run=str(run),
        optimized=machines.optimized(base.machine, modified.machine),
        cases=cases,
        without_unmodified=list(dict.fromkeys(lacking)),
    )


def unmodified(case: Case, catalog: Catalog) -> Key:
    """Return the identity of the unmodified test of a case."""
    declared = catalog[case.benchmark].parameter
    parameters = {
        name: declared[name].default if name in declared and declared[name].role in CHANGEABLE else value
        for name, value in case.parameters.items()
    }
    batch = (case.ranks, DEFAULT_TRANSPORT, case.placement)
    return Case.of(catalog, case.benchmark, parameters, batch).key


def _over(summary: Summary, reference: Summary) -> NormalizedCase | None:
    """Return a value over its reference; None if one of them is not above zero, or if their origins differ."""
    if summary.origin != reference.origin:
        return None
    medians, base = np.array(summary.launch_medians), np.array(reference.launch_medians)
    value, base_value = summary.estimate.value, reference.estimate.value
    if min(value, base_value, *summary.launch_medians, *reference.launch_medians) <= 0:
        return None
    low = high = None
    if min(medians.size, base.size) > 1:
        found = effect.of_launches(base, medians, f"{summary.spelling} {summary.metric}")
        low, high = found.low, found.high
    return NormalizedCase(
        **summary.case.model_dump(),
        metric=summary.metric,
        unit=summary.unit,
        better=summary.better,
        unmodified=reference.label,
        unmodified_median=base_value,
        median=value,
        ratio=value / base_value,
        ratio_low=low,
        ratio_high=high,
    )
