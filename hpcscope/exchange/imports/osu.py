"""OSU Micro-Benchmarks: the tables that its MPI programs print, versions 3 to 7.

A title, `# OSU MPI Latency Test v7.4`, then column headings, `# Size Avg Latency(us)`, then a line for each size.
Times are microseconds, MB are 10^6 bytes, and every number is the mean over all repetitions (osu_latency.c,
osu_bw.c, osu_util_mpi.c of 7.4). If the heading is `Avg Latency`, a barrier separates the repetitions of a
collective, and the time is the mean over ranks; earlier versions timed a loop on rank 0. The number of processes
and, without `-f`, the number of repetitions are not printed.
"""

import re
from dataclasses import dataclass, field, replace

from hpcscope.catalog.benchmark import Definition, Parameter, Value
from hpcscope.exchange.imports import (
    BANDWIDTH,
    MESSAGE_SIZE,
    TIME,
    Given,
    MixedRunsError,
    PrintedFigure,
    metric,
    once,
    setting,
    slug,
)
from hpcscope.exchange.imports.lines import TextLine, number
from hpcscope.exchange.imports.reader import LineReader
from hpcscope.samples.records import Beside

_TITLE = re.compile(r"# OSU (.+?)(?: Test)? v(\d[\w.]*)\s*$|# OMB (Python .+?) Test\s*$")
"""Title of the suite, or of OMB-Py, whose times include the Python interpreter."""
_HEAD = re.compile(r"# *Size|#? *(?:Overall|Avg Latency) *\(")
_PROFILE = re.compile(r"# (Uni-directional Bandwidth \(MB/sec\)|Message Rate Profile)\s*$")
_WINDOWS = re.compile(r"#((?: +\d+)+)\s*$")
"""Column headings of tables over window sizes (`osu_mbw_mr -V`)."""
_ROW = re.compile(r"\s*\d+([.,]\d+)?(\s|$)")
_CELL = re.compile(r"\d+[.,]\d\d$")
_PAIRS = re.compile(r"# \[ pairs: (\d+) \] \[ window size: (\d+|varied) \]")
_INIT = re.compile(r"nprocs: (\d+), min: (\d+)(?: ms)?, max: (\d+)(?: ms)?, avg: (\d+)(?: ms)?\s*$")
_FAILED = re.compile(r"DATA VALIDATION ERROR: ")
_SETTING = re.compile(r"# (Window(?: creation)?|Synchronization|Datatype): (\S+?)\.?\s*$")
_WORKERS = re.compile(
    r"# Number of (?:(Sender|Receiver) (threads)|forked (processes) in (sender|receiver)): (\d+)\s*$"
)
_SAID = re.compile(
    r"# (Overall = Coll\. Init|Pairs: )"
    r"|This is a test with \d+ processes|Dimensions size = |Time took to create topology graph"
)
_BUFFERS = re.compile(r"# Send Buffer on (\w+) \(\w+\) and Receive Buffer on (\w+) \(\w+\)\s*$")
_DEVICES = ("-CUDA", "-ROCM", "-OPENACC", "-SYCL")

_TWO_RANKS = re.compile(
    r"(latency|bandwidth|bi-directional bandwidth|multi-(threaded|process) latency)( persistent)?$"
    r"|(put|get|accumulate|get_accumulate|compare_and_swap|fetch_and_op) (?!multi)"
)
_US, _MB = -6, 6
_DEFAULTS = {"sender": "host", "receiver": "host", "datatype": "contiguous"}
_COLLECTIVES = {
    "broadcast": "mpi.broadcast",
    "allgather": "mpi.allgather",
    "allgatherv": "mpi.allgatherv",
    "allreduce": "mpi.allreduce",
    "all-to-all personalized exchange": "mpi.alltoall",
    "all-to-allv personalized exchange": "mpi.alltoallv",
    "all-to-all": "mpi.alltoall",
    "barrier": "mpi.barrier",
    "gather": "mpi.gather",
    "gatherv": "mpi.gatherv",
    "reduce": "mpi.reduce",
    "scatter": "mpi.scatter",
    "scatterv": "mpi.scatterv",
}
"""Collectives with Scope's message size; a reduce-scatter sums up blocks, whose number is not printed."""
_REDUCTIONS = ("mpi.allreduce", "mpi.reduce")
_SIZE = "message_bytes"


