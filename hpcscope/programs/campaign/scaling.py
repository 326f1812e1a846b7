"""Scaling of times with ranks and with parameters: the terms that the data support, with intervals."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np

from hpcscope import units
from hpcscope.grouping import grouped
from hpcscope.models.fitting.curve import TOLERANCE
from hpcscope.models.fitting.misfit import WORST_ERROR, quarter_miss
from hpcscope.models.scaling import amdahl
from hpcscope.models.scaling.amdahl import Amdahl
from hpcscope.programs.campaign.configurations import all_features, numbers, order, well
from hpcscope.programs.campaign.record import RunRecord
from hpcscope.programs.campaign.resampling import medians
from hpcscope.programs.campaign.study import Point
from hpcscope.samples.samples import Floats
from hpcscope.statistics.bootstrap import estimate
from hpcscope.statistics.estimate import Estimate
from hpcscope.strict import Strict

FEATURES = ("wall_s", "compute_s", "mpi_s", "elapsed_s")
"""The modeled features; the last only if a run does not have the first."""
FEWEST_COUNTS = 3
FEWEST_SIZES = 4
SEED = 11

Columns = dict[str, Floats]
"""Terms by name, each a column of shape (points,)."""


class Term(Strict):
    """A term of a law, with its coefficient in seconds."""

    name: str
    """Name of the term: `1/p`, `log2 p`, `n^2 log2 n`; `1` is the constant."""
    seconds: Estimate


class LawPoint(Strict):
    """A point of a law."""

    x: float
    measured_s: Estimate
    fitted_s: float


class Law(Strict):
    """One feature as a function of one factor, all other factors constant."""

    feature: str
    variable: str
    held: Point
    """The configuration without the varied factor."""
    terms: list[Term]
    chosen_share: float
    """Fraction of the draws that chose the same terms."""
    relative_error: float
    """Median relative error over the points; meaningless if there are as many terms as points."""
    reason: str
    """Why the law is rejected; empty if it is not."""
    points: list[LawPoint]
    inverse_alone_s: Estimate | None = None
    """a0 of a fit a0 / p alone, as in NetFinity for computation; None for other features and variables."""
    inverse_alone_error: float | None = None


class SpeedupLaw(Strict):
    """Amdahl's law with communication, over the process counts of otherwise equal configurations."""

    held: Point
    law: Amdahl | None
    reason: str


def laws(records: Sequence[RunRecord]) -> list[Law]:
    """Return the laws over the number of ranks and over each numeric parameter.

    Laws over ranks do not use oversubscribed runs.
    """
    good = well(records)
    return [
        law for variable in _variables(good) for group in _groups(good, variable) for law in _laws(group, variable)
    ]


def without_law(records: Sequence[RunRecord], laws: Sequence[Law]) -> list[str]:
    """Return for each varying factor without a law how many values it has and how many a law needs."""
    good = well(records)
    missing = []
    for variable in _variables(good):
        if any(law.variable == variable for law in laws):
            continue
        processes = variable == "ranks"
        groups = _groups(good, variable)
        most = max((len({record.point.factors[variable] for record in group}) for group in groups), default=1)
        fewest = FEWEST_COUNTS if processes else FEWEST_SIZES
        where = " without oversubscription" if processes else ""
        missing.append(f"No fit over {variable}: the runs have {most} values{where}, but a fit needs {fewest}")
    return missing


def speedup_laws(records: Sequence[RunRecord]) -> list[SpeedupLaw]:
    """Return Amdahl's law for each group of configurations that differ only in the number of ranks."""
    laws = []
    for group in _groups(well(records), "ranks"):
        time = "wall_s" if all("wall_s" in record.features for record in group) else "elapsed_s"
        ranks, drawn_s = _drawn(group, "ranks", time)
        if ranks.size < FEWEST_COUNTS:
            continue
        law = amdahl.fit(ranks, drawn_s)
        known, reason = (None, law) if isinstance(law, str) else (law, "")
        laws.append(SpeedupLaw(held=group[0].point.without("ranks"), law=known, reason=reason))
    return laws


def _variables(records: Sequence[RunRecord]) -> list[str]:
    """Return the varying numeric factors, starting with the number of ranks."""
    names = dict.fromkeys(["ranks", *(name for record in records for name in record.parameters)])
    return [
        name
        for name in names
        if len(values := {record.point.factors.get(name) for record in records}) > 1
        and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    ]


def _groups(records: Sequence[RunRecord], variable: str) -> Iterator[list[RunRecord]]:
    """Yield groups of runs that differ only in the variable and have at least two values of it.

    Groups over ranks have no oversubscribed runs.
    """
    usable = [record for record in records if variable != "ranks" or not record.oversubscribed]
    ordered = sorted(usable, key=lambda record: order(record.point))
    for group in grouped(ordered, lambda record: record.point.without(variable).key).values():
        if len({record.point.factors[variable] for record in group}) > 1:
            yield group


def _drawn(group: Sequence[RunRecord], variable: str, feature: str) -> tuple[Floats, Floats]:
    """Return the values of the variable and, for each, the median of the feature with draws of the median."""
    random = np.random.default_rng(SEED)
    by_value = grouped(group, lambda record: float(record.point.factors[variable]))
    values = sorted(by_value)
    return np.array(values), np.array([medians(numbers(by_value[value], feature), random) for value in values])


