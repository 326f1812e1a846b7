"""Random pairs of a large cluster: a map of hosts by switch, and a map of the paths between groups."""

from collections.abc import Iterator, Sequence

from hpcscope import units
from hpcscope.findings.results import Run
from hpcscope.models.communication.pair_matrix import Slow
from hpcscope.models.communication.random_pairs import Attribute, RandomPairs
from hpcscope.names import plural
from hpcscope.plan.case import transport_words
from hpcscope.report.figure import Figure, Table
from hpcscope.report.run.figures.heat import cells, places
from hpcscope.report.wording import sentence

_ROWS = 400
"""Maximum number of rows in the map of hosts; the map of 10,000 hosts takes some hundred kilobytes per size."""
_WIDTH = 64
"""Hosts per row if their switches are not known."""
_NAMED = 5
"""Maximum number of slow hosts, paths or pairs that a caption names."""
_SLOWEST = 100
"""Maximum number of rows in the table."""
_CELL, _LOWEST, _HIGHEST = 4, 260, 900
"""Height of a row, and smallest and largest height of the whole, in pixels."""


def figures(run: Run, benchmark: str) -> Iterator[Figure]:
    """Yield the maps of each sample of a benchmark."""
    for index, sample in enumerate(run.models.random_pairs):
        if sample.benchmark != benchmark or sample.typical_s is None:
            continue
        yield _hosts(sample, f"{benchmark}-hosts-{index}")
        for number, attribute in enumerate(sample.attributes):
            if len(attribute.between) > 1:
                yield _between(sample, attribute, f"{benchmark}-between-{index}-{number}")


def _hosts(sample: RandomPairs, key: str) -> Figure:
    rows = _rows(sample)
    shown, left_out = _chosen(rows, sample)
    width = max(len(row) for _, row in shown)
    values = [[_factor(sample, row, place) for place in range(width)] for _, row in shown]
    hover = [[_words(sample, row, place) for place in range(width)] for _, row in shown]
    return Figure(
        key=key,
        title=f"Excess time of each host's messages of {_what(sample)}",
        caption=" ".join([*_caption(sample), *left_out]),
        traces=[cells(values, hover, None, unit="")],
        layout={
            "height": min(_HIGHEST, max(_LOWEST, 110 + _CELL * len(shown))),
            "xaxis": {"role": "category", "range": [-0.5, width - 0.5], "title": {"text": "host of the row"}},
            "yaxis": places([name for name, _ in shown], down=True),
        },
        table=_slowest(sample),
        origins=[sample.origin],
        wide=True,
    )


def _between(sample: RandomPairs, attribute: Attribute, key: str) -> Figure:
    hover = [
        [
            f"{attribute.groups[row]} and {attribute.groups[column]}: {units.change(value - 1)}" if value else ""
            for column, value in enumerate(line)
        ]
        for row, line in enumerate(attribute.between)
    ]
    known = [
        (value, attribute.groups[column], attribute.groups[row])
        for row, line in enumerate(attribute.between)
        for column, value in enumerate(line[: row + 1])
        if value
    ]
    slowest = sorted(known, reverse=True)[:_SLOWEST]
    return Figure(
        key=key,
        title=f"Messages of {_what(sample)} between every two {plural(attribute.name)}",
        caption="Median over the pairs between two groups, relative to all pairs; logarithmic colors.",
        traces=[cells(attribute.between, hover, None, unit="")],
        layout={
            "height": max(_LOWEST, min(_HIGHEST, 110 + 16 * len(attribute.groups))),
            "xaxis": places(attribute.groups),
            "yaxis": places(attribute.groups, down=True, scaleanchor="x"),
        },
        table=Table.of(
            {
                attribute.name: first,
                f"and {attribute.name}": second,
                f"time relative to all pairs ({len(slowest)} longest of {len(known)})": units.change(value - 1),
            }
            for value, first, second in slowest
        ),
        origins=[sample.origin],
        wide=True,
    )


