"""Published experiments as data: the printed figures, their source, and the cases that reproduce them here."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from scope.catalog.benchmark import Value
from scope.errors import ScopeError, UsageError
from scope.models.published.place import Place, Scale
from scope.models.published.statement import Reading, Statement
from scope.strict import Strict


class Column(Strict):
    """A column of a published table: elapsed times of a benchmark, a ratio of two columns, or a speed-up."""

    key: str
    words: str
    benchmark: str = ""
    parameters: dict[str, Value] = {}
    over: tuple[str, str] | None = None
    """This column is the one over the other."""
    speedup_of: str | None = None


class Single(Strict):
    """A published figure outside a table."""

    words: str
    quantity: Literal[
        "time",
        "exchange",
        "exchange_ratio",
        "speedup",
        "compute_speedup",
        "critical_count",
        "least_speedup",
        "largest_speedup",
    ]
    benchmark: str
    parameters: dict[str, Value]
    over: dict[str, Value] = {}
    """Of a ratio: the parameters of the denominator."""
    size: int = 0
    sizes: list[int] = []
    """Of the least or largest over several sizes."""
    ranks: int = 1
    published: float


class Broadcast(Strict):
    """A row of a table of broadcast algorithms: one payload, the same hosts."""

    words: str
    transport: str
    """`default` is the MPI library's own; else the algorithm of the topology-aware collectives."""
    published: float | None = None
    """Measured seconds."""
    estimated: float | None = None
    """Seconds that the source estimates."""


class Growth(Strict):
    """The published law by which a collective grows with the number of processes."""

    words: str
    benchmark: str
    parameters: dict[str, Value] = {}
    transport: str = "default"
    law: Literal["linear", "logarithmic"]
    step_s: float | None = None
    """The printed cost of one step of ceil(log2 p), in s; None where the source prints none."""


class RateNetwork(Strict):
    """A network that applications were run on, and the corresponding transport here."""

    name: str
    """As the source calls it."""
    transport: Literal["default", "tcp"]


class Rate(Strict):
    """The rate of an application on a network."""

    benchmark: str
    problem: str = Field(default="", alias="class")
    """Its class; empty where it has none."""
    ranks: int
    network: str
    """The name of one of the networks."""
    published: float | None = None
    """10^6 operations per second, as the application counts them; None where the source prints none."""


class Efficiency(Strict):
    """The share of its machine's peak rate that a benchmark reached on a network."""

    words: str
    benchmark: str
    ranks: int
    network: str
    """The name of one of the networks."""
    published: float | None = None
    remark: str = ""
    """Where the source prints the rate only: so it says, and the share is that rate over the printed peak."""


class Share(Strict):
    """The computation of an application, or the time of its messages on a network."""

    words: str
    quantity: Literal["operations", "computation", "communication"]
    """10^6 operations; a0 of computation that takes a0 / p seconds on p processes; seconds over other seconds."""
    benchmark: str
    problem: str = Field(alias="class")
    """Its class."""
    network: str
    """The name of one of the networks."""
    over: str = ""
    """Of communication: the other network."""
    ranks: int = 0
    """0: all that were run."""
    published: float | None = None
    remark: str = ""


class MessageFigure(Strict):
    """A published figure of messages between two processes, or their curve over the length."""

    words: str
    quantity: Literal["latency", "time", "asymptotic_rate", "asymptotic_share", "curve"]
    """Of the shortest messages; of one length; bit/s of the longest; over the rate of the link; of each length."""
    benchmark: str
    metric: str = "latency_s"
    parameters: dict[str, Value] = {}
    placement: str = ""
    """Where the two processes stood; empty: anywhere."""
    over: str = ""
    """Another benchmark, whose time this one's is divided by."""
    published: float | None = None
    remark: str = ""


class FileCurve(Strict):
    """A published curve of bandwidth over sizes of files and blocks; the text prints none of its points."""

    words: str
    benchmark: str
    ranks: int
    parameters: dict[str, Value] = {}
    most_bytes_per_s: float | None = None
    """The printed bound."""
    remark: str = ""
    says_of_blocks: str = ""
    """What the source says of larger blocks; empty where it says nothing."""
    over: str = ""
    """The words of the curve that the source compares this one with."""
    says_of_over: str = ""


class Phase(Strict):
    """A phase of a list of file systems."""

    words: str
    kind: Literal["bandwidth", "metadata"]
    benchmark: str
    metric: str = ""
    """Of metadata: the rate."""
    parameters: dict[str, Value] = {}
    remark: str = ""


LINPACK = "algorithm.linpack"
"""The benchmark whose best rate is R_max."""


class Linpack(Strict):
    """The best rate of LINPACK on a network."""

    ranks: int
    n_max: int
    """Equations with which it was reached."""
    network: str
    """The name of one of the networks."""
    r_max: float
    """Gflop/s."""


class MatrixProduct(Strict):
    """A way to multiply matrices on a grid of processes."""

    words: str
    benchmark: str
    parameters: dict[str, Value] = {}
    transport: str = "default"
    published: bool = False
    """Whether the source measured this one."""


class Arrangement(Strict):
    """The mapping of the process grid to the clusters."""

    words: str
    grid_rows: int
    grid_order: Literal["rows", "columns"]
    lost: float | None = None
    """Published share of the rate that is lost relative to the first arrangement."""


