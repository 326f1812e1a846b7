"""IPM 2 and 0.98: the banner printed at the end of a program, and the XML file.

The banner has the program's times; a full banner also has each routine's calls and its time over all processes, in
seconds with two decimals. The XML has a task for each process, with every routine's calls, bytes and seconds; here
they are summed over the tasks, with the smallest and the largest time of any task. `wallclock` is the time of the
slowest process.
"""

import math
import re
from contextlib import suppress
from dataclasses import dataclass, field

from hpcscope.exchange.imports import metric, setting
from hpcscope.exchange.imports.lines import TextLine, number
from hpcscope.exchange.imports.reader import LineReader

_NAME = "application.ipm"
_NUMBER = r"\d+(?:[.,]\d+)?(?:e[+-]?\d+)?"
_BANNER = re.compile(r"##IPMv(\S+?)#+\s*$")
_TASKS = re.compile(rf"# mpi_tasks : (\d+) on \d+ nodes\s+%comm\s+: ({_NUMBER})\s*$")
_STOP = re.compile(rf"# stop\s+: .*?\s+wallclock : ({_NUMBER})\s*$")
_START = re.compile(r"# start\s+: (\w{3} \w{3} +\d+ [\d:]+ \d{4})\s+host\s+: (\S+)\s*$")
_HOST_AND_TASKS = re.compile(r"# host\s+: ([^\s/]+)\S*\s+mpi_tasks : (\d+) on \d+ nodes\s*$")
_START_AND_WALL = re.compile(rf"# start\s+: (\d\d/\d\d/\d\d/[\d:]+)\s+wallclock : ({_NUMBER}) sec\s*$")
_STOP_AND_SHARE = re.compile(rf"# stop\s+: \S+\s+%comm\s+: ({_NUMBER})\s*$")
"""Line of version 0.98."""
_ROUTINE = re.compile(rf"# (MPI_\w+)\s+({_NUMBER})\s+(\d+)\s+{_NUMBER}(?:\s+{_NUMBER})?\s*$")
_REGION = re.compile(r"# region\s+:\s*(?:'(.*)'|(\S*)\s*\[ntasks\])")
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_TASK = re.compile(r"\s*<task ipm_version=")
_HOST = re.compile(r"<host [^>]*>([^<]+)</host>")
_FUNCTION = re.compile(r"<func ([^>]*)>\s*([\d.e+-]+)\s*</func>")
_TAG = re.compile(
    r"</?(\?xml|ipm_job_profile|calltable|section|entry|task|taskcopy|job|host|perf|modules|module|switch|cmdline|regions?"
    r"|func|internal|env|ptrtable|ptr|hash|hent|hpm|counter|ru_\w+|call_mask|iodata|ldmap)\b"
)
_WHOLE = "whole program"
_METRICS = {
    "time_s": metric("time_s", "s", "time, all ranks"),
    "calls": metric("calls", "1", "calls, all ranks"),
    "sent_bytes": metric("sent_bytes", "B", "bytes, all ranks"),
    "wall_s": metric("wall_s", "s", "time of the slowest rank"),
    "mpi_share": metric("mpi_share", "1", "fraction of time in MPI"),
    "least_s": metric("least_s", "s", "shortest time of a rank"),
    "most_s": metric("most_s", "s", "longest time of a rank"),
}


@dataclass
class Task:
    """A process in the XML file, up to the end of its element or of the file."""

    size: int
    line: int
    wall_s: float = 0.0
    mpi_s: float = 0.0
    whole: bool = False
    routines: dict[str, tuple[float, int, float, int]] = field(default_factory=dict)
    """Time, calls, bytes and line number by routine."""


