"""Summaries of values that other programs printed: nothing is added to what was printed."""

from collections.abc import Iterable, Sequence

import numpy as np

from hpcscope.catalog.catalog import Catalog
from hpcscope.grouping import grouped
from hpcscope.plan.case import Key
from hpcscope.samples.records import Origin, PrintedRecord
from hpcscope.samples.samples import PrintedFigure
from hpcscope.statistics.figures import Figures, describe
from hpcscope.statistics.summary import Summary, summary_of


def printed_summaries(printed: Iterable[PrintedFigure], catalog: Catalog) -> list[Summary]:
    """Summarize printed values, in their order: a metric's first definition of time is its headline."""
    groups = grouped(
        printed, lambda each: (each.case.key, each.record.origin, each.record.metric, each.record.definition)
    )
    headlines: set[tuple[Key, Origin, str]] = set()
    summaries = []
    for (case, origin, metric, _), group in groups.items():
        summaries.append(_summary(group, (case, origin, metric) not in headlines, catalog))
        headlines.add((case, origin, metric))
    return summaries


def _summary(group: Sequence[PrintedFigure], primary: bool, catalog: Catalog) -> Summary:
    first = group[0].record
    metric = catalog[first.benchmark].metric[first.metric]
    reason = next((f"failed: {printed.record.failure}" for printed in group if printed.record.failure), "")
    each = all(printed.record.statistic == "each" for printed in group)
    return summary_of(
        group[0].case,
        metric,
        _figures([printed.record for printed in group]) | (first.summary if len(group) == 1 else {}),
        reason,
        definition=first.definition,
        primary=primary,
        origin=first.origin,
        printed="" if each or first.summary else first.words,
    )


def _figures(records: Sequence[PrintedRecord]) -> dict[str, object]:
    """Return what is known: everything for repetitions; for a statistic, only what was printed with it.

    If there are several outputs, each is a launch.
    """
    described = describe(
        [np.array(record.values) for record in records], numbers=[record.launch for record in records]
    )
    if all(record.statistic == "each" for record in records):
        return described.as_dict()
    known = Figures(
        median=described.median,
        n=sum(record.repetitions or len(record.values) for record in records),
        launches=described.launches,
        launch_medians=described.launch_medians,
        launch_numbers=described.launch_numbers,
    )
    if len(records) > 1:
        interval = ("ci_low", "ci_high", "interval_basis", "coverage", "relative_interval")
        return known.as_dict() | {name: getattr(described, name) for name in interval}
    beside = records[0].beside
    basis = "samples" if "ci_low" in beside and "ci_high" in beside else "none"
    return known.as_dict() | {"interval_basis": basis} | {str(name): value for name, value in beside.items()}
