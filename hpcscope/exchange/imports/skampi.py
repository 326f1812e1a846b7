"""SKaMPI 5 and 6: results between `# begin result "MPI_Bcast-length"` and `# end result`.

A line has the loop variables (`count= 64`), the message size in bytes, the time, its standard error, the number of
repetitions, and the times of the processes or their quantiles, in microseconds. The time is the slowest process's,
averaged over the middle half of the repetitions (extract_final_results of measurement.c). The name of a
measurement is free text in the script, and the measured operation is not printed.
"""

import re

from hpcscope.exchange.imports import ANY_SIZE, TIME, Given, MixedRunsError, setting, slug
from hpcscope.exchange.imports.lines import TextLine, number
from hpcscope.exchange.imports.reader import LineReader

_TITLE = re.compile(r"# SKaMPI Version (\d[\w.]*)")
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
"""For this many processes or more, a script may print quantiles instead of the time of each process."""


class _Reader(LineReader):
    TITLE = "SKaMPI"
    BEGINS = (_TITLE,)
    CLAIMS = (_TITLE, _BEGIN)

    _result = ""
    """Name of the result that is being read."""

    def _takes(self, line: TextLine) -> bool:
        if title := _TITLE.match(line.text):
            self.versions.append(title[1])
        elif begin := _BEGIN.match(line.text):
            if self._result:
                raise MixedRunsError(f"the beginning of {self._result}")
            self._result = begin[1]
        elif _END.match(line.text):
            self._result = ""
        elif started := _STARTED.match(line.text):
            self.dated(started[1])
        elif self._result and (row := _ROW.match(line.text)):
            self._row(row, line.number)
        else:
            return _SAID.match(line.text) is not None
        return True

    def _row(self, row: re.Match[str], line: int) -> None:
        settings = {loop: value for loop, value in _LOOP.findall(row["loops"]) if loop != "nodes"}
        given = [Given(ANY_SIZE, int(row["size"])), *(setting(loop, value) for loop, value in settings.items())]
        processes = len(row["processes"].split())
        nodes = re.search(r"nodes= (\d+)", row["loops"])
        ranks = int(nodes[1]) if nodes else processes if 0 < processes < _QUANTILES else None
        of = TIME.model_copy(update={"quantity": "time", "definition": "max_rank"})
        name, summary = f"mpi.skampi_{slug(self._result)}", f"{self._result} of {self.TITLE}"
        case = self.foreign(name, summary, [of], given, ranks, f"SKaMPI {self._result}")
        further = {"definition": "max_rank", "repetitions": int(row["n"]) or None}
        self.add(case, number(row["time"], -6), line, "mean", **further)
        self.differences.append(f"{self.TITLE}: a time is the mean of the middle half of the repetitions")
        self.differences.append(f"{self.TITLE}: standard errors and the times of single ranks are left out")
