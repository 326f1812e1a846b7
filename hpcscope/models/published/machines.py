"""Historic machines: their published values as results of Scope's benchmarks, for comparison with runs.

A published value has the origin `published`, no interval and no samples; it is never ranked with measured ones.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from pydantic import Field, ValidationError

from hpcscope.catalog.benchmark import Value
from hpcscope.errors import ScopeError, UsageError
from hpcscope.models.published.reference import Reference, directory, load
from hpcscope.strict import Strict

ORIGIN: Literal["published"] = "published"
FOLDER = "machines"


class TableKind(Strict):
    """What a table of values shows."""

    benchmark: str
    metric: str
    unit: str
    factor: float = 1.0
    """Factor from the printed numbers to the unit."""
    parameters: dict[str, Value | list[Value]] = {}
    """Parameters of the case; any value of a list fits if the source does not say which."""
    best: bool = False
    """Whether the value is the best over all parameters that are not given."""
    columns: list[str]
    """Further parameters, `ranks` and `transport`: a row has a value for each of them, then the result."""


class PrintedTable(Strict):
    """A table of printed values of a machine."""

    figures: str
    """The name of the kind of table."""
    where: str
    """The table or section of the source."""
    rows: list[list[Value]]


class TabledExperiment(Strict):
    """A published experiment on the machine, whose values are in a file of its own."""

    name: str
    where: str
    network: str = ""
    """If not empty, only the values whose titles name this network count."""


class MachineFacts(Strict):
    """A historic machine, or one of its networks."""

    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    name: str
    hosts: str
    processor: str = ""
    network: str
    mpi: str = ""
    experiments: list[TabledExperiment] = []
    tables: list[PrintedTable] = []


class MachineFile(Strict):
    """A file of machines."""

    source: str
    statistic: str = ""
    """The statistic of repetitions that the values are; empty if the source does not say."""
    figures: dict[str, TableKind] = {}
    machine: list[MachineFacts]


@dataclass(frozen=True)
class PublishedValue:
    """A printed value as the result of a benchmark."""

    benchmark: str
    metric: str
    unit: str
    parameters: Mapping[str, Value | list[Value]]
    best: bool
    """Whether the value is the best over all parameters that are not given."""
    ranks: int
    transport: str
    value: float
    where: str

    @property
    def better(self) -> Literal["lower", "higher"]:
        """The better direction: higher for rates only."""
        return "higher" if self.unit.endswith("/s") else "lower"

    @property
    def label(self) -> str:
        """The case as `scope run --case` reads it."""
        values = {name: value if isinstance(value, list) else [value] for name, value in self.parameters.items()}
        known = [f"{name}={','.join(map(str, each))}" for name, each in values.items()]
        words = [self.benchmark, *known, f"ranks={self.ranks}"]
        words += [f"transport={self.transport}"] if self.transport != "default" else []
        return " ".join(words) + (", the best case" if self.best else "")

    @property
    def subject(self) -> tuple[str, str, int]:
        """Benchmark, metric and ranks, which must be equal."""
        return self.benchmark, self.metric, self.ranks

    def fits(self, parameters: Mapping[str, Value], transport: str) -> bool:
        """Return whether a case of this subject is the published one; unpublished parameters may have any value.

        One rank sends no messages, so its transport and the parameters that it lacks do not matter.
        """
        alone = self.ranks == 1
        return (alone or self.transport == transport) and all(
            parameters[name] in (value if isinstance(value, list) else [value]) if name in parameters else alone
            for name, value in self.parameters.items()
        )


@dataclass(frozen=True)
class PublishedMachine:
    """A historic machine with its values."""

    facts: MachineFacts
    source: str
    statistic: str
    figures: Sequence[PublishedValue]

    @property
    def id(self) -> str:
        """The name in commands and addresses."""
        return self.facts.id

    @property
    def name(self) -> str:
        """The display name."""
        return self.facts.name

    @property
    def sheet(self) -> list[tuple[str, str]]:
        """What the source says about the machine, and how its values were obtained."""
        facts = self.facts
        rows = [
            ("Hosts", facts.hosts),
            ("Processor", facts.processor),
            ("Network", facts.network),
            ("MPI", facts.mpi),
            ("Source", self.source),
            ("Figures", self.statistic),
        ]
        return [(name, value) for name, value in rows if value]


@cache
def machines() -> list[PublishedMachine]:
    """Return all historic machines; raises ScopeError if a file is wrong."""
    return [machine for path in sorted((directory() / FOLDER).glob("*.toml")) for machine in _read(path.stem)]


def named(name: str) -> PublishedMachine:
    """Return a historic machine by its id; raises UsageError naming the known machines."""
    for machine in machines():
        if machine.id == name:
            return machine
    raise UsageError(f"{name}: unknown machine; known: {', '.join(machine.id for machine in machines())}")


def _read(stem: str) -> Iterator[PublishedMachine]:
    path = directory() / FOLDER / f"{stem}.toml"
    try:
        source = MachineFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        for machine in source.machine:
            figures = [
                published
                for table in machine.tables
                for published in _of_table(table, source.figures[table.figures])
            ]
            figures += [
                published
                for experiment in machine.experiments
                for published in _of_experiment(experiment, load(experiment.name))
            ]
            yield PublishedMachine(machine, source.source, source.statistic, figures)
    except (tomllib.TOMLDecodeError, ValidationError, KeyError, ValueError) as error:
        raise ScopeError(f"{path}: {error}") from error


def _of_table(table: PrintedTable, kind: TableKind) -> Iterator[PublishedValue]:
    for *values, printed in table.rows:
        known = dict(zip(kind.columns, values, strict=True))
        yield PublishedValue(
            benchmark=kind.benchmark,
            metric=kind.metric,
            unit=kind.unit,
            parameters=kind.parameters
            | {name: known[name] for name in known if name not in ("ranks", "transport")},
            best=kind.best,
            ranks=int(known["ranks"]),
            transport=str(known.get("transport", "default")),
            value=float(f"{float(printed) * kind.factor:.12g}"),
            where=table.where,
        )


def _of_experiment(experiment: TabledExperiment, of: Reference) -> Iterator[PublishedValue]:
    """Yield the printed results of an experiment's benchmarks at their published sizes."""
    for printed in of.statement:
        reading = of.reading[printed.of]
        if printed.published is None or printed.over or reading.of or experiment.network not in printed.title:
            continue
        given = (reading.parameters | printed.published_at).items()
        yield PublishedValue(
            benchmark=reading.benchmark,
            metric=reading.metric,
            unit=printed.unit,
            parameters={name: values[0] if isinstance(values, list) else values for name, values in given},
            best=reading.read == "largest",
            ranks=reading.ranks,
            transport="default",
            value=printed.published,
            where=experiment.where,
        )
