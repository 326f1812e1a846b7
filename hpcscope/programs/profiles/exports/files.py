"""Files as comma-separated values (RFC 4180), one line per file and layer, with times in seconds."""

import csv
import io
from collections.abc import Sequence

from hpcscope.programs.profiles.records import Merged

COLUMNS = (
    *("path", "layer", "processes", "opens", "reads", "read_bytes", "writes", "written_bytes", "syncs", "others"),
    *("open_s", "read_s", "write_s", "sync_s", "other_s", "longest_s", "consecutive", "forward", "unaligned"),
    *("collective", "file_gaps", "memory_gaps", "extent_bytes", "block_bytes", "most_rank", "most_bytes"),
)


def write(runs: Sequence[Merged]) -> str:
    """Return the files of all runs; `run` numbers the runs from 0, an empty path means all other files."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\r\n")
    lines.writerow(("run", "ranks", *COLUMNS))
    for number, merged in enumerate(runs):
        for file in merged.files:
            lines.writerow([number, merged.ranks, *(getattr(file, name) for name in COLUMNS)])
    return text.getvalue()