@dataclass
class _Reader(LineReader):
    """Reads the values of a banner or of the tasks."""

    TITLE = "IPM"
    BEGINS = (re.compile(r"##IPMv|\s*<\?xml\b"), re.compile(r"\s*<ipm_job_profile\b"))
    CLAIMS = (_BANNER, _TASK)

    _banner: bool = False
    _region: str = _WHOLE
    _ranks: int | None = None
    _wall: tuple[float, int] | None = None
    _tasks: list[Task] = field(default_factory=list)

    def _takes(self, line: TextLine) -> bool:
        text = line.text.strip()
        if banner := _BANNER.match(text):
            self._banner, self._region = True, _WHOLE
            self.versions.append(banner[1])
        elif self._banner and text.startswith("#"):
            self._of_banner(text, line.number)
        elif _TASK.match(text):
            self._task(dict(_ATTRIBUTE.findall(text)), line.number)
        elif self._tasks and (host := _HOST.match(text)):
            self.hosts.append(host[1])
        elif self._tasks and text.startswith("<perf "):
            said = dict(_ATTRIBUTE.findall(text))
            with suppress(KeyError, ValueError):
                self._tasks[-1].wall_s, self._tasks[-1].mpi_s = float(said["wtime"]), float(said["mtime"])
        elif self._tasks and (function := _FUNCTION.match(text)):
            return self._function(function, line.number)
        elif text == "</task>" and self._tasks:
            self._tasks[-1].whole = True
        else:
            return _TAG.match(text) is not None
        return True

    def _of_banner(self, text: str, line: int) -> None:
        if start := _START.match(text):
            self.hosts.append(start[2])
            self.dated(start[1])
        elif stop := _STOP.match(text):
            self._wall = number(stop[1]), line
        elif tasks := _TASKS.match(text):
            self._ranks = int(tasks[1])
            self._add("program", "mpi_share", number(tasks[2], -2), line)
            if self._wall is not None:
                self._add("program", "wall_s", *self._wall)
        elif host := _HOST_AND_TASKS.match(text):
            self.hosts.append(host[1])
            self._ranks = int(host[2])
        elif began := _START_AND_WALL.match(text):
            self.dated(began[1], "%m/%d/%y/%H:%M:%S")
            self._add("program", "wall_s", number(began[2]), line)
        elif ended := _STOP_AND_SHARE.match(text):
            self._add("program", "mpi_share", number(ended[1], -2), line)
        elif region := _REGION.match(text):
            self._region = region[1] or region[2] or _WHOLE
        elif routine := _ROUTINE.match(text):
            self._add(routine[1], "time_s", number(routine[2]), line)
            self._add(routine[1], "calls", float(routine[3]), line)

    def _task(self, said: dict[str, str], line: int) -> None:
        with suppress(KeyError, ValueError):
            self.versions.append(said["ipm_version"])
            began, size = float(said["stamp_init"]), int(said["mpi_size"])
            self._tasks.append(Task(size, line))
            self.began(began)

    def _function(self, match: re.Match[str], line: int) -> bool:
        said = dict(_ATTRIBUTE.findall(match[1]))
        try:
            seconds, calls, sent = float(match[2]), int(said["count"]), float(said.get("bytes", "0"))
        except (KeyError, ValueError):
            return False
        if not said.get("name") or not (math.isfinite(seconds) and math.isfinite(sent)):
            return False
        routines = self._tasks[-1].routines
        before = routines.get(said.get("name", ""), (0.0, 0, 0.0, line))
        # A routine is listed in each region of the program.
        routines[said.get("name", "")] = (before[0] + seconds, before[1] + calls, before[2] + sent, before[3])
        return True

    def close(self) -> None:
        """Add the sums over the tasks; truncated tasks are ignored."""
        whole = [task for task in self._tasks if task.whole]
        if len(whole) < len(self._tasks) or (whole and len(whole) < whole[0].size):
            self.differences.append(f"{self.TITLE}: the file has {len(whole)} of {self._tasks[0].size} ranks")
        if not whole:
            return
        self._ranks = whole[0].size
        self._add("program", "wall_s", max(task.wall_s for task in whole), whole[0].line)
        wall_s = sum(task.wall_s for task in whole)
        if wall_s > 0:
            self._add("program", "mpi_share", sum(task.mpi_s for task in whole) / wall_s, whole[0].line)
        for name in dict.fromkeys(name for task in whole for name in task.routines):
            of = [task.routines[name] for task in whole if name in task.routines]
            seconds, calls, sent_bytes, lines = zip(*of, strict=True)
            self._add(name, "time_s", sum(seconds), lines[0])
            self._add(name, "calls", float(sum(calls)), lines[0])
            self._add(name, "sent_bytes", sum(sent_bytes), lines[0])
            self._add(name, "least_s", min(seconds), lines[0])
            self._add(name, "most_s", max(seconds), lines[0])

    def _add(self, routine: str, name: str, value: float, line: int) -> None:
        given = [setting("routine", routine, bare=True), setting("region", self._region, _WHOLE)]
        summary = f"a program as {self.TITLE} saw it"
        self.add(self.foreign(_NAME, summary, [_METRICS[name]], given, self._ranks), value, line)
