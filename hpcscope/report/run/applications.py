"""Tables of applications: their machine-independent characteristics, and their times."""

from __future__ import annotations

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

STATIC = ["application", "class", "problem", "iterations", "10^6 operations", "processes"]
STATIC += ["memory per process", "messages", "sent", "per message"]
TIMES = ["application", "processes", "time", "speed-up", "efficiency", "compute", "of a0/p", "communicate", "idle"]
WORDS = ("application", "class", "problem")
OVERSUBSCRIBED = " (more processes than processors)"


def characterisation(found: Sequence[Application], catalog: Catalog) -> Table:
    """Return the machine-independent characteristics, extending table 2 of NetFinity (Tessera, sec. 3.1).

    Messages and bytes are those of all processes; memory is that of the largest.
    """
    rows = [[*_problem(one, catalog), *_sent(point)] for one in found for point in one.points]
    return Table(STATIC, [list(row) for row in dict.fromkeys(map(tuple, rows))])


def times(models: Models, catalog: Catalog) -> Table:
    """Return the time of each application on each number of processes, and its parts."""
    return Table(
        TIMES,
        [
            [_words(one, catalog), *_shares(one, point, _speedup(one, point, models.speedups))]
            for one in models.applications
            for point in one.points
        ],
    )


def laws(found: Sequence[Application], catalog: Catalog) -> list[str]:
    """Return the law of computation of each application in words."""
    return [f"{_words(one, catalog)}: {law(one)}." for one in found]


def law(one: Application) -> str:
    """Return the law of computation in words, or why there is none."""
    if one.computation_s is None:
        return f"no law of computation: {one.reason}"
    a0, off = f"a0 = {in_unit(one.computation_s, 's')}", units.share(one.deviation)
    if (one.deviation or 0.0) > WORST_ERROR:
        return f"{a0}, which does not describe the measurements: computation deviates by up to {off} from a0/p"
    return f"{a0}; computation deviates by at most {off} from a0/p"


def _problem(one: Application, catalog: Catalog) -> list[str]:
    sizes = catalog.of_role(one.subject.benchmark, one.subject.parameters, "size")
    name, size = next(((name, str(value)) for name, value in sizes.items()), ("", "–"))
    return [
        catalog[one.subject.benchmark].title,
        size,
        _size(name, size, catalog[one.subject.benchmark]),
        f"{one.iterations:.0f}",
        f"{one.operations / 1e6:.1f}",
    ]


def _size(name: str, size: str, declared: Benchmark) -> str:
    """Return the extent of a class as the meaning of the parameter lists it: `: S 12^3 points, W 33^3 points`."""
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


def _shares(one: Application, point: ApplicationPoint, gained: SpeedupPoint | None) -> list[str]:
    law_s = one.computation_s.value / point.ranks if one.computation_s else None
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


def _speedup(one: Application, point: ApplicationPoint, found: Sequence[Speedup]) -> SpeedupPoint | None:
    wanted = one.subject
    for each in found:
        subject = each.subject
        same = (subject.benchmark, subject.parameters, subject.transport, each.origin)
        if same == (wanted.benchmark, wanted.parameters, wanted.transport, one.origin):
            return next((other for other in each.points if other.ranks == point.ranks), None)
    return None


def _words(one: Application, catalog: Catalog) -> str:
    subject = one.subject
    words = [catalog.described(subject.benchmark, subject.parameters)]
    words += [subject.transport] if subject.transport != "default" else []
    words += [one.origin] if one.origin != "measured" else []
    return ", ".join(words)