_COLUMNS = {
    "latency": (TIME, _US),
    "avg latency": (metric("time_s", "s", "time, mean over ranks"), _US),
    "min latency": (metric("fastest_rank_s", "s", "time of the fastest rank"), _US),
    "max latency": (metric("slowest_rank_s", "s", "time of the slowest rank"), _US),
    "bandwidth": (BANDWIDTH, _MB),
    "bi-bandwidth": (BANDWIDTH, _MB),
    "mb/s": (BANDWIDTH, _MB),
    "messages/s": (metric("message_rate_per_s", "1/s", "message rate", "higher"), 0),
    "overall": (metric("overall_s", "s", "time with computation"), _US),
    "compute": (metric("computation_s", "s", "computation"), _US),
    "coll. init": (metric("start_s", "s", "starting call"), _US),
    "mpi_test": (metric("test_s", "s", "MPI_Test"), _US),
    "mpi_wait": (metric("wait_s", "s", "MPI_Wait"), _US),
    "pure comm.": (metric("time_s", "s", "time without computation, mean over ranks"), _US),
    "min comm.": (metric("fastest_rank_s", "s", "time of the fastest rank"), _US),
    "max comm.": (metric("slowest_rank_s", "s", "time of the slowest rank"), _US),
    "overlap": (metric("overlap_share", "1", "overlap", "higher"), -2),
}
"""Metric of each column, and power of ten from the printed unit to its unit."""
_STARTUP = ("min latency", "max latency", "avg latency")
_BESIDE: dict[str, Beside] = {"5": "p05", "25": "p25", "75": "p75", "95": "p95", "99": "p99"}
_PERCENTILE = re.compile(r"p(\d+) tail (?:lat|bw)$")


@dataclass
class PrintedTable:
    """The known settings of the table that is being read."""

    title: str
    version: str
    pairs: int | None = None
    window: int | None = None
    settings: dict[str, str] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)
    windows: list[int] = field(default_factory=list)
    """Window of each column after the size, if the window varies."""
    profile: str = ""
    """Quantity in the columns of a table over window sizes."""
    profiles: dict[str, int] = field(default_factory=dict)
    """Line number of each of these tables."""
    cases: dict[str, PrintedFigure] = field(default_factory=dict)
    """The case that each column measures."""
    last: int = -1
    """Size of the previous row; sizes increase."""

    @property
    def operation(self) -> str:
        """The title without the words common to all titles: `non-blocking broadcast latency`, `put latency`."""
        plain = re.sub(
            r"^One Sided |^MPI(?:-[A-Z ]+?)? (?:One Sided )?|(?<=[a-z])-[A-Z][A-Z ]+(?= )", "", self.title
        )
        return plain.removeprefix("MPI_").lower()

    @property
    def plain(self) -> bool:
        """Whether messages are contiguous and in host memory."""
        buffers = {self.settings.get("sender", "host"), self.settings.get("receiver", "host")}
        return not self.of_device and buffers == {"host"} and "transmit size" not in self.columns

    @property
    def of_device(self) -> bool:
        """Whether the program supports device memory, which then is its default."""
        return any(word in self.title for word in _DEVICES)


