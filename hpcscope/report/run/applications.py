"""Tables of applications: their machine-independent characteristics, and their times."""

import re
from collections.abc import Sequence

from hpcscope import units
from hpcscope.catalog.benchmark import Benchmark
from hpcscope.catalog.catalog import Catalog
from hpcscope.models.fitting.misfit import WORST_ERROR
from hpcscope.models.models import Models
from hpcscope.models.scaling.applications import Application, ApplicationPoint
from hpcscope.models.scaling.speedup import Speedup, SpeedupPoint
from hpcscope.report.figure import Table
from hpcscope.statistics.estimate import in_percent, in_unit

STATIC = ["application", "class", "problem", "iterations", "10^6 operations", "ranks"]
STATIC += ["memory per rank", "messages", "sent", "per message"]
TIMES = ["application", "ranks", "time", "speedup", "efficiency", "compute", "of a0/p", "communicate", "idle"]
WORDS = ("application", "class", "problem")
OVERSUBSCRIBED = " (more ranks than processors)"


def characterisation(applications: Sequence[Application], catalog: Catalog) -> Table:
    """Return the machine-independent characteristics, extending table 2 of NetFinity (Tessera, sec. 3.1).

    Messages and bytes are sums over all ranks; memory is the largest of any rank.
    """
    rows = [
        [*_problem(application, catalog), *_sent(point)]
        for application in applications
        for point in application.points
    ]
    return Table(STATIC, [list(row) for row in dict.fromkeys(map(tuple, rows))])


def times(models: Models, catalog: Catalog) -> Table:
    """Return the time of each application on each number of ranks, and the parts of this time."""
    return Table(
        TIMES,
        [
            [
                _words(application, catalog),
                *_shares(application, point, _speedup(application, point, models.speedups)),
            ]
            for application in models.applications
            for point in application.points
        ],
    )


def laws(applications: Sequence[Application], catalog: Catalog) -> list[str]:
    """Return in words how the computation time of each application scales."""
    return [f"{_words(application, catalog)}: {law(application)}." for application in applications]


def law(application: Application) -> str:
    """Return in words how the computation time scales (a0/p), or why there is no model."""
    if application.computation_s is None:
        return f"no model of the computation time: {application.reason}"
    a0, off = f"a0 = {in_unit(application.computation_s, 's')}", units.share(application.deviation)
    if (application.deviation or 0.0) > WORST_ERROR:
        return f"{a0}; the law a0/p does not fit: the computation time on p ranks deviates from it by up to {off}"
    return f"{a0}; the computation time on p ranks deviates from a0/p by at most {off}"


def _problem(application: Application, catalog: Catalog) -> list[str]:
    sizes = catalog.of_role(application.subject.benchmark, application.subject.parameters, "size")
    name, size = next(((name, str(value)) for name, value in sizes.items()), ("", "–"))
    return [
        catalog[application.subject.benchmark].title,
        size,
        _size(name, size, catalog[application.subject.benchmark]),
        f"{application.iterations:.0f}",
        f"{application.operations / 1e6:.1f}",
    ]


def _size(name: str, size: str, declared: Benchmark) -> str:
    """Return the extent of a class from the parameter's declared meaning: `: S 12^3 points, W 33^3 points`."""
    meaning = declared.parameter[name].meaning if name in declared.parameter else ""
    said = re.search(rf"[:,] {re.escape(size)} ([^,]+)", meaning)
    return said[1] if said else "–"


def _sent(point: ApplicationPoint) -> list[str]:
    each = point.message_bytes / point.messages if point.messages else None
    return [
        str(point.ranks),
        units.quantity(point.memory_bytes, "B"),
        f"{point.messages:.0f}",
        units.quantity(point.message_bytes, "B"),
        units.quantity(each, "B"),
    ]


def _shares(application: Application, point: ApplicationPoint, gained: SpeedupPoint | None) -> list[str]:
    law_s = application.computation_s.value / point.ranks if application.computation_s else None
    efficiency = gained.efficiency if gained else None
    return [
        f"{point.ranks}{OVERSUBSCRIBED if point.oversubscribed else ''}",
        in_unit(point.time_s, "s"),
        in_unit(gained.speedup if gained else None),
        in_percent(efficiency),
        in_unit(point.compute_s, "s"),
        units.share(point.compute_s.value / law_s) if law_s else "–",
        in_unit(point.communicate_s, "s") if point.ranks > 1 else "–",
        in_unit(point.idle_s, "s") if point.ranks > 1 and point.idle_s else "–",
    ]


def _speedup(
    application: Application, point: ApplicationPoint, speedups: Sequence[Speedup]
) -> SpeedupPoint | None:
    wanted = application.subject
    for speedup in speedups:
        subject = speedup.subject
        same = (subject.benchmark, subject.parameters, subject.transport, speedup.origin)
        if same == (wanted.benchmark, wanted.parameters, wanted.transport, application.origin):
            return next((other for other in speedup.points if other.ranks == point.ranks), None)
    return None


def _words(application: Application, catalog: Catalog) -> str:
    subject = application.subject
    words = [catalog.described(subject.benchmark, subject.parameters)]
    words += [subject.transport] if subject.transport != "default" else []
    words += [application.origin] if application.origin != "measured" else []
    return ", ".join(words)
