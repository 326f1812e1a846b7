"""SKaMPI 5 and 6: results between `# begin result "MPI_Bcast-length"` and `# end result`.

A line has the variables of the loops (`count= 64`), the message size in bytes, the time, its standard error, the
number of repetitions, and the times of the processes or quantiles of them, in microseconds. The time is the mean,
over the middle half of the repetitions, of the slowest process's (extract_final_results of measurement.c). What a
measurement is called is free text in the script, and what it measures is not printed.
"""

import re
import time
from collections.abc import Sequence
from contextlib import suppress

from hpcscope.catalog.benchmark import Benchmark, Value
from hpcscope.exchange.imports import MixedRunsError, PrintedFigure, Reading, declared, metric, parameter, setting
from hpcscope.exchange.imports.lines import Line, number
from hpcscope.exchange.imports.reader import ZONE, claiming

TITLE = "SKaMPI"
_TITLE = re.compile(r"# SKaMPI Version (\d[\w.]*)")
BEGINS = (_TITLE,)
_BEGIN = re.compile(r'# begin result "(.*)"\s*$')
_END = re.compile(r"# end result ")
_STARTED = re.compile(r"# Started at (\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4})\s*$")
_SAID = re.compile(
    r"# (duration = |Finished at |Total runtime |(global|user) acc|---|\w*acc_|summed up |total time)|#\s*$"
)
_ROW = re.compile(
    r"(?P<loops>(?:\s*\w+= \S+)*)\s*(?P<size>\d+)\s+(?P<time>\d+[.,]\d)\s+(?P<error>\d+[.,]\d)\s+(?P<n>\d+)"
    r"(?P<processes>(?:\s+(?:\d+[.,]\d|---))*)\s*$"
)
_LOOP = re.compile(r"(\w+)= (\S+)")
_QUANTILES = 8
"""From so many processes on, a script may have quantiles of their times instead."""


claims = claiming(_TITLE, _BEGIN)


def read(lines: Sequence[Line]) -> Reading:
    """Return the figures of all results."""
    figures: list[PrintedFigure] = []
    understood: set[int] = set()
    versions: dict[str, None] = {}
    benchmarks: list[Benchmark] = []
    started_unix_s: float | None = None
    result = ""
    for line in lines:
        if title := _TITLE.match(line.text):
            versions[title[1]] = None
        elif begin := _BEGIN.match(line.text):
            if result:
                raise MixedRunsError(f"the beginning of {result}")
            result = begin[1]
        elif _END.match(line.text):
            result = ""
        elif started := _STARTED.match(line.text):
            with suppress(ValueError, OverflowError):
                started_unix_s = time.mktime(time.strptime(started[1], "%a %b %d %H:%M:%S %Y"))
        elif result and (row := _ROW.match(line.text)):
            figure, benchmark = _figure(result, row, line.number)
            figures.append(figure)
            benchmarks.append(benchmark)
        elif not _SAID.match(line.text):
            continue
        understood.add(line.number)
    differences = [
        f"{TITLE}: a time is the mean of the middle half of the repetitions",
        f"{TITLE}: standard errors and the times of single ranks are left out",
    ]
    return Reading(
        program=" ".join([TITLE, *versions]),
        figures=figures,
        understood=understood,
        missing=[ZONE] if started_unix_s is not None else [],
        differences=differences if figures else [],
        benchmarks=benchmarks,
        started_unix_s=started_unix_s,
    )


def _figure(result: str, row: re.Match[str], line: int) -> tuple[PrintedFigure, Benchmark]:
    """Return a row's figure and the declaration of its measurement."""
    name = "mpi.skampi_" + re.sub(r"[^a-z0-9]+", "_", result.lower()).strip("_")
    settings: dict[str, Value] = {}
    parameters = [parameter("message_bytes", "message size", [0], "B", role="size")]
    for loop, value in _LOOP.findall(row["loops"]):
        if loop == "nodes":
            continue
        settings[loop] = value
        parameters.append(setting(loop, value))
    processes = len(row["processes"].split())
    nodes = re.search(r"nodes= (\d+)", row["loops"])
    ranks = int(nodes[1]) if nodes else processes if 0 < processes < _QUANTILES else None
    of = metric("time_s", "s", "time").model_copy(update={"quantity": "time", "definition": "max_rank"})
    figure = PrintedFigure(
        benchmark=name,
        parameters={**settings, "message_bytes": int(row["size"])},
        ranks=ranks,
        metric="time_s",
        values=(number(row["time"], -6),),
        statistic="mean",
        line=line,
        definition="max_rank",
        repetitions=int(row["n"]) or None,
    )
    return figure, declared(name, f"SKaMPI {result}", f"{result} of {TITLE}", [of], parameters)