def _what(sample: RandomPairs) -> str:
    transport = "" if sample.transport == "default" else f", {transport_words(sample.transport)}"
    return f"{units.size(sample.message_bytes)}, all pairs of a round at once{transport}"


def _rows(sample: RandomPairs) -> list[tuple[str, list[int]]]:
    """Return the ranks of every switch in ascending order; blocks of ranks if the switches are not known."""
    switches = next((attribute for attribute in sample.attributes if attribute.name == "switch"), None)
    if switches is None:
        ranks = range(len(sample.names))
        return [(sample.names[first], list(ranks[first : first + _WIDTH])) for first in ranks[::_WIDTH]]
    members: list[list[int]] = [[] for _ in switches.groups]
    for rank, group in enumerate(switches.of):
        if group >= 0:
            members[group].append(rank)
    return [(name, row) for name, row in zip(switches.groups, members, strict=True) if row]


def _chosen(
    rows: list[tuple[str, list[int]]], sample: RandomPairs
) -> tuple[list[tuple[str, list[int]]], list[str]]:
    """Return the rows to show, which contain the slowest hosts, and in words what was left out."""
    if len(rows) <= _ROWS:
        return rows, []
    worst = sorted(range(len(rows)), key=lambda place: -max(sample.excess[rank] or 0 for rank in rows[place][1]))
    kept = sorted(worst[:_ROWS])
    words = f"Only the {_ROWS} of {len(rows)} rows with the slowest hosts are shown; models.json has all."
    return [rows[place] for place in kept], [words]


def _factor(sample: RandomPairs, row: Sequence[int], place: int) -> float | None:
    excess = sample.excess[row[place]] if place < len(row) else None
    return None if excess is None else 1 + excess


def _words(sample: RandomPairs, row: Sequence[int], place: int) -> str:
    factor = _factor(sample, row, place)
    return f"{sample.names[row[place]]}: {units.change(factor - 1)}" if factor else ""


def _caption(sample: RandomPairs) -> Iterator[str]:
    share = units.share(sample.pairs / sample.of_pairs)
    launches = units.count(sample.launches, "launch", "launches")
    yield (
        f"{sample.rounds} random rounds in {launches} measured {sample.pairs} of {sample.of_pairs} pairs ({share})"
        f"; the median is {units.quantity(sample.typical_s or 0.0, 's')}."
    )
    if sample.reason:
        yield f"Slow hosts and paths were not searched for: {sample.reason}."
        return
    for attribute in sample.attributes:
        yield (
            f"Probability of seeing a slow path between two {plural(attribute.name)}: "
            f"{units.share(attribute.chance)}."
        )
    yield f"Every host is in {sample.rounds} pairs; probability of measuring a given pair: "
    yield f"{units.share(sample.chance_of_pair)}."
    slow = [
        *_named("hosts", sample.slow_processes),
        *(words for kind in sample.attributes for words in _named(kind.name, kind.slow)),
        *(words for kind in sample.attributes for words in _named(f"paths, {kind.name}", kind.slow_between)),
        *_named("pairs", sample.slow_pairs),
    ]
    yield f"Slower than usual: {'; '.join(slow)}." if slow else "No host or path stands out."


def _named(kind: str, slow: list[Slow]) -> Iterator[str]:
    if slow:
        names = [f"{' and '.join(path.members)} by {units.share(path.excess.value)}" for path in slow[:_NAMED]]
        rest = f" and {len(slow) - _NAMED} more" if len(slow) > _NAMED else ""
        yield f"{kind}: {sentence(names) if not rest else ', '.join(names) + rest}"


def _slowest(sample: RandomPairs) -> Table:
    known = [(value, name) for value, name in zip(sample.excess, sample.names, strict=True) if value is not None]
    slowest = sorted(known, reverse=True)[:_SLOWEST]
    head = f"excess time in the pairs of the host ({len(slowest)} slowest of {len(known)})"
    return Table(["host", head], [[name, units.change(value)] for value, name in slowest])
