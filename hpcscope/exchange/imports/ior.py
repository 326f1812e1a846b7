"""IOR: its text output, versions 2.10 to 4.1, and its JSON output, versions 3.2 to 4.1.

A repetition's bandwidth is the data of all processes / time from the first open to the last close, in MiB/s of
2^20 bytes (`ReduceIterResults` of ior.c; 2.10 prints only means). A test is a case of `storage.write` or
`storage.read` if its command line determines the case; every transfer then passes through one buffer. Other tests
become `storage.ior_write` and `storage.ior_read`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hpcscope.catalog.benchmark import Value
from hpcscope.exchange.imports import BANDWIDTH, TIME, Given, PrintedFigure, once, parameter
from hpcscope.exchange.imports.lines import TextLine, number, words
from hpcscope.exchange.imports.objects import Printed, mapping, objects
from hpcscope.exchange.imports.reader import DocumentReader, LineReader
from hpcscope.samples.records import Beside

MIB = 2**20
ACCESSES = ("write", "read")
_PLAIN = set("wrFCezcBWRkqv")
"""Options without a value with which a test remains a case of Scope."""
_VALUED = set("abtsioNdGXQO")
"""Options with a value with which a test remains a case of Scope."""
_UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}

_TITLE = re.compile(r"IOR-(\S+): MPI Coordinated Test of Parallel I/O")
_END = re.compile(r"(?:Run )?[Ff]inished\s*: ")
_COMMAND = re.compile(r"Command line(?: used)?\s*: (.*)$")
_JSON_TEST = re.compile(r'\s*"Command line"\s*: ".*ior\b')
_BEGIN = re.compile(r"(?:Options|Summary):\s*$")
_OPTION = re.compile(
    r"\s*(api|apiVersion|test filename|access|type|pattern|segments|ordering in a file|ordering inter file"
    r"|nodes|tasks|clients|clients per node|repetitions|xfersize|blocksize|aggregate filesize|task offset|verbose"
    r"|reorder random seed|Using stonewalling|stonewallingTime|stoneWallingWearOut|memoryBuffer|dataAccess"
    r"|GPUDirect"
    r"|Lustre stripe size|stripe count|dryRun)\s*[:=]\s*(.*?)\s*$"
)
_SIZE = re.compile(r"(\d+)([.,]\d+)? (bytes|KiB|MiB|GiB|TiB)$")
_CLIENTS = re.compile(r"(\d+) \((\d+) per node\)")
_NUMBER = r"\d+(?:[.,]\d+)?"
_ROW = re.compile(rf"(write|read)\s+({_NUMBER})((?:\s+(?:{_NUMBER}|NA)){{6,8}})\s+(\d+)\s*$")
_ROW_SIZES = {"block(KiB)": "blksiz", "xfer(KiB)": "xsize"}
_HEAD = re.compile(r"Operation\s+Max ?\(MiB\)")
_SUMMED = re.compile(r"(write|read)\s+(\d+[.,]\d\d)\s+(\d+[.,]\d\d)\s+(\d+[.,]\d\d)\s+(\d+[.,]\d\d)\s+(.*\D.*)$")
_NO_SYNC = re.compile(r"(?:ior )?WARNING: fsync\(\) (?:only available|not supported)")
_WRONG = re.compile(r"(?:ior )?(?:WARNING: )?([Ii]ncorrect data on .*)")
_SAID = re.compile(
    r"(?:Run )?(?:Began|began)\s*: |Machine\s*: |Test(?:ID| \d+ started)\s*: |StartTime\s*: "
    r"|Path\s*: |FS\s*: |Results:|access\s+bw\(MiB/s\)|remove\s+-|Max (?:Write|Read): |Summary of all tests:"
    r"|Participating tasks|Start time skew|Using reorderTasks|Commencing |Verifying contents|Re-reading the file"
    r"|\w{3} \w{3}\s+\d+ \d\d:\d\d:\d\d \d{4}\s*$|Using Time Stamp|Nodemap|write\s+-|read\s+-"
)


@dataclass
class _Test:
    """The printed content of one test."""

    command: str = ""
    options: dict[str, str] = field(default_factory=dict)
    rates: dict[str, list[float]] = field(default_factory=dict)
    times_s: dict[str, list[float]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    """Line number by access and repetition."""
    summed: dict[str, PrintedFigure] = field(default_factory=dict)
    """Mean and extremes of each access, if single repetitions are not printed."""
    exact: dict[str, int] = field(default_factory=dict)
    """Segments and sizes, from the summary at the end."""
    sync: bool = True
    """Whether a requested fsync is executed."""
    failure: str = ""

    def figures(self, reader: LineReader) -> Iterator[PrintedFigure]:
        """Yield the values, once the processes and sizes are known; the reader declares foreign cases."""
        for access in ACCESSES:
            case = self._case(access, reader) if access in {*self.rates, *self.summed} else None
            if case is None:
                continue
            case = replace(case, failure=self.failure, line=self.lines.get(access, 1))
            if rates := self.rates.get(access):
                yield replace(case, metric="bandwidth_bytes_per_s", values=tuple(rates))
                if times_s := self.times_s.get(access):
                    yield replace(case, metric="time_s", values=tuple(times_s))
            elif mean := self.summed.get(access):
                summary = replace(mean, benchmark=case.benchmark, parameters=case.parameters, ranks=case.ranks)
                yield replace(summary, repetitions=self._whole("repetitions"), failure=self.failure)

    def _case(self, access: str, reader: LineReader) -> PrintedFigure | None:
        tasks = self._whole("tasks") or self._clients[0]
        transfer, block = self._size("xfersize"), self._size("blocksize")
        segments = self._whole("segments") or self.exact.get("segcnt") or self._segments(tasks, block)
        if not (tasks and transfer and block and segments):
            return None
        own = self._own(access, segments)
        if own is None:
            given = self._given(transfer, block, segments)
            name, summary = f"storage.ior_{access}", "a test of IOR that Scope does not have"
            return reader.foreign(name, summary, [BANDWIDTH, TIME], given, tasks, f"IOR {access}")
        own |= {"file_bytes": block * segments, "transfer_bytes": transfer, "buffer_bytes": transfer}
        if own["layout"] == "strided":
            own["block_bytes"] = block
        return PrintedFigure(f"storage.{access}", own, tasks, "")

    def _own(self, access: str, segments: int) -> dict[str, Value] | None:
        """Return the parameters of Scope's equivalent case; None if Scope does not have one."""
        given = _given(self.command)
        interface = {"POSIX": "posix", "MPIIO": "mpiio"}.get(self.options.get("api", "").partition(" ")[0])
        if given is None or interface is None:
            return None
        single = "F" not in given
        direct = "B" in given or "useO_DIRECT=1" in given
        own: dict[str, Value] = {
            "interface": interface,
            "file": "shared" if single else "per_process",
            "layout": "strided" if single and segments > 1 else "segmented",
            "order": "random" if "z" in given else "sequential",
        }
        if interface == "mpiio":
            own["access"] = "collective" if "c" in given else "independent"
        if access == "write":
            sync = "fsync" if "e" in given and self.sync else "none"
            return own | {"sync": sync, "cache": "direct" if direct else "cached"}
        written = "w" in given or "r" not in given
        if not (written or direct):
            return None  # cache contents depend on who wrote the file, and when
        if "C" in given and not direct:
            return own | {"cache": "other_rank"} if self._nodes > 1 else None
        return own | {"cache": "direct" if direct else "cached"}

    def _given(self, transfer: int, block: int, segments: int) -> list[Given]:
        """Return the parameters of a test that Scope does not have."""
        each = self.options.get("access", "").startswith("file-per-process")
        random = self.options.get("ordering in a file", "").startswith("random")
        texts = (
            ("api", "POSIX", self.options.get("api", "").partition(" ")[0] or "unknown"),
            ("file", "shared", "per_process" if each else "shared"),
            ("order", "sequential", "random" if random else "sequential"),
            ("tasks", "no tasks offsets", self.options.get("ordering inter file", "") or "no tasks offsets"),
            ("options", "none", _others(self.command) or "none"),
        )
        sizes = (("transfer_bytes", "transfers of {} B", transfer), ("block_bytes", "blocks of {} B", block))
        given = [Given(parameter(name, name, [usual, text]), text) for name, usual, text in texts]
        for name, phrase, size in sizes:
            said = parameter(name, name, [0], "B", "size").model_copy(update={"words": [phrase]})
            given.append(Given(said, size))
        return [*given, Given(parameter("segments", "segments", [1]), segments)]

    @property
    def _nodes(self) -> int:
        tasks, of_a_node = self._clients
        return self._whole("nodes") or -(-tasks // of_a_node if of_a_node else 1)

    @property
    def _clients(self) -> tuple[int, int]:
        """Numbers of processes in total and per node, as versions before 3.2 print them; 0 if unknown."""
        found = _CLIENTS.match(self.options.get("clients", ""))
        if found:
            return int(found[1]), int(found[2])
        return self._whole("tasks") or 0, self._whole("clients per node") or 0

    def _segments(self, tasks: int | None, block: int | None) -> int | None:
        total = self._size("aggregate filesize")
        return total // (tasks * block) if total and tasks and block and total % (tasks * block) == 0 else None

    def _whole(self, name: str) -> int | None:
        text = self.options.get(name, "")
        return int(text) if text.isdigit() else None

    def _size(self, name: str) -> int | None:
        found = _SIZE.match(self.options.get(name, ""))
        exact = {"xfersize": "xsize", "blocksize": "blksiz"}.get(name, name)
        # A size with a fraction is rounded; the rows have the exact size.
        if found and not found[2]:
            once(self.exact, exact, int(found[1]) * _UNITS[found[3]])
        return self.exact.get(exact)


@dataclass
class _Reader(DocumentReader):
    """Reads the values of a run, which may have several tests."""

    TITLE = "IOR"
    BEGINS = (re.compile(r"WARNING: fsync\(\)"), _TITLE)
    CLAIMS = (_TITLE,)
    REFUSED = {_JSON_TEST: "is truncated JSON of IOR; must have at least one whole test"}
    DIFFERS = ("times of open, transfer and close, from the first rank to the last, are left out",)

    _documented: list[_Test] = field(default_factory=list)
    """The tests in JSON."""
    _tests: list[_Test] = field(default_factory=list)
    """The tests in the text output."""
    _command: str = ""
    _sync: bool = True
    _heads: Sequence[str] = ()
    _columns: Sequence[str] = ()

    @classmethod
    def claims(cls, lines: Sequence[TextLine]) -> bool:
        """Return whether the lines contain the program's JSON or its title; UsageError if no test is complete."""
        return any(_is_ior(printed) for printed in objects(lines)) or super().claims(lines)

    def _document(self, printed: Printed) -> set[int]:
        if not _is_ior(printed):
            return set()
        self.versions += [str(printed.value["Version"])] if "Version" in printed.value else []
        self._documented += _json(printed)
        return printed.numbers

    def _takes(self, line: TextLine) -> bool:
        text, tests = line.text, self._tests
        if title := _TITLE.match(text):
            self.versions.append(title[1])
        elif _NO_SYNC.match(text):
            self._sync = False
        elif found := _COMMAND.match(text):
            self._command = found[1]
        elif _BEGIN.match(text):
            tests.append(_Test(self._command, sync=self._sync))
            self._sync = True
        elif tests and (option := _OPTION.match(text)):
            once(tests[-1].options, option[1], option[2])
        elif _HEAD.match(text):
            self._heads = text.replace(" (", "(").replace("Std Dev", "StdDev").replace("Op grep", "").split()
        elif text.startswith("access "):
            self._columns = text.split()
        elif tests and line.ended and (row := _ROW.match(text)):
            _row(tests[-1], row, self._columns, line.number)
        elif tests and line.ended and (summed := _SUMMED.match(text)):
            _sum(tests, summed, self._heads, line.number)
        elif _END.match(text):
            once(self.facts, "their last line", line.number)
        elif tests and (wrong := _WRONG.match(text)):
            tests[-1].failure = wrong[1]
        else:
            return _SAID.match(text) is not None
        return True

    def close(self) -> None:
        """Add the values of all tests."""
        self.figures = [figure for test in [*self._documented, *self._tests] for figure in test.figures(self)]


def _row(test: _Test, row: re.Match[str], columns: Sequence[str], line: int) -> None:
    """Store a repetition: sizes, rate, and time, which is the column before the repetition's number."""
    access, rate, others, repetition = row.groups()
    once(test.rows, f"repetition {repetition} of {access}", line)
    for column, cell in zip(columns, row[0].split(), strict=False):
        if column in _ROW_SIZES and "," not in cell and float(cell) * 1024 % 1 == 0:
            once(test.exact, _ROW_SIZES[column], int(float(cell) * 1024))
    test.rates.setdefault(access, []).append(number(rate) * MIB)
    test.times_s.setdefault(access, []).append(number(others.split()[-1]))
    test.lines.setdefault(access, line)


def _sum(tests: Sequence[_Test], summed: re.Match[str], heads: Sequence[str], line: int) -> None:
    """Store the summary of a test: exact sizes, and the mean with the extremes."""
    columns = dict(zip(heads, summed[0].split(), strict=False))
    place = columns.get("Test#", "")
    test = tests[int(place)] if place.isdigit() and int(place) < len(tests) else tests[-1]
    numbers = {name: columns.get(name, "") for name in ("segcnt", "blksiz", "xsize")}
    for name, text in numbers.items():
        if text.isdigit():
            once(test.exact, name, int(text))
    most, least, mean = (number(summed[place]) * MIB for place in (2, 3, 4))
    beside: dict[Beside, float] = {"mean": mean, "minimum": least, "maximum": most}
    figure = PrintedFigure("", {}, None, "bandwidth_bytes_per_s", (mean,), "mean", line, beside=beside)
    test.summed.setdefault(summed[1], figure)


def _is_ior(printed: Printed) -> bool:
    tests = printed.value.get("tests")
    if "Command line" not in printed.value or not isinstance(tests, list):
        return False
    return all(isinstance(test, dict) for test in tests)


def _json(printed: Printed) -> list[_Test]:
    """Return the tests of an object; its times, with four decimals, are less precise than the rates."""
    lines = iter(printed.having("bwMiB"))
    tests = []
    for each in printed.value["tests"]:
        test = _Test(str(printed.value["Command line"]))
        options, parameters = mapping(each, "Options"), mapping(each, "Parameters")
        test.options = {name: str(value) for name, value in options.items()}
        names = {"segcnt": "segmentCount", "blksiz": "blockSize", "xsize": "transferSize"}
        test.exact = {name: parameters[key] for name, key in names.items() if isinstance(parameters.get(key), int)}
        for result in _results(each.get("Results")):
            access, rate = result.get("access"), result.get("bwMiB")
            line = next(lines, printed.lines[0].number) if "bwMiB" in result else 0
            if access in ACCESSES and isinstance(rate, float | int) and rate > 0:
                test.rates.setdefault(access, []).append(rate * MIB)
                test.lines.setdefault(access, line)
        tests.append(test)
    return tests


def _results(value: object) -> Iterator[Mapping[str, Any]]:
    """Yield the results of all repetitions, which are lists of lists in version 3.2."""
    if isinstance(value, list):
        for element in value:
            yield from _results(element)
    elif isinstance(value, dict):
        yield value


def _others(command: str) -> str:
    """Return the options that the other parameters do not cover."""
    rest = iter(words(command)[1:])
    found = []
    for word in rest:
        if word in ("-o", "-a", "-b", "-t", "-s", "-i"):
            next(rest, "")
        elif word == "-O" and (value := next(rest, "")).startswith("summaryFormat="):
            continue
        elif word == "-O":
            found += [word, value]
        elif word not in ("-w", "-r", "-v", "-F", "-z"):
            found.append(word)
    return " ".join(found)


def _given(command: str) -> set[str] | None:
    """Return the options of a command line; None if one of them makes the test differ from Scope's cases."""
    rest = iter(words(command)[1:])
    given: set[str] = set()
    for word in rest:
        if word == "--posix.odirect":
            given.add("B")
        elif re.fullmatch(r"-[A-Za-z]", word) and word[1] in _VALUED:
            value = next(rest, "")
            if word == "-O" and value not in ("useO_DIRECT=1",) and not value.startswith("summaryFormat="):
                return None
            given |= {word[1], value} if word == "-O" else {word[1]}
        elif re.fullmatch(r"-[A-Za-z]+", word) and set(word[1:]) <= _PLAIN:
            given |= set(word[1:])
        elif re.fullmatch(r"-[a-z]=?\d+[kmgt]?", word) and word[1] in _VALUED:
            given.add(word[1])
        else:
            return None
    return given or None
