"""ReproMPI's `mpibenchmark`: single repetitions, their summaries, or the clocks of every process (`-v`).

Lines `#@key=value` hold the settings; a header and rows follow. Times are in seconds. With `runtime_type=local`,
the time of a repetition is the time of the slowest process on its own clock; with `global`, it is the time from
the first entry to the last exit on the synchronized clock (runtimes_computation.c). Sizes are in elements of the
datatype.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hpcscope.catalog.benchmark import Definition
from hpcscope.exchange.imports import MESSAGE_SIZE, TIME, Given, PrintedFigure, collective, once, setting, slug
from hpcscope.exchange.imports.lines import TextLine, number
from hpcscope.exchange.imports.reader import LineReader
from hpcscope.samples.records import Beside, Statistic

_SETTING = re.compile(r"#@(\w+)=(.*?)\s*$")
_NUMBERS = ("nprocs", "datatype_size_bytes")
_COMMAND = re.compile(r"# ?Command-Line Arguments:")
_HEAD = re.compile(r"\s*(process\s+)?test\s+(nrep\s+)?(count|msize)\s")
_BEGAN = re.compile(r"# Benchmark started at (\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4})\s*$")
_REVISION = re.compile(r"reproMPIcommitSHA1")
_SAID = re.compile(r"#(\t| ?MPI calls:|Message sizes:| Execution time: )")
_DIGITS = 10
_TIME = re.compile(rf"\d+[.,]\d{{{_DIGITS}}}$")

_REDUCTIONS = ("MPI_Allreduce", "MPI_Exscan", "MPI_Reduce", "MPI_Scan")
_ROOTED = ("MPI_Bcast", "MPI_Gather", "MPI_Reduce", "MPI_Scatter")
_COLLECTIVES = (*_REDUCTIONS, *_ROOTED, "MPI_Allgather", "MPI_Alltoall", "MPI_Barrier")
_DEFINITIONS: dict[str, Definition] = {"local": "max_rank", "global": "global"}
_BESIDE: dict[str, Beside] = {"mean_sec": "mean", "min_sec": "minimum", "max_sec": "maximum"}
_SPREAD = ("var_sec", "stddev_sec")
_TABLES = (
    {"test", "nrep", "runtime_sec"},
    {"test", "total_nrep", "valid_nrep"},
    {"process", "test", "nrep", "loc_tstart_sec", "loc_tend_sec"},
)
"""Columns that each kind of table must have."""
_WHOLE = ("process", "nrep", "count", "msize", "errorcode", "total_nrep", "valid_nrep")


@dataclass
class PrintedCase:
    """Consecutive repetitions of one operation and size."""

    line: int
    test: str
    count: int
    times: list[float] = field(default_factory=list)
    clocks: dict[int, list[list[float]]] = field(default_factory=dict)
    """Local start and end, and global start and end, by repetition and process."""


@dataclass
class _Reader(LineReader):
    TITLE = "ReproMPI"
    BEGINS = (_COMMAND,)

    _settings: dict[str, str] = field(default_factory=dict)
    _columns: Sequence[str] = ()
    _case: PrintedCase | None = None

    @classmethod
    def claims(cls, lines: Sequence[TextLine]) -> bool:
        """Return whether the lines contain settings of the program."""
        settings = {match[1] for line in lines if (match := _SETTING.match(line.text))}
        return {"nprocs", "runtime_type"} <= settings or any("reproMPI" in one for one in settings)

    def _takes(self, line: TextLine) -> bool:
        text = line.text
        if one := _SETTING.match(text):
            if one[1] in _NUMBERS and not one[2].isdigit():
                return False
            once(self._settings, one[1], one[2])
            if _REVISION.match(one[1]) and one[2] != "unknown":
                self.versions.append(one[2][:12])
        elif _SAID.match(text) or _COMMAND.match(text):
            pass
        elif _HEAD.match(text):
            columns = text.split()
            self._columns = columns if any(names <= set(columns) for names in _TABLES) else []
        elif began := _BEGAN.match(text):
            self.dated(began[1])
        elif (
            self._columns
            and "nprocs" in self._settings
            and text.split()[0].isdigit() == ("process" in self._columns)
        ):
            return self._row(line)
        else:
            return False
        return True

    def close(self) -> None:
        """Add the case whose repetitions were read."""
        case, self._case = self._case, None
        if case is None:
            return
        if case.times:
            self._figure(case, case.times, self._definition)
        ranks = int(self._settings["nprocs"])
        whole = [np.array(of) for of in case.clocks.values() if len(of) == ranks]
        if whole:
            local = np.array([times[:, 1] - times[:, 0] for times in whole])
            self._figure(case, local.max(axis=1).tolist(), "max_rank")
            self._figure(case, local.mean(axis=1).tolist(), "mean_rank")
            if whole[0].shape[1] == 4:
                self._figure(case, [float(times[:, 3].max() - times[:, 2].min()) for times in whole], "global")

    def _row(self, line: TextLine) -> bool:
        """Return whether the cells of a row match the header; a truncated line has fewer or shorter cells."""
        cells = line.text.split()
        if len(cells) != len(self._columns):
            return False
        row = dict(zip(self._columns, cells, strict=True))
        named = {one: cell for one, cell in row.items() if one != "test" and one not in _SPREAD}
        if not all(cell.isdigit() if one in _WHOLE else _TIME.match(cell) for one, cell in named.items()):
            return False
        count = int(row.get("count") or row["msize"])
        if "total_nrep" in row:
            return self._summary(row, count, line.number)
        if self._case is None or (self._case.test, self._case.count) != (row["test"], count):
            self.close()
            self._case = PrintedCase(line.number, row["test"], count)
        if row.get("errorcode", "0") != "0":
            self.differences.append(f"{self.TITLE}: repetitions that began late are left out")
        elif "process" in row:
            clocks = [
                number(row[column]) for column in self._columns if column.endswith(("tstart_sec", "tend_sec"))
            ]
            self._case.clocks.setdefault(int(row["nrep"]), []).append(clocks)
        else:
            self._case.times.append(number(row["runtime_sec"]))
        return True

    def _summary(self, row: dict[str, str], count: int, line: int) -> bool:
        self.close()
        repetitions = int(row["valid_nrep"])
        statistic: Statistic
        beside = {name: number(row[one]) for one, name in _BESIDE.items() if one in row}
        if "median_sec" in row:
            value, statistic = number(row["median_sec"]), "median"
        elif "mean" in beside:
            value, statistic = beside.pop("mean"), "mean"
        else:
            return False
        self._add(
            PrintedCase(line, row["test"], count),
            values=(value,),
            statistic=statistic,
            definition=self._definition,
            repetitions=repetitions or None,
            beside=beside,
            failure="" if repetitions else "no repetition was valid",
        )
        return True

    @property
    def _definition(self) -> Definition:
        return _DEFINITIONS.get(self._settings.get("runtime_type", ""), "max_rank")

    def _figure(self, case: PrintedCase, times: Iterable[float], definition: Definition) -> None:
        self._add(case, values=tuple(round(time, _DIGITS) for time in times), definition=definition)

    def _add(self, case: PrintedCase, **said: Any) -> None:
        """Add values of a case; `said`: the fields of PrintedFigure that were printed."""
        self.figures.append(replace(self._named(case.test, case.count), line=case.line, **said))

    def _named(self, test: str, count: int) -> PrintedFigure:
        """Return the case of an operation without a value; declare a benchmark if Scope has none."""
        said = self._settings
        ranks = int(said["nprocs"])
        message_bytes = count * int(said.get("datatype_size_bytes", "1"))
        known = collective(test) if test in _COLLECTIVES else None
        moved = test in _ROOTED and said.get("root_proc", "0") != "0"
        other = test in _REDUCTIONS and said.get("operation") != "MPI_SUM"
        if known == "mpi.barrier":
            return PrintedFigure(known, {}, ranks, "time_s")
        if known is not None and not moved and not other:
            if test in _REDUCTIONS and said.get("datatype") != "MPI_DOUBLE":
                datatype = said.get("datatype")
                self.differences.append(f"{self.TITLE}: reductions sum {datatype}, Scope sums MPI_DOUBLE")
            return PrintedFigure(known, {"message_bytes": message_bytes}, ranks, "time_s")
        name = f"mpi.reprompi_{slug(test.removeprefix('MPI_'))}"
        given = [Given(MESSAGE_SIZE, message_bytes)]
        given += [setting(key, said[key]) for key in ("operation", "root_proc") if key in said]
        time_ = TIME.model_copy(update={"quantity": "time", "definition": "max_rank"})
        return self.foreign(name, f"{test} of {self.TITLE}", [time_], given, ranks, f"ReproMPI {test}")
