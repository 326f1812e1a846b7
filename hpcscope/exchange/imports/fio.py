"""fio: its JSON (`--output-format=json` or `json+`), versions 2.0 to 3.42.

For each job and direction: bytes / run time (in whole milliseconds), operations per second, and the latency of
completed operations, whose median comes from a histogram with steps below 1 %. Version 2 prints KiB/s and
microseconds, version 3 bytes and nanoseconds (stat.c, `add_ddir_status_json`). Plain reads of files that fio has
laid out are cases of `storage.read`, because fio evicts them first. All others become `storage.fio_read` etc.: fio
allocates files before it writes them, and a job with a time limit does not have a defined amount of data.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hpcscope.catalog.benchmark import Value
from hpcscope.exchange.imports import Given, PrintedFigure, metric, parameter
from hpcscope.exchange.imports.lines import TextLine
from hpcscope.exchange.imports.objects import Printed, mapping, objects
from hpcscope.exchange.imports.reader import DocumentReader
from hpcscope.samples.records import Beside

DIRECTIONS = ("read", "write", "trim")
SHORTEST_MS = 100
"""Run times are whole milliseconds; shorter run times have an error above 1 %."""
_KIB = 1024
_PERCENTILES: dict[str, Beside] = {"5.000000": "p05", "95.000000": "p95", "99.000000": "p99"}
_PLAIN = {
    *("name", "rw", "readwrite", "bs", "blocksize", "size", "filesize", "directory", "numjobs", "group_reporting"),
    *("direct", "ioengine", "iodepth", "stonewall", "thread", "invalidate", "wait_for_previous"),
}
"""Options with which reading remains a case of Scope."""
_SIZE = re.compile(r"(\d+)(?:([kmgt])(?:i?b)?)?$", re.IGNORECASE)
_VERSION_KEY = re.compile(r'\s*"fio version"\s*:')
_OTHER_OUTPUT = re.compile(r"\S+: \(groupid=\d+, jobs=\d+\): err=|\d;fio-\d")
_SAID = re.compile(
    r"fio-\d+\.\d+\S*\s*$|\S+: \(g(?:roupid)?=\d+\)?|Starting \d+ (?:process|thread)|\S+: Laying out IO file"
    # The human-readable text, which has the same values with fewer digits.
    r"|\s+(?:read|write|trim|READ|WRITE|TRIM)\s*: "
    r"|\s+(?:[sc]?lat(?: percentiles)?|bw|iops)\s*\(\s*[a-zA-Z/]+\)\s*: "
    r"|\s+\|\s+\d|\s+clat percentiles|\s+(?:cpu|IO depths|submit|complete|issued rwts|latency|iops)\s*: "
    r"|Run status group|Disk stats|\s+\w+: ios="
)
_METRICS = (
    metric("bandwidth_bytes_per_s", "B/s", "bandwidth", "higher"),
    metric("operations_per_s", "1/s", "operations per second", "higher"),
    metric("latency_s", "s", "latency"),
    metric("time_s", "s", "run time"),
)


class _Reader(DocumentReader):
    TITLE = "fio"
    REFUSED = {
        _VERSION_KEY: "is truncated JSON of fio; must have at least one whole group of jobs, and a job of the next"
        " group",
        _OTHER_OUTPUT: "is fio's human-readable or `--minimal` output; must be of `--output-format=json`",
    }
    DIFFERS = ("fio's run times are whole milliseconds and exclude closing the files",)

    @classmethod
    def claims(cls, lines: Sequence[TextLine]) -> bool:
        """Return whether the lines contain JSON of the program with at least one complete job group."""
        return any(_is_fio(printed) for printed in objects(lines)) or super().claims(lines)

    def _document(self, printed: Printed) -> set[int]:
        if not _is_fio(printed):
            return set()
        self.versions.append(str(printed.value["fio version"]).removeprefix("fio-"))
        if isinstance(moment := printed.value.get("timestamp"), int) and moment > 0:
            self.began(float(moment))
        self.figures += self._jobs(printed)
        # The lines before the first omitted job.
        jobs, read = printed.having("jobname"), len(_whole_groups(printed))
        return {number for number in printed.numbers if read >= len(jobs) or number < jobs[read]}

    def _takes(self, line: TextLine) -> bool:
        return _SAID.match(line.text) is not None

    def _jobs(self, printed: Printed) -> Iterator[PrintedFigure]:
        """Yield the values of an object's jobs; several jobs of one name are its processes."""
        lines = printed.having("jobname")
        common = mapping(printed.value, "global options")
        seen: Counter[tuple[object, object]] = Counter()
        jobs = _whole_groups(printed)
        groups = Counter(job.get("groupid") for job in jobs)
        old = str(printed.value["fio version"]).startswith(("fio-1", "fio-2"))
        for place, job in enumerate(jobs):
            line = lines[place] if place < len(lines) else printed.lines[0].number
            who = job.get("groupid"), job.get("jobname")
            options = {**common, **mapping(job, "job options")}
            alone = groups[job.get("groupid")] == 1
            code = job.get("error")
            failure = f"the job ended with error {code}" if isinstance(code, int) and code != 0 else ""
            for direction in DIRECTIONS:
                shown = mapping(job, direction)
                # Versions before 2.2 did not print the number of operations.
                moved = _number(shown, "total_ios") > 0 or _number(shown, "io_bytes") > 0
                if moved and _number(shown, "runtime") > 0:
                    own = _own(options, direction, shown, alone)
                    case = own or self._foreign(job, options, direction, seen[who])
                    yield from _figures(replace(case, line=line, failure=failure), shown, old)
            seen[who] += 1

    def _foreign(
        self, job: Mapping[str, Any], options: Mapping[str, Any], direction: str, process: int
    ) -> PrintedFigure:
        """Return the case of a job that is not a case of Scope."""
        said = " ".join(
            f"{name}={value}" if value else name
            for name, value in options.items()
            if name
            not in ("name", "directory", "filename", "bs", "blocksize", "numjobs", "group_reporting", "stonewall")
        )
        said = said or "not printed"
        named = str(job.get("jobname", "")) or "unnamed"
        transfer = parameter("transfer_bytes", "transfer", [0], "B", "size")
        given = [
            Given(parameter("job", "job", ["unnamed", named]), named),
            Given(parameter("options", "options", ["not printed", said]), said),
            Given(transfer, _size(options.get("bs", options.get("blocksize"))) or 0),
            Given(parameter("process", "process", [0]), process),
        ]
        name, summary = f"storage.fio_{direction}", f"a job of fio that does {direction} operations"
        ranks = _size(options.get("numjobs", "1")) or 1
        return self.foreign(name, summary, _METRICS, given, ranks, f"fio {direction}")


