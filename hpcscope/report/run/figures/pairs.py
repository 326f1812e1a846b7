"""The pair matrix: message times between every two ranks, with slow ranks and pairs marked."""

from collections.abc import Iterator, Sequence

from hpcscope import units
from hpcscope.findings.results import Run
from hpcscope.models.communication.pair_matrix import PairMatrix
from hpcscope.plan.case import transport_words
from hpcscope.report.figure import Figure, Plot, Table
from hpcscope.report.run.figures.heat import cells, places
from hpcscope.report.wording import sentence

_FEWEST = 3
"""Minimum number of ranks: two ranks are a single pair, which needs no matrix."""
_WRITTEN = 16
"""Maximum number of ranks at which the cells contain the times."""
_HALF = 6
"""Maximum number of ranks at which the matrix takes half of the page width."""
_NAMED = 32
"""Maximum number of ranks at which the axes name all ranks and the table is the matrix itself."""
_SLOWEST = 100
"""Maximum number of rows in the table of a larger matrix."""
_SIDE, _LOWEST, _HIGHEST = 30, 300, 720
"""Height of a cell, and smallest and largest height of the whole, in pixels."""


def figures(run: Run, benchmark: str) -> Iterator[Figure]:
    """Yield a figure for each matrix of a benchmark."""
    matrixes = [pair for pair in run.models.pairs if pair.benchmark == benchmark]
    for index, matrix in enumerate(matrixes):
        if len(matrix.names) >= _FEWEST and any(value for row in matrix.time_s for value in row):
            yield _figure(matrix, f"{benchmark}-matrix-{index}")


def _figure(matrix: PairMatrix, key: str) -> Figure:
    names = _short(matrix.names)
    number = len(names)
    ticks = _ticks(matrix, names)
    written = [[units.quantity(value, "s") if value else "" for value in row] for row in matrix.time_s]
    hover = [
        [text and f"{name} and {other}: {text}" for other, text in zip(names, row, strict=True)]
        for name, row in zip(names, written, strict=True)
    ]
    return Figure(
        key=key,
        title=f"One-way latency (RTT/2) of {units.size(matrix.message_bytes)} between every two ranks, "
        + ("one pair at a time" if matrix.load == "isolated" else "all pairs of a round at once")
        + ("" if matrix.transport == "default" else f", {transport_words(matrix.transport)}"),
        caption=_caption(matrix),
        traces=[cells(matrix.time_s, hover, written if number <= _WRITTEN else None)],
        layout={
            "height": min(_HIGHEST, max(_LOWEST, 110 + _SIDE * number)),
            "xaxis": places(names, **ticks),
            "yaxis": places(names, down=True, scaleanchor="x", **ticks),
            "shapes": list(_outlines(matrix)),
        },
        table=_table(matrix, written),
        origins=[matrix.origin],
        wide=number > _HALF,
    )


def _short(names: Sequence[str]) -> list[str]:
    """Leave out the host name if all ranks are on the same host."""
    hosts = {name.partition(" rank ")[0] for name in names if " rank " in name}
    if len(hosts) != 1 or not all(" rank " in name for name in names):
        return list(names)
    return ["rank " + name.partition(" rank ")[2] for name in names]


def _ticks(matrix: PairMatrix, names: Sequence[str]) -> Plot:
    """Name all ranks of a small matrix; in a large matrix, name the slow ranks and some in between."""
    marked = {matrix.names.index(name) for slow in matrix.slow_processes for name in slow.members}
    chosen = list(range(len(names)))
    if len(names) > _NAMED:
        stride = -(-len(names) // 16)
        chosen = sorted(marked.union(place for place in chosen[::stride] if not marked & {place - 1, place + 1}))
    return {
        "tickvals": chosen,
        "ticktext": [f"{names[place]} ◂" if place in marked else names[place] for place in chosen],
    }


def _outlines(matrix: PairMatrix) -> Iterator[Plot]:
    """Frame rows and columns of slow ranks, cells of slow pairs, and the smaller group."""
    last = len(matrix.names) - 0.5
    for slow in matrix.slow_processes:
        for name in slow.members:
            place = matrix.names.index(name)
            yield _frame(-0.5, last, place - 0.5, place + 0.5)
            yield _frame(place - 0.5, place + 0.5, -0.5, last)
    for slow in matrix.slow_pairs:
        one, other = (matrix.names.index(name) for name in slow.members)
        for x, y in ((one, other), (other, one)):
            yield _frame(x - 0.5, x + 0.5, y - 0.5, y + 0.5)
    group = sorted(matrix.names.index(name) for name in matrix.slow_between.members) if matrix.slow_between else []
    if group and group == list(range(group[0], group[-1] + 1)):
        yield _frame(group[0] - 0.5, group[-1] + 0.5, group[0] - 0.5, group[-1] + 0.5)


def _frame(left: float, right: float, low: float, high: float) -> Plot:
    return {"type": "rect", "x0": left, "x1": right, "y0": low, "y1": high, "meta": "mark"}


def _caption(matrix: PairMatrix) -> str:
    launches = units.count(matrix.launches, "launch", "launches")
    words = [f"Medians over {launches}; colors on a logarithmic scale."]
    if matrix.reason:
        return " ".join([*words, f"Slow ranks and pairs were not searched for: {matrix.reason}."])
    slow = [(f"{sentence(process.members)} with every partner", process) for process in matrix.slow_processes]
    slow += [(f"{pair.members[0]} and {pair.members[1]} with each other", pair) for pair in matrix.slow_pairs]
    if between := matrix.slow_between:
        slow.append((f"messages between {sentence(between.members)} and all others", between))
    listed = "; ".join(
        f"{words} ({units.change(one.excess.value, *one.excess.bounds[::2])})" for words, one in slow
    )
    words.append(f"Slower than the others: {listed}. Frames mark them." if slow else "No rank or pair stands out.")
    return " ".join(words)


def _table(matrix: PairMatrix, written: Sequence[Sequence[str]]) -> Table:
    if len(matrix.names) <= _NAMED:
        rows = [[name, *row] for name, row in zip(matrix.names, written, strict=True)]
        return Table(["", *matrix.names], rows)
    pairs = [
        (value, matrix.names[column], matrix.names[row])
        for row, line in enumerate(matrix.time_s)
        for column, value in enumerate(line[:row])
        if value
    ]
    slowest = sorted(pairs, reverse=True)[:_SLOWEST]
    return Table(
        ["rank", "and rank", f"one-way latency, the {len(slowest)} longest of {len(pairs)}"],
        [[one, other, units.quantity(value, "s")] for value, one, other in slowest],
    )
