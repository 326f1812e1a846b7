"""mdtest: the summary of its rates, versions 1.8 to 4.1.

It prints the highest, lowest and mean rate over all repetitions, in operations per second of all processes between
two barriers (`summarize_results` of mdtest.c). File rates are cases of `storage.metadata` if the command line asks
for the plain sequence in one directory or one directory per process; other rates become `storage.mdtest`.
"""

import re
from dataclasses import dataclass, field, replace

from hpcscope.catalog.benchmark import Value
from hpcscope.exchange.imports import Given, PrintedFigure, metric, once, parameter
from hpcscope.exchange.imports.lines import TextLine, number, words
from hpcscope.exchange.imports.reader import LineReader

BENCHMARK = "storage.metadata"
OTHER = "storage.mdtest"
_OPERATIONS = {
    "Directory creation": ("directory_create_per_s", ""),
    "Directory stat": ("directory_stat_per_s", ""),
    "Directory rename": ("directory_rename_per_s", ""),
    "Directory removal": ("directory_remove_per_s", ""),
    "File creation": ("create_per_s", "create_per_s"),
    "File stat": ("stat_per_s", "stat_per_s"),
    "File read": ("read_per_s", "open_per_s"),
    "File rename": ("rename_per_s", "rename_per_s"),
    "File removal": ("remove_per_s", "remove_per_s"),
    "Tree creation": ("tree_create_per_s", ""),
    "Tree removal": ("tree_remove_per_s", ""),
}
"""Metric of mdtest's own benchmark, and of Scope's benchmark if it has the operation."""
_METRICS = [metric(name, "1/s", operation.lower(), "higher") for operation, (name, _) in _OPERATIONS.items()]
_SHOWN = re.compile(r"-[vF]+|-u|--?(?:dir|n|i|d|w|e|N)")
"""Options with which a test remains a case of Scope."""

_TITLE = re.compile(r"mdtest-(\S+) was launched with (\d+) total task\(s\) on (\d+) nodes?")
_COMMAND = re.compile(r"Command line used: (.*)$")
_SUMMARY = re.compile(r"SUMMARY( rate| time)?(?: \(in [^)]*\))?: \(of (\d+) iterations?\)")
_NUMBER = r"\d+[.,]\d{3}"
_ROW = re.compile(
    rf"\s+({'|'.join(_OPERATIONS)})\s*:?\s+({_NUMBER})\s+({_NUMBER})\s+({_NUMBER})\s+(?:{_NUMBER}|-?nan)\s*$"
)
_SAID = re.compile(
    r"-- (?:started|finished) at |Path\s*: |FS\s*: |\d+ tasks, \d+ |\s+Operation\s+Max|\s+-+ +-|Nodemap: "
    r"|Random seed:|WARNING: Read bytes is 0|V-\d: |Shifting ranks by"
)


@dataclass
class _Reader(LineReader):
    TITLE = "mdtest"
    BEGINS = (_TITLE,)
    ENDS = re.compile(r"-- finished at ")
    CLAIMS = (_TITLE,)

    _ranks: int = 0
    _nodes: int = 0
    _iterations: int = 0
    _rates: bool = False
    """Whether the summary that is being read has rates instead of times."""
    _command: dict[str, str] = field(default_factory=dict)
    _rows: dict[str, tuple[tuple[float, float, float], int]] = field(default_factory=dict)
    """Highest, lowest and mean rate, and line number, by operation."""

    def _takes(self, line: TextLine) -> bool:
        if title := _TITLE.match(line.text):
            self.versions.append(title[1])
            self._ranks, self._nodes = int(title[2]), int(title[3])
        elif command := _COMMAND.match(line.text):
            once(self._command, "command line", command[1])
        elif summary := _SUMMARY.match(line.text):
            self._rates, self._iterations = summary[1] != " time", int(summary[2])
        elif self._ranks and (row := _ROW.match(line.text)):
            if self._rates:
                most, least, mean = (number(row[place]) for place in (2, 3, 4))
                once(self._rows, row[1], ((most, least, mean), line.number))
        else:
            return _SAID.match(line.text) is not None
        return True

    def close(self) -> None:
        """Add the rates of the executed operations."""
        options = _options(self._command.get("command line", ""))
        single = self._iterations == 1
        for operation, ((most, least, mean), line) in self._rows.items():
            if mean <= 0:
                continue
            own = self._own(options, operation)
            other, metric_ = _OPERATIONS[operation]
            if own is None:
                case = replace(self._other(options), metric=other)
            else:
                case = PrintedFigure(BENCHMARK, own, self._ranks, metric_)
            if single:
                self.add(case, mean, line)
            else:
                beside = {"mean": mean, "minimum": least, "maximum": most}
                self.add(case, mean, line, "mean", repetitions=self._iterations or None, beside=beside)

    def _own(self, options: dict[str, str], operation: str) -> dict[str, Value] | None:
        """Return the parameters of Scope's equivalent case; None if there is none."""
        files, written, read, shift = (options.get(name, "0") for name in ("-n", "-w", "-e", "-N"))
        known = all(map(str.isdigit, (files, written, read, shift)))
        plain = known and all(_SHOWN.fullmatch(option) for option in options)
        if not plain or files == "0" or not _OPERATIONS[operation][1]:
            return None
        if operation == "File read" and read != written:
            return None
        if shift != "0" and self._nodes > 1 and int(shift) * self._nodes != self._ranks:
            return None  # would access files of another process on the same node
        return {
            "files": int(files),
            "folder": "own" if "-u" in options else "shared",
            "file_bytes": int(written),
            "cache": "other_rank" if shift != "0" else "cached",
        }

    def _other(self, options: dict[str, str]) -> PrintedFigure:
        """Return the case of what Scope does not measure."""
        covered = ("-n", "-i", "-d", "-v")
        others = " ".join(f"{name} {value}".strip() for name, value in options.items() if name not in covered)
        files, said = options.get("-n", "0"), others or "none"
        given = [
            Given(parameter("files", "files", [0], role="size"), int(files) if files.isdigit() else 0),
            Given(parameter("options", "options", ["none", said]), said),
        ]
        summary = "rates of operations on directories and files that Scope does not measure"
        return self.foreign(OTHER, summary, _METRICS, given, self._ranks)


def _options(command: str) -> dict[str, str]:
    """Return the options of a command line with their values, which are empty for options without a value."""
    options: dict[str, str] = {}
    last = ""
    for word in words(command)[1:]:
        if word.startswith("-") and not word[1:].isdigit():
            last, _, value = word.partition("=")
            options[last] = value
        elif last:
            options[last] = word
            last = ""
    return options