@dataclass
class _Reader(LineReader):
    TITLE = "OSU Micro-Benchmarks"
    BEGINS = (
        re.compile(r"# Number of (?:Sender|forked processes in sender)"),
        re.compile(r"# Number of (?:Receiver|forked processes in receiver)"),
        _TITLE,
    )
    CLAIMS = (_TITLE, _INIT)

    _table: PrintedTable | None = None
    _workers: dict[str, str] = field(default_factory=dict)
    """Buffer location of each process, printed before the title."""

    def _takes(self, line: TextLine) -> bool:
        text, table = line.text, self._table
        if title := _TITLE.match(text):
            self._table = PrintedTable(title[1] or title[3], title[2] or "", settings=self._workers)
            self.versions.append(title[2] or "Python")
        elif startup := _INIT.match(text):
            self._startup(startup, line)
        elif workers := _WORKERS.match(text):
            side = (workers[1] or workers[4]).lower()
            self._workers[f"{side}_{workers[2] or workers[3]}"] = workers[5]
        elif table is None or _SAID.match(text):
            return _SAID.match(text) is not None
        elif pairs := _PAIRS.match(text):
            table.pairs = int(pairs[1])
            table.window = int(pairs[2]) if pairs[2].isdigit() else None
        elif profile := _PROFILE.match(text):
            once(table.profiles, profile[1], line.number)
            table.profile = "messages/s" if profile[1].startswith("Message") else "mb/s"
            table.columns, table.windows = [], []
        elif table.profile and (windows := _WINDOWS.match(text)):
            table.windows = [int(word) for word in windows[1].split()]
        elif said := _SETTING.match(text):
            table.settings[said[1].partition(" ")[0].lower()] = said[2]
        elif _HEAD.match(text):
            columns = _columns(text)
            if table.last >= 0 or table.columns not in ([], columns):
                raise MixedRunsError("their column headings")
            table.columns = columns
        elif buffers := _BUFFERS.match(text):
            table.settings |= {"sender": buffers[1].lower(), "receiver": buffers[2].lower()}
        elif _FAILED.match(text):
            if self.figures and not self.figures[-1].failure:
                self.figures[-1] = replace(self.figures[-1], failure=text.strip())
        elif _ROW.match(text) and table.columns:
            return self._row(table, line)
        elif _ROW.match(text) and table.windows:
            return self._row_of_windows(table, line)
        else:
            return False
        return True

    def _row(self, table: PrintedTable, line: TextLine) -> bool:
        """Return whether the cells of a row match the header; a truncated line has fewer or shorter cells."""
        cells = line.text.split()
        # osu_multi_lat 7.4 prints the column headings of percentiles, but not the percentiles.
        plain = [column for column in table.columns if not _PERCENTILE.match(column)]
        if len(cells) not in (len(table.columns), len(plain)):
            return False
        row = dict(zip(table.columns, cells, strict=False))
        whole = ("size", "iterations", "transmit size")
        if not all(row[column].isdigit() for column in whole if column in row):
            return False
        measured = {column: row[column] for column in row if column not in (*whole, "validation")}
        if not all(_CELL.match(cell) for cell in measured.values()):
            return False
        if row.get("validation", "Pass") not in ("Pass", "Fail"):
            return False
        size = int(row.get("size", "0"))
        if size <= table.last:
            raise MixedRunsError(f"size {size}")
        table.last = size
        beside: dict[Beside, float] = {}
        for column in [name for name in measured if _PERCENTILE.match(name)]:
            self._percentile(column, measured.pop(column), table, beside)
        where: dict[str, Value] = {_SIZE: size} if "size" in row else {}
        repetitions = int(row["iterations"]) if "iterations" in row else None
        if repetitions is None:
            self.missing.append("the number of repetitions")
        failure = "validation failed" if row.get("validation") == "Fail" else ""
        for column, cell in measured.items():
            if column not in _COLUMNS:
                return False
            case = table.cases.get(column) or self._case(table, column)
            table.cases[column] = case
            self.add(
                case,
                number(cell, _COLUMNS[column][1]),
                line.number,
                "mean",
                parameters={**case.parameters, **where},
                repetitions=repetitions or None,
                beside=beside if case.metric == "latency_s" else {},
                failure=failure,
            )
        return True

    def _row_of_windows(self, table: PrintedTable, line: TextLine) -> bool:
        """Return whether the cells of a row are a size and a value for each window."""
        size, *cells = line.text.split()
        whole = len(cells) == len(table.windows) and size.isdigit() and all(map(_CELL.match, cells))
        if not whole or not table.pairs:
            return False
        self.missing.append("the number of repetitions")
        of, exponent = _COLUMNS[table.profile]
        for window, cell in zip(table.windows, cells, strict=True):
            where: dict[str, Value] = {"window": window, _SIZE: int(size)}
            case = PrintedFigure("mpi.message_rate", where, 2 * table.pairs, of.name)
            self.add(case, number(cell, exponent), line.number, "mean", definition="mean_rank")
        return True

    def _percentile(self, column: str, cell: str, table: PrintedTable, beside: dict[Beside, float]) -> None:
        match = _PERCENTILE.match(column)
        if match and match[1] in _BESIDE and table.operation == "latency":
            beside[_BESIDE[match[1]]] = number(cell, _US)
        else:
            self.differences.append(f"{self.TITLE}: {column.capitalize()} is left out")

    def _case(self, table: PrintedTable, column: str) -> PrintedFigure:
        known = _point_to_point(table, column) or _collective(table, column) or self._foreign(table, column)
        if known.benchmark in _REDUCTIONS:
            of = table.settings.get("datatype", "MPI_FLOAT")
            self.differences.append(f"{self.TITLE}: reductions sum {of}, Scope sums MPI_DOUBLE")
        if known.benchmark == "mpi.bandwidth":
            self.missing.append("the window of osu_bw (assumed: 64, the default)")
        return known

    def _startup(self, match: re.Match[str], line: TextLine) -> None:
        metrics = [_COLUMNS[column][0] for column in _STARTUP]
        summary, ranks = "the time of MPI_Init", int(match[1])
        case = self.foreign("mpi.osu_init", summary, metrics, ranks=ranks, title="OSU MPI_Init")
        for of, cell in zip(metrics, match.groups()[1:], strict=True):
            self.add(case, number(cell, -3), line.number, "mean", metric=of.name, repetitions=1)

    def _foreign(self, table: PrintedTable, column: str) -> PrintedFigure:
        """Return the case of a column that Scope lacks a benchmark for."""
        settings = {key: value for key, value in table.settings.items() if key != "datatype"}
        if table.window is not None:
            settings["window"] = str(table.window)
        if table.of_device and "sender" not in settings:
            # New point-to-point programs do not print buffer locations; collectives have all buffers on the
            # device.
            where = "unknown" if _TWO_RANKS.match(table.operation) else "device"
            settings |= {"sender": where, "receiver": where}
        if "transmit size" in table.columns:
            settings["datatype"] = "derived"
        given: list[Given | Parameter] = [MESSAGE_SIZE] if "size" in table.columns else []
        given += [setting(key, value, _DEFAULTS.get(key, "unknown")) for key, value in settings.items()]
        title = f"OSU {table.title}"
        two = 2 if _TWO_RANKS.match(table.operation.removeprefix("python mpi ")) else None
        ranks = 2 * table.pairs if table.pairs else two
        summary = f"{title} of {self.TITLE}"
        name = f"mpi.osu_{slug(table.operation)}"
        return self.foreign(name, summary, [_COLUMNS[column][0]], given, ranks, title)