class BlockRate(Strict):
    """The rate of a product with one block size."""

    size: int
    gflops: float


class StudyScale(Strict):
    """The extent of the counterpart of a published study."""

    arguments: str
    """Of the program; `{name}` stands for the values of a parameter."""
    parameters: dict[str, list[int | str]] = {}
    further_parameters: list[dict[str, list[int | str]]] = []
    """As in a study."""
    per: str | None = None
    """The parameter by which all features are divided before runs are grouped."""
    ranks: list[int]
    repetitions: int = Field(ge=1)


Transport = Literal["default", "tcp", "active-messages", "active-messages.no-flow-control"]


class Network(Strict):
    """Where a study is run."""

    name: str
    """As the source calls it."""
    words: str
    """Its counterpart here."""
    lab: str | None = None
    """The emulated cluster; None: this machine."""
    full_lab: str | None = None
    """Another one for the full extent, which needs more hosts."""
    transport: Transport = "default"
    program: str = ""
    """Another one than the study's."""


class Application(Strict):
    """An application that is installed, as a package of Debian, and started by the MPI that it is linked with."""

    package: str
    program: str
    input: str
    """A file beside the published figures."""


class StudyFigure(Strict):
    """A published figure of a program's runs."""

    words: str
    published: float | None = None
    unit: str
    quantity: Literal[
        "wall",
        "cpu",
        "difference",
        "ratio",
        "mpi",
        "mpi_share",
        "routine",
        "routine_share",
        "routine_bytes",
        "routine_calls",
        "serial_share",
        "slowdown",
        "by_computation",
        "by_communication",
        "inflation",
        "compute",
        "speedup",
        "group_share",
        "group_mean",
    ]
    network: str
    """The name of one of the networks."""
    over: str = ""
    """Another network: the figure is the quotient."""
    ranks: int = 0
    """0: the most that were run."""
    routine: str = ""
    group: int = 0
    """Of runs that behave alike, from 1, the largest first."""
    feature: str = ""
    """Whose mean in the group is meant."""
    line: str = ""
    """Of a published table: the line in which the figure stands, and its column."""
    column: str = ""
    fixed: Literal["processes", "nodes"] = "processes"
    remark: str = ""


class StudyOf(Strict):
    """A published study of a program, and its counterpart here."""

    kind: Literal["campaign", "placement"]
    program: str
    """A benchmark, one of `scope.campaign.programs`, or the name of the application."""
    application: Application | None = None
    stands_for: str
    """The differences from the published study, in one sentence."""
    fitting: StudyScale
    full: StudyScale
    network: list[Network]
    figure: list[StudyFigure]


class Reference(Strict):
    """One published experiment."""

    title: str
    source: str
    machine: str
    fitting: Scale = Scale(launches=1, cases=[])
    full: Scale = Scale(launches=1, cases=[])
    study: StudyOf | None = None
    """Of programs under the monitor; then there are no cases."""
    column: list[Column] = []
    case: list[dict[str, float]] = []
    """Rows of the table: size, ranks, and the columns by key; a ratio may be left to be computed."""
    figure: list[Single] = []
    lab: str | None = None
    """The emulated cluster on which it is reproduced; None: any cluster."""
    hosts: list[str] = []
    """Its hosts in the order of the ranks; empty: in their own order."""
    link_bits_per_s: float = 0.0
    """Rate of the published network."""
    message: list[MessageFigure] = []
    payload_bytes: int = 0
    """Of the published broadcasts."""
    broadcast: list[Broadcast] = []
    growth: list[Growth] = []
    network: list[RateNetwork] = []
    rate: list[Rate] = []
    share: list[Share] = []
    peak: str = ""
    """The benchmark of the peak rate of one process."""
    efficiency: list[Efficiency] = []
    linpack: list[Linpack] = []
    file: list[FileCurve] = []
    phase: list[Phase] = []
    product: list[MatrixProduct] = []
    product_size: int = 0
    """Rows and columns of the matrices."""
    product_block: int = 0
    """The block in which arrangements are compared."""
    arrangement: list[Arrangement] = []
    """The first is the one on which blocks were varied, and the reference of the losses."""
    block: list[BlockRate] = []
    place: list[Place] = []
    """Where several networks are compared; then there are no other cases."""
    reading: dict[str, Reading] = {}
    """Figures to be read off the runs, by the names that statements have for them."""
    statement: list[Statement] = []
    """What must hold here."""

    def scale(self, full: bool) -> Scale:
        """Return the cases to run."""
        return self.full if full else self.fitting


def names() -> list[str]:
    """Return the names of all published experiments."""
    return sorted(path.stem for path in directory().glob("*.toml"))


def load(name: str) -> Reference:
    """Read a published experiment; raises UsageError for an unknown one and names those there are."""
    if name not in names():
        raise UsageError(f"{name}: unknown experiment; known: {', '.join(names())}")
    path = directory() / f"{name}.toml"
    try:
        return Reference.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise ScopeError(f"{path}: {error}") from error


def beside(name: str) -> Path:
    """Return the path of a file beside the published figures."""
    return directory() / name


def directory() -> Path:
    """Return the folder of the published figures: inside an installed package, else beside it."""
    package = Path(__file__).resolve().parents[2]
    for folder in (package / "reference", package.parent / "reference"):
        if folder.is_dir():
            return folder
    raise ScopeError(f"{package / 'reference'}: missing; install Scope again")