def _is_fio(printed: Printed) -> bool:
    jobs = printed.value.get("jobs")
    if "fio version" not in printed.value or not isinstance(jobs, list):
        return False
    return all(isinstance(job, dict) for job in jobs) and (not printed.cut or bool(_whole_groups(printed)))


def _whole_groups(printed: Printed) -> list[dict[str, Any]]:
    """Return the jobs; if the output is truncated, without the last group, which may lack processes."""
    jobs: list[dict[str, Any]] = printed.value["jobs"]
    return [job for job in jobs if job.get("groupid") != jobs[-1].get("groupid")] if printed.cut else jobs


def _figures(case: PrintedFigure, shown: Mapping[str, Any], old: bool) -> Iterator[PrintedFigure]:
    rate = _number(shown, "bw_bytes") or _number(shown, "bw") * _KIB
    yield replace(case, metric="bandwidth_bytes_per_s", values=(rate,))
    yield replace(case, metric="time_s", values=(_number(shown, "runtime") / 1000,))
    if not case.benchmark.startswith("storage.fio_"):
        return
    yield replace(case, metric="operations_per_s", values=(_number(shown, "iops"),))
    latency, per_s = (mapping(shown, "clat"), 1e6) if old else (mapping(shown, "clat_ns"), 1e9)
    percentiles = mapping(latency, "percentile")
    if _number(latency, "mean") > 0 and (median := _number(percentiles, "50.000000")) > 0:
        beside: dict[Beside, float] = {
            "mean": _number(latency, "mean") / per_s,
            "minimum": _number(latency, "min") / per_s,
            "maximum": _number(latency, "max") / per_s,
        }
        beside |= {
            name: _number(percentiles, key) / per_s for key, name in _PERCENTILES.items() if key in percentiles
        }
        count = int(_number(shown, "total_ios")) or None
        timed = replace(case, metric="latency_s", values=(median / per_s,), statistic="median")
        yield replace(timed, repetitions=count, beside=beside)


def _own(
    options: Mapping[str, Any], direction: str, shown: Mapping[str, Any], alone: bool
) -> PrintedFigure | None:
    """Return Scope's case for a plain read; None if it is not a plain read or that is not known."""
    order = {"read": "sequential", "randread": "random"}.get(str(options.get("rw", options.get("readwrite", ""))))
    size = _size(options.get("size", options.get("filesize")))
    block = _size(options.get("bs", options.get("blocksize", "4k")))
    processes = _size(options.get("numjobs", "1"))
    if direction != "read" or order is None or not (size and block and processes) or not alone:
        return None
    plain = (
        set(options) <= _PLAIN
        and options.get("ioengine", "psync") in ("psync", "sync")
        and options.get("iodepth", "1") == "1"
        and options.get("invalidate", "1") == "1"
        and size % block == 0
        and _number(shown, "total_ios") * block == size * processes
        and _number(shown, "runtime") >= SHORTEST_MS
    )
    if not plain:
        return None
    parameters: dict[str, Value] = {
        "interface": "posix",
        "file": "per_process",
        "layout": "segmented",
        "order": order,
        "file_bytes": size,
        "transfer_bytes": block,
        "buffer_bytes": block,
        "cache": "direct" if options.get("direct", "0") == "1" else "dropped",
    }
    return PrintedFigure("storage.read", parameters, processes, "")


def _size(value: object) -> int | None:
    """Return a number of bytes (`8m` is 2^23); None if the value is not a size."""
    found = _SIZE.match(value) if isinstance(value, str) else None
    return int(found[1]) * _KIB ** (" kmgt".index(found[2].lower()) if found[2] else 0) if found else None


def _number(value: Mapping[str, Any], key: str) -> float:
    found = value.get(key)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else 0.0