def _point_to_point(table: PrintedTable, column: str) -> PrintedFigure | None:
    """Return the Scope case of a column of a point-to-point program; None if Scope does not have it."""
    if not table.plain or "size" not in table.columns:
        return None
    operation = table.operation
    if operation == "latency" and column in ("latency", "avg latency"):
        return PrintedFigure("mpi.latency", {}, 2, "latency_s")
    if operation == "latency persistent" and column in ("latency", "avg latency"):
        return PrintedFigure("mpi.persistent", {}, 2, "latency_s")
    if operation == "bandwidth" and column == "bandwidth":
        return PrintedFigure("mpi.bandwidth", {"window": 64}, 2, "bandwidth_bytes_per_s")
    if operation == "multiple bandwidth / message rate" and column in ("mb/s", "messages/s"):
        if not table.pairs or not table.window:
            return None
        # The time is the mean over the senders (calc_bw of osu_mbw_mr.c), not the time of the slowest sender.
        return PrintedFigure(
            "mpi.message_rate",
            {"window": table.window},
            2 * table.pairs,
            _COLUMNS[column][0].name,
            definition="mean_rank",
        )
    return None


def _collective(table: PrintedTable, column: str) -> PrintedFigure | None:
    """Return the Scope case of a column of a collective; None if Scope does not have it."""
    call = "blocking"
    operation = table.operation.removesuffix(" latency")
    if operation.startswith("non-blocking "):
        call, operation = "nonblocking", operation.removeprefix("non-blocking ")
    elif operation.endswith(" persistent"):
        call, operation = "persistent", operation.removesuffix(" persistent")
    benchmark = _COLLECTIVES.get(operation)
    of = "pure comm." if call == "nonblocking" else "avg latency"
    if benchmark is None or column != of or not table.plain:
        return None
    if ("size" in table.columns) == (operation == "barrier"):
        return None
    # Barriers run back to back: except for the first and the last, every rank takes as long as the slowest.
    definition: Definition = "streaming" if operation == "barrier" and call == "blocking" else "mean_rank"
    return PrintedFigure(benchmark, {"call": call}, None, "time_s", definition=definition)


def _columns(head: str) -> list[str]:
    """Return the column headings in lowercase without units."""
    plain = re.sub(r"\((us|MB/s|%|B)\)| (?=P\d+ Tail)", "  ", head.lstrip("# "), flags=re.IGNORECASE)
    return [title.strip().lower() for title in re.split(r"\s{2,}", plain) if title.strip()]
