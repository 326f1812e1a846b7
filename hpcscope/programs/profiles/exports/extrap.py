"""Extra-P's JSON Lines: one measurement per line, with the number of ranks as the parameter.

A line is `{"params": {"p": 4}, "callpath": "main->MPI_Send", "metric": "time", "value": 1.2}`, as in Extra-P's
documentation of file formats; a model needs runs of one program on several numbers of ranks.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence

from hpcscope.programs.profiles.exports import place
from hpcscope.programs.profiles.records import Merged


def write(runs: Sequence[Merged]) -> str:
    """Return the lines of all runs; times are means over the ranks, in s."""
    return "".join(json.dumps(line) + "\n" for merged in runs for line in _lines(merged))


def _lines(merged: Merged) -> Iterator[dict[str, object]]:
    parameters = {"p": merged.ranks}
    processes = len(merged.processes)
    whole = {"time": merged.total_s, "computation": merged.total_s - merged.mpi_s, "MPI": merged.mpi_s}
    for name, value in whole.items():
        path = "main" if name == "time" else f"main->{name}"
        yield {"params": parameters, "callpath": path, "metric": "time", "value": value / processes}
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for call in merged.calls:
        path = "->".join(["main", *place(merged, call.site), call.routine])
        for index, value in enumerate((call.time_s, call.calls, call.bytes)):
            sums[path][index] += value
    for path, values in sums.items():
        for metric, value in zip(("time", "visits", "bytes"), values, strict=True):
            yield {"params": parameters, "callpath": path, "metric": metric, "value": value / processes}
