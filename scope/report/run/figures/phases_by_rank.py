"""What each process of an algorithm did with its time: stacked bars, a row for each rank."""

from __future__ import annotations

from collections.abc import Iterator

from scope import units
from scope.models.fit import PhasesByRank
from scope.models.scaling.phases_by_rank import PHASES
from scope.models.scaling.speedup import SIZES, size_of
from scope.report.figure import Figure, Table
from scope.report.run.contents import Contents
from scope.report.run.figures.grouping import chosen_words, spread
from scope.report.run.figures.phases import SLOTS
from scope.report.run.figures.stacked import bars, layout
from scope.report.wording import metric

_MOST_RANKS = 24
_MOST_CASES = 4


def figures(contents: Contents, benchmark: str) -> Iterator[Figure]:
    """Yield the largest case of each kind of an algorithm on the most processes, as many as can be looked at."""
    mine = [one for one in contents.models.phases if one.subject.benchmark == benchmark]
    largest: dict[tuple[object, ...], PhasesByRank] = {}
    for one in mine:
        subject = one.subject
        kind = tuple(sorted((k, str(v)) for k, v in subject.parameters.items() if k not in (*SIZES, "rows")))
        key = (kind, subject.transport)
        if subject.ranks > 1 and (key not in largest or _extent(one) > _extent(largest[key])):
            largest[key] = one
    chosen = sorted(largest.values(), key=_extent, reverse=True)[:_MOST_CASES]
    for index, one in enumerate(chosen):
        yield _figure(one, f"{benchmark}-ranks-phases-{index}")


def _extent(one: PhasesByRank) -> tuple[int, int]:
    return one.subject.ranks, size_of(one.subject.parameters) or 0


def _figure(one: PhasesByRank, key: str) -> Figure:
    rows = [int(row) for row in spread(range(len(one.ranks_kept)), _MOST_RANKS)]
    kept = [one.ranks_kept[row] for row in rows]
    labels = [f"rank {rank}" for rank in kept]
    names = [name for name in PHASES if name in one.phases_s]
    values = {name: [one.phases_s[name][row] for row in rows] for name in names}
    left_out = len(one.ranks_kept) - len(kept)
    return Figure(
        key=key,
        title=f"Phases by rank, {chosen_words(one.subject, ())}",
        caption="What each process did with its time: medians over all repetitions and launches. Idle is the time "
        "spent waiting for a process that had not come yet."
        + (f" {left_out} ranks between those shown are left out." if left_out else ""),
        traces=[bars(metric(name), SLOTS[name], labels, values[name]) for name in names],
        layout=layout(len(kept), {"title": {"text": "time in s"}}, share=False),
        table=Table(
            ["rank", *(metric(name) for name in names)],
            [
                [str(rank), *(units.quantity(values[name][index], "s") for name in names)]
                for index, rank in enumerate(kept)
            ],
        ),
        origins=[one.origin],
        wide=len(kept) > 4,
    )
