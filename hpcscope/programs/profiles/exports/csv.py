"""All calls as comma-separated values (RFC 4180), one line per group of equal calls, with times in seconds."""

import csv
import io
from collections.abc import Sequence

from hpcscope.programs.profiles.exports import place
from hpcscope.programs.profiles.records import Merged
from hpcscope.visible import cell

COLUMNS = (
    *("run", "ranks", "routine", "kind", "place", "communicator_size", "least_bytes", "region", "processes"),
    *("calls", "bytes", "time_s", "least_rank", "least_rank_s", "most_rank", "most_rank_s", "mean_s", "median_s"),
    *("p99_s", "shortest_s", "longest_s", "sanitized_mean_s", "coefficient_of_variation"),
)


def write(runs: Sequence[Merged]) -> str:
    """Return the calls of all runs; `run` numbers runs from 0, `least_bytes` is the start of the size class."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\r\n")
    lines.writerow(COLUMNS)
    for number, merged in enumerate(runs):
        regions = {region.number: region.label for region in merged.regions}
        for call in merged.calls:
            times = call.times
            lines.writerow(
                [
                    *(number, merged.ranks, call.routine, call.kind, cell(" > ".join(place(merged, call.site)))),
                    *(call.communicator_size, 1 << (call.size_class - 1) if call.size_class else 0),
                    *(cell(regions.get(call.region, "0")), call.processes, call.calls, call.bytes, call.time_s),
                    *(call.least_rank, call.least_s),
                    *(call.most_rank, call.most_s, times.mean_s, times.median_s, times.p99_s, times.least_s),
                    *(times.most_s, times.sanitized_mean_s, times.coefficient_of_variation),
                ]
            )
    return text.getvalue()