def _laws(group: Sequence[RunRecord], variable: str) -> Iterator[Law]:
    features = [name for name in FEATURES if all(name in all_features(record) for record in group)]
    if "wall_s" in features:
        features.remove("elapsed_s")
    for feature in features:
        x, drawn_s = _drawn(group, variable, feature)
        if variable == "ranks":
            # One rank does not communicate: the law for the time in MPI starts at two ranks.
            kept = drawn_s[:, 0] > 0 if feature != "mpi_s" else (drawn_s[:, 0] > 0) & (x > 1)
            fewest, hypotheses = FEWEST_COUNTS, of_processes
        else:
            kept, fewest, hypotheses = drawn_s[:, 0] > 0, FEWEST_SIZES, of_sizes
        if kept.sum() >= fewest and (x > 0).all():
            yield law(feature, variable, group[0].point.without(variable), x[kept], drawn_s[kept], hypotheses)


def of_processes(x: Floats) -> list[Columns]:
    """Return every combination of work that ranks divide, repeat, combine in a tree, or do one by one."""
    columns = {"1/p": 1 / x, "1": np.ones_like(x), "log2 p": np.log2(x), "p": x}
    return [
        {name: columns[name] for name in some}
        for count in range(1, min(len(x), len(columns) + 1))
        for some in combinations(columns, count)
        if _distinguishable([columns[name] for name in some])
    ]


def of_sizes(x: Floats) -> list[Columns]:
    """Return a constant, a term, or both, for the terms n^i log2^j n of the performance model normal form.

    Calotoiu, Hoefler, Poke and Wolf 2013 (SC'13, sec. 3): few exponents suffice for real programs.
    """
    log = np.log2(x)
    terms: Columns = {}
    for i, power in ((0.5, "n^0.5"), (1.0, "n"), (1.5, "n^1.5"), (2.0, "n^2"), (2.5, "n^2.5"), (3.0, "n^3")):
        terms[power] = x**i
        if (x > 1).all():
            terms[f"{power} log2 n"] = x**i * log
    if (x > 1).all():
        terms["log2 n"] = log
    one = np.ones_like(x)
    return [
        {"1": one},
        *({name: c} for name, c in terms.items()),
        *({"1": one, name: c} for name, c in terms.items()),
    ]


def law(
    feature: str,
    variable: str,
    held: Point,
    x: Floats,
    drawn_s: Floats,
    hypotheses: Callable[[Floats], list[Columns]],
) -> Law:
    """Choose the terms by Schwarz's criterion among those with non-negative coefficients, and fit them.

    `drawn_s` has the shape (points, 1 + draws): medians, then draws of the medians. Every draw chooses its own
    terms, for `chosen_share`; the intervals come from fits of the medians' terms to all draws.
    """
    sigma_s = drawn_s[:, 0] * np.hypot(drawn_s[:, 1:].std(axis=1) / drawn_s[:, 0], TOLERANCE)
    target = drawn_s / sigma_s[:, None]
    candidates = hypotheses(x)
    criteria = np.array([_criterion(_design(columns) / sigma_s[:, None], target) for columns in candidates])
    best = np.argmin(criteria, axis=0)
    chosen = candidates[int(best[0])]
    costs = amdahl.nonnegative(_design(chosen) / sigma_s[:, None], target)
    fitted_s = _design(chosen) @ costs[:, 0]
    errors = np.abs(fitted_s / drawn_s[:, 0] - 1)
    miss = quarter_miss(errors)
    alone, error = _inverse_only(feature, variable, x, drawn_s)
    return Law(
        feature=feature,
        variable=variable,
        held=held,
        terms=[Term(name=name, seconds=estimate(cost)) for name, cost in zip(chosen, costs, strict=True)],
        chosen_share=float((best[1:] == best[0]).mean()),
        relative_error=float(np.median(errors)),
        reason=f"a quarter of the points miss the fit by {units.percent(miss)}" if miss > WORST_ERROR else "",
        points=[
            LawPoint(x=float(at), measured_s=estimate(drawn), fitted_s=float(fitted))
            for at, drawn, fitted in zip(x, drawn_s, fitted_s, strict=True)
        ],
        inverse_alone_s=alone,
        inverse_alone_error=error,
    )


def curve(law: Law, x: Floats) -> Floats:
    """Evaluate a law at some values of its variable; return seconds."""
    hypotheses = of_processes if law.variable == "ranks" else of_sizes
    columns = {name: column for terms in hypotheses(x) for name, column in terms.items()}
    values = [term.seconds.value * columns[term.name] for term in law.terms]
    return np.asarray(np.sum(values, axis=0), dtype=np.float64)


def _inverse_only(feature: str, variable: str, x: Floats, drawn_s: Floats) -> tuple[Estimate | None, float | None]:
    if (feature, variable) != ("compute_s", "ranks"):
        return None, None
    alone = amdahl.inverse(x, drawn_s)
    return alone, float(np.median(np.abs(alone.value / x / drawn_s[:, 0] - 1)))


def _design(columns: Columns) -> Floats:
    return np.column_stack(list(columns.values()))


def _criterion(design: Floats, target: Floats) -> Floats:
    """Return chi square + k ln n for each draw; infinite if a coefficient is negative."""
    solution = np.linalg.pinv(design) @ target
    rest = ((target - design @ solution) ** 2).sum(axis=0)
    criterion = rest + design.shape[1] * np.log(design.shape[0])
    return np.where((solution >= 0).all(axis=0), criterion, np.inf)


def _distinguishable(columns: Sequence[Floats]) -> bool:
    """Return whether these points distinguish the columns (condition number of the scaled columns below 100)."""
    design = np.column_stack([column / max(float(np.linalg.norm(column)), 1e-300) for column in columns])
    return bool(np.linalg.cond(design) < 100)
