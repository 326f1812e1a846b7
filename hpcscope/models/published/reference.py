"""Published experiments as data: the printed values, their source, and the cases that reproduce them here."""

import csv
import tomllib
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from hpcscope.errors import ScopeError, UsageError
from hpcscope.models.published.statement import Statement, StatementReading
from hpcscope.strict import Strict


class Scale(Strict):
    """The cases to run, in the syntax of `--case`."""

    launches: int = Field(ge=1)
    cases: list[str]


Transport = Literal["default", "tcp", "active-messages", "active-messages.no-flow-control"]


class SimulatedPlace(Strict):
    """A simulation of the run at another place, with processors as slow as the published ones."""

    of: str
    """The name of the other place."""
    benchmarks: list[str]
    ranks: list[int]
    reading: str
    """A time on one rank at that place. Its ratio to `published_s` slows the processors."""
    published_s: float = Field(gt=0)
    """The published time of the same problem on one rank."""
    collectives: str
    """The MPI library of the source, whose choice of algorithms is simulated."""


class ReproductionPlace(Strict):
    """One of several networks, and its counterpart here: its own run, or the runs of a study on this network."""

    name: str
    """The name of the network in the source."""
    words: str
    """Its counterpart here, in words."""
    lab: str | None = None
    """The emulated cluster; None: this machine."""
    full_lab: str | None = None
    """Another emulated cluster for the full extent of a study, which needs more hosts."""
    link_bits_per_s: float | None = None
    """Rate of its links, for the limit by frames."""
    transport: Transport = "default"
    """The transport in a study."""
    program: str = ""
    """A program other than the study's."""
    simulated: SimulatedPlace | None = None
    """The simulation that gives its values; None: they are measured."""
    fitting: Scale | None = None
    """None in a study, whose extent is the same at all places."""
    full: Scale | None = None
    """None: the cases of `fitting`."""

    def scale(self, full: bool) -> Scale:
        """Return the cases to run."""
        return (full and self.full) or self.fitting or Scale(launches=1, cases=[])

    @property
    def folder(self) -> str:
        """The name of its directory: networks of a study that are transports between the same hosts share one."""
        return (
            self.name
            if self.fitting or self.simulated
            else "-".join(filter(None, [self.lab or "here", self.program]))
        )


class StudyScale(Strict):
    """The extent of the counterpart of a published study."""

    arguments: str
    """Arguments of the program; `{name}` stands for the values of a parameter."""
    parameters: dict[str, list[int | str]] = {}
    further_parameters: list[dict[str, list[int | str]]] = []
    """Further sets of parameters, as in a study."""
    per: str | None = None
    """The parameter by which all features are divided before runs are grouped."""
    ranks: list[int]
    repetitions: int = Field(ge=1)


class InstalledApplication(Strict):
    """An application that is installed as a Debian package and started with the MPI that it is linked with."""

    package: str
    program: str
    input: str
    """A file next to the published values."""


class PublishedStudy(Strict):
    """A published study of a program, and how it is repeated here."""

    kind: Literal["campaign", "placement"]
    program: str
    """A benchmark, one of `hpcscope.programs.campaign.programs`, or the name of the application."""
    application: InstalledApplication | None = None
    fitting: StudyScale
    full: StudyScale


class Reference(Strict):
    """One published experiment."""

    title: str
    source: str
    machine: str
    stands_for: str = ""
    """The differences from the published experiment, in a few sentences."""
    fitting: Scale = Scale(launches=1, cases=[])
    full: Scale = Scale(launches=1, cases=[])
    study: PublishedStudy | None = None
    """Study of programs under the monitor, at all places; if there is one, there are no cases."""
    place: list[ReproductionPlace] = []
    """The places, if several networks are compared; then there are no other cases."""
    lab: str | None = None
    """The emulated cluster on which it is reproduced; None: any cluster."""
    hosts: list[str] = []
    """Its hosts in the order of the ranks; empty: the cluster's own order."""
    link_bits_per_s: float | None = None
    """Rate of its links, for the limit by frames."""
    reading: dict[str, StatementReading]
    """Values to be read off the runs, by the names that statements use."""
    statement: list[Statement]
    """What the source prints, and what must hold here."""

    def scale(self, full: bool) -> Scale:
        """Return the cases to run."""
        return self.full if full else self.fitting


class PrintedItem(Strict):
    """A table or figure that a source prints, and where the statements about it are."""

    source: str
    name: str
    """Its number; the section of a table without a number."""
    statements: list[tuple[str, str]]
    """The experiments, and the `where` of their statements; empty: no experiment repeats it."""
    reason: str
    """Why no experiment repeats it."""


def names() -> list[str]:
    """Return the names of all published experiments."""
    return sorted(path.stem for path in directory().glob("*.toml"))


def load(name: str) -> Reference:
    """Read a published experiment; raises UsageError naming the known experiments for an unknown name."""
    if name not in names():
        raise UsageError(f"{name}: unknown experiment; known: {', '.join(names())}")
    path = directory() / f"{name}.toml"
    try:
        return Reference.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise ScopeError(f"{path}: {error}") from error


def printed() -> list[PrintedItem]:
    """Return all tables and figures with results that the sources print, without diagrams and set-ups."""
    items: dict[tuple[str, str], PrintedItem] = {}
    with beside("printed.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            new = PrintedItem(source=row["source"], name=row["item"], statements=[], reason=row["reason"])
            item = items.setdefault((new.source, new.name), new)
            if row["experiment"]:
                item.statements.append((row["experiment"], row["where"]))
    return list(items.values())


def beside(name: str) -> Path:
    """Return the path of a file next to the published values."""
    return directory() / name


def directory() -> Path:
    """Return the directory of the published values: inside an installed package, else next to it."""
    package = Path(__file__).resolve().parents[2]
    for folder in (package / "reference", package.parent / "reference"):
        if folder.is_dir():
            return folder
    raise ScopeError(f"{package / 'reference'}: missing; install Scope again")
