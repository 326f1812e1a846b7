"""What every format of `scope import` does with the outputs of real programs, cut, mixed and disguised."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from hpcscope.errors import UsageError
from hpcscope.exchange import imports
from hpcscope.exchange.imports import PrintedFigure
from hpcscope.exchange.imports.lines import lines
from tests.imports.reading import DATA, data, read

OURS = ("babelstream", "fio", "hpcc", "hpcg", "hpl", "ior", "mdtest", "npb", "stream")
FILES = sorted(file.name for file in DATA.iterdir() if file.name.startswith(OURS))
STRUCTURED = ("fio-", "ior-json")
"""JSON: a whole, of which no line stands alone."""
TABLES = [file for file in FILES if not file.startswith(STRUCTURED)]
NOISE = """Loading openmpi/4.1.4
  Loading requirement: gcc/12.2.0
srun: job 4711 queued and waiting for resources
--------------------------------------------------------------------------
WARNING: There was an error initializing an OpenFabrics device.
  Local host:   node017
slurmstepd: error: *** JOB 4711 ON node017 CANCELLED AT 2026-11-23T14:30:00 DUE TO TIME LIMIT ***
"""
"""What a batch system prints around the lines of a program."""


def _format(file: str) -> str:
    return file.partition("-")[0]


def _without_lines(figures: list[PrintedFigure]) -> list[PrintedFigure]:
    return [replace(one, line=1) for one in figures]


def _says(file: str, output: str) -> list[PrintedFigure]:
    found = imports.read(imports.format_of(_format(file)), lines(output))
    return _without_lines(found.figures)


@pytest.mark.parametrize("file", FILES)
def test_every_line_is_understood_by_its_own_format_alone(file: str) -> None:
    found = read(_format(file), data(file))
    assert found.unread == []
    assert found.reading.figures
    assert all(value > 0 for one in found.reading.figures for value in one.values)


@pytest.mark.parametrize("file", FILES)
def test_noise_around_an_output_is_all_that_is_not_understood(file: str) -> None:
    output = NOISE + data(file) + NOISE
    found = read(_format(file), output)
    assert _without_lines(found.reading.figures) == _says(file, data(file))
    assert found.unread == [line for line in NOISE.splitlines() if line.strip("-")] * 2


@pytest.mark.parametrize("file", [file for file in FILES if file not in TABLES])
def test_a_line_of_noise_in_a_document_changes_no_figure(file: str) -> None:
    rows = data(file).splitlines()
    rows.insert(len(rows) // 2, "[node017:1234] 3 more processes have sent help message help-mpi-btl.txt")
    assert _says(file, "\n".join(rows) + "\n") == _says(file, data(file))


def _behind(prefix: str, output: str) -> str:
    return "".join(f"{prefix}{line}\n" for line in output.splitlines())


@pytest.mark.parametrize(
    "disguise",
    [
        lambda output: output.replace("\n", "\r\n"),
        lambda output: "".join(f"0: {line}\n" for line in output.splitlines()),
        lambda output: f"\x1b[32m{output}\x1b[0m",
        lambda output: _behind("node-17.cluster: ", output),
        lambda output: _behind("2026-05-01T12:00:00.1234567Z ", _behind("mpi-1  | ", output)),
        lambda output: _behind("Fri May  1 12:00:00 2026[1,0]<stdout>:", output),
        lambda output: _behind("[Fri May  1 12:00:00 2026][1,0][node017:123]<stdout>: ", output),
        lambda output: _behind("[0@node017]", output),
        lambda output: _behind("    ", output),
    ],
    ids=["CRLF", "srun --label", "colors", "pdsh", "containers", "Open MPI 4", "Open MPI 5", "MPICH", "indented"],
)
def test_terminals_and_launchers_change_no_figure(disguise: Callable[[str], str]) -> None:
    for file in FILES:
        assert _says(file, disguise(data(file))) == _says(file, data(file)), file


def test_lines_of_several_hosts_are_told_apart() -> None:
    rows = data("stream-5.10.txt").splitlines()
    mixed = "".join(f"node{host}: {row}\n" for row in rows for host in (1, 2))
    assert _says("stream-5.10.txt", mixed) == _says("stream-5.10.txt", data("stream-5.10.txt")) * 2


@pytest.mark.parametrize("file", FILES)
def test_two_runs_in_a_file_are_two_runs(file: str) -> None:
    assert _says(file, data(file) * 2) == _says(file, data(file)) * 2


@pytest.mark.parametrize("file", ["netpipe-3.7-mpi.txt", "netpipe-3.7-tcp.txt"])
def test_rows_that_a_program_numbers_are_no_labels(file: str) -> None:
    once, twice = read("netpipe", data(file)).reading.figures, read("netpipe", data(file) * 2).reading.figures
    assert [one.benchmark for one in twice] == [one.benchmark for one in once] * 2
    assert [one.values for one in twice] == [one.values for one in once] * 2


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("[1,0]<stdout>:a b\n[1,1]<stdout>:c d\n", ["a b", "c d"]),
        ("nprocs: 2, min: 1 ms, max: 2 ms, avg: 1 ms\n" * 4, ["nprocs: 2, min: 1 ms, max: 2 ms, avg: 1 ms"] * 4),
    ],
)
def test_tags_are_taken_off_and_words_of_programs_are_not(text: str, plain: list[str]) -> None:
    assert [line.text for line in lines(text)] == plain


@pytest.mark.parametrize("file", FILES)
def test_a_cut_output_has_no_figure_that_the_whole_one_has_not(file: str) -> None:
    output = data(file)
    whole = _says(file, output)
    format_ = imports.format_of(_format(file))
    rows = output.splitlines(keepends=True)
    last = max(one.line for one in read(_format(file), output).reading.figures)
    before = sum(map(len, rows[: last - 1]))
    for end in {
        *range(1, len(output), max(1, len(output) // 25)),
        *range(before, before + len(rows[last - 1]), 2),
    }:
        found = lines(output[:end])
        try:
            if not format_.claims(found):
                continue
        except UsageError:
            continue  # JSON without its end
        for one in imports.read(format_, found).figures:
            like = (each for each in whole if replace(one, line=1, values=()) == replace(each, values=()))
            assert one.failure or any(one.values == each.values[: len(one.values)] for each in like), end


@pytest.mark.parametrize("file", TABLES)
def test_a_decimal_comma_is_a_point(file: str) -> None:
    if "csv" in file:
        return
    output = re.sub(r"(?<=[ =]\d)\.(?=\d)|(?<=\d\d)\.(?=\d+(?:\s|e[+-]|$))", ",", data(file))
    versions = re.compile(r"(?i)version|HPLinpack|Revision|^\d\.\d$")
    kept = [
        old if versions.search(old) else new
        for old, new in zip(data(file).splitlines(), output.splitlines(), strict=True)
    ]
    found = _says(file, "\n".join(kept) + "\n")
    assert [replace(one, failure=one.failure.replace(",", ".")) for one in found] == [
        replace(one, failure=one.failure.replace(",", ".")) for one in _says(file, data(file))
    ]
