"""The phases of each rank as stacked bars."""

from collections.abc import Iterator

from hpcscope import units
from hpcscope.findings.results import Run
from hpcscope.models.scaling.phases_by_rank import PHASES, PhasesByRank
from hpcscope.report.figure import Figure, Table
from hpcscope.report.run.figures.grouping import chosen_words, spread
from hpcscope.report.run.figures.phases import SLOTS
from hpcscope.report.run.figures.stacked import bars, layout

_MOST_RANKS = 24
_MOST_CASES = 4


def figures(run: Run, benchmark: str) -> Iterator[Figure]:
    """Yield the case of each variant of a program with the most ranks and the largest size; at most four."""
    mine = [rank for rank in run.models.phases if rank.subject.benchmark == benchmark]
    largest: dict[tuple[object, ...], PhasesByRank] = {}
    for phases_by_rank in mine:
        subject = phases_by_rank.subject
        free = {
            *run.benchmarks.of_role(benchmark, subject.parameters, "size"),
            *run.benchmarks.grid(benchmark, subject.parameters),
        }
        variant = tuple(sorted((k, str(v)) for k, v in subject.parameters.items() if k not in free))
        key = (variant, subject.transport)
        if subject.ranks > 1 and (key not in largest or _extent(run, phases_by_rank) > _extent(run, largest[key])):
            largest[key] = phases_by_rank
    chosen = sorted(largest.values(), key=lambda one: _extent(run, one), reverse=True)[:_MOST_CASES]
    for index, phases_by_rank in enumerate(chosen):
        yield _figure(run, phases_by_rank, f"{benchmark}-ranks-phases-{index}")


def _extent(run: Run, rank: PhasesByRank) -> tuple[int, tuple[int, ...]]:
    subject = rank.subject
    return subject.ranks, run.benchmarks.size_key(subject.benchmark, subject.parameters)


def _figure(run: Run, phases_by_rank: PhasesByRank, key: str) -> Figure:
    rows = [int(row) for row in spread(range(len(phases_by_rank.ranks_kept)), _MOST_RANKS)]
    kept = [phases_by_rank.ranks_kept[row] for row in rows]
    labels = [f"rank {rank}" for rank in kept]
    names = [name for name in PHASES if name in phases_by_rank.phases_s]
    values = {name: [phases_by_rank.phases_s[name][row] for row in rows] for name in names}
    labels_of = {name: run.benchmarks.metric_label(name, phases_by_rank.subject.benchmark) for name in names}
    left_out = len(phases_by_rank.ranks_kept) - len(kept)
    return Figure(
        key=key,
        title=f"Phases by rank, {chosen_words(phases_by_rank.subject, run.benchmarks)}",
        caption="Medians over all repetitions and launches. Idle is the time spent waiting for a rank that has "
        "not arrived yet." + (f" Ranks that are not shown: {left_out}." if left_out else ""),
        traces=[bars(labels_of[name], SLOTS[name], labels, values[name]) for name in names],
        layout=layout(len(kept)),
        table=Table(
            ["rank", *(labels_of[name] for name in names)],
            [
                [str(rank), *(units.quantity(values[name][index], "s") for name in names)]
                for index, rank in enumerate(kept)
            ],
        ),
        origins=[phases_by_rank.origin],
        wide=len(kept) > 4,
    )
