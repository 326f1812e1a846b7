"""Computation and time in MPI by function of the program: a flame graph, its tree, and the largest by rank."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hpcscope import units
from hpcscope.programs.profiles.records import Function, Functions, Merged
from hpcscope.report.figure import Figure, Table
from hpcscope.report.profile.tables import seconds
from hpcscope.report.run.figures.heat import cells, places
from hpcscope.report.wording import ending

MOST_FUNCTIONS = 24
_NARROWEST = 0.001
"""Minimum fraction of all time for a box in the graph and for a row in its table."""
_LONGEST = 40
"""Maximum number of letters of a name on the axis."""
_LINE = 19
"""Height of a level of the graph, in pixels."""


@dataclass(frozen=True)
class Box:
    """A function on a call path; positions in percent of the graph's width."""

    name: str
    told: str
    left: str
    width: str
    level: int
    kind: str
    """`mpi` for an MPI routine, else `function`."""


@dataclass(frozen=True)
class FlameGraph:
    """Boxes whose width is their fraction of the time, with callers above callees."""

    key: str
    title: str
    caption: str
    boxes: list[Box]
    height: int
    line: int
    table: Table


@dataclass(frozen=True)
class _Inclusive:
    """Times of the nodes of a tree, including all nodes below each."""

    total_s: list[float]
    mpi_s: list[float]
    levels: list[int]


def graph(merged: Merged) -> FlameGraph | None:
    """Return the flame graph; None if no node took time."""
    found = merged.functions
    if found is None:
        return None
    times = _inclusive(found)
    whole_s = sum(times.total_s[place] for place, node in enumerate(found.tree) if node.parent is None)
    if not whole_s:
        return None
    shown = [place for place in range(len(found.tree)) if times.total_s[place] >= _NARROWEST * whole_s]
    return FlameGraph(
        key="flame-graph",
        title="Call paths",
        caption="Each box is a function, drawn below its caller. Its width is its fraction of all ranks' time. "
        + (
            f"Computation is sampled {found.sample_hz:g} times per second of CPU time of each rank"
            f" ({units.count(found.samples, 'sample')}); time in MPI is measured."
            if found.sample_hz
            else "Only time in MPI is shown, because computation was not sampled (--sample)."
        ),
        boxes=list(_boxes(found, times, whole_s)),
        height=_LINE * (1 + max((times.levels[place] for place in shown), default=0)),
        line=_LINE,
        table=Table(
            ["call path", "total time", "of it in MPI", "own computation", "calls of MPI", "bytes"],
            [_row(found, times, place) for place in shown],
        ),
    )


def by_process(merged: Merged) -> Iterator[Figure]:
    """Yield the time of the largest functions on each rank."""
    found = merged.functions
    if found is None:
        return
    for key, title, name in (
        ("computation", "Sampled computation by function and rank", "compute_by_rank"),
        ("mpi", "Time in MPI by function and rank", "mpi_by_rank"),
    ):
        timed = [(function, getattr(function, name)) for function in found.functions]
        chosen = sorted((pair for pair in timed if any(pair[1])), key=lambda pair: -sum(pair[1]))[:MOST_FUNCTIONS]
        if chosen:
            yield _by_process(found, key, title, chosen)


def functions(merged: Merged, most: int) -> Table:
    """Return the functions with the most time: computation and time in MPI, without their callees."""
    found = merged.functions
    rows = found.functions[:most] if found else []
    ranks = found.ranks if found else []
    sampled = " (sampled)" if found and found.sample_hz else ""
    return Table(
        ["function", f"computation{sampled}", "largest rank", "in MPI", "largest rank", "calls of MPI", "bytes"],
        [
            [
                function.name,
                seconds(function.compute_s),
                _largest(function.compute_by_rank, ranks),
                seconds(function.mpi_s),
                _largest(function.mpi_by_rank, ranks),
                str(function.calls),
                units.quantity(function.bytes, "B"),
            ]
            for function in rows
        ],
    )


def _by_process(
    functions: Functions, key: str, title: str, chosen: Sequence[tuple[Function, Sequence[float]]]
) -> Figure:
    names = [function.name for function, _ in chosen]
    values: list[list[float | None]] = [[time_s or None for time_s in times] for _, times in chosen]
    hover = [
        [f"{name}, rank {rank}: {seconds(time_s)}" for rank, time_s in zip(functions.ranks, times, strict=True)]
        for name, (_, times) in zip(names, chosen, strict=True)
    ]
    return Figure(
        key=f"functions-{key}",
        title=title,
        caption="A function's time excludes the functions that it calls. A row of one color is balanced.",
        traces=[cells(values, hover, None)],
        layout={
            "height": 90 + 22 * len(names),
            "xaxis": places([str(rank) for rank in functions.ranks], "rank"),
            "yaxis": places([ending(name, _LONGEST) for name in names], most=len(names), down=True),
        },
        table=Table(
            ["function", *(f"rank {rank}" for rank in functions.ranks)],
            [[name, *map(seconds, times)] for name, (_, times) in zip(names, chosen, strict=True)],
        ),
        origins=["measured"],
        wide=True,
    )


def _inclusive(functions: Functions) -> _Inclusive:
    tree = functions.tree
    total_s = [node.time_s for node in tree]
    mpi_s = [node.time_s if node.mpi else 0.0 for node in tree]
    levels: list[int] = []
    for path_node in tree:
        levels.append(0 if path_node.parent is None else levels[path_node.parent] + 1)
    for place in reversed(range(len(tree))):
        parent = tree[place].parent
        if parent is not None:
            total_s[parent] += total_s[place]
            mpi_s[parent] += mpi_s[place]
    return _Inclusive(total_s, mpi_s, levels)


def _boxes(functions: Functions, times: _Inclusive, whole_s: float) -> Iterator[Box]:
    """Yield the boxes that are wide enough; the callees of a box start at its left end."""
    ends_s: dict[int | None, float] = {None: 0.0}
    for place, node in enumerate(functions.tree):
        left_s = ends_s[node.parent]
        ends_s[node.parent] = left_s + times.total_s[place]
        ends_s[place] = left_s
        if times.total_s[place] < _NARROWEST * whole_s:
            continue
        total_s, mpi_s = times.total_s[place], times.mpi_s[place]
        told = f"{node.name}: {seconds(total_s)}, {units.share(total_s / whole_s)}"
        if node.mpi:
            told += f"; {units.count(node.calls, 'call')}, {units.quantity(node.bytes, 'B')}"
        else:
            told += f"; in MPI {seconds(mpi_s)}" + (
                f", own computation {seconds(node.time_s)}" if functions.sample_hz else ""
            )
        yield Box(
            name=node.name,
            told=told,
            left=f"{100 * left_s / whole_s:.3f}%",
            width=f"{100 * total_s / whole_s:.3f}%",
            level=times.levels[place],
            kind="mpi" if node.mpi else "function",
        )


def _row(functions: Functions, times: _Inclusive, place: int) -> list[str]:
    node = functions.tree[place]
    return [
        "\u2003" * times.levels[place] + node.name,
        seconds(times.total_s[place]),
        seconds(times.mpi_s[place]),
        "" if node.mpi else seconds(node.time_s),
        str(node.calls) if node.mpi else "",
        units.quantity(node.bytes, "B") if node.mpi else "",
    ]


def _largest(by_rank: Sequence[float], ranks: Sequence[int]) -> str:
    most = max(by_rank, default=0.0)
    return f"{seconds(most)} (rank {ranks[by_rank.index(most)]})" if most else ""
