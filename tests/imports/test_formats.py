"""What every format of `scope import` does with the outputs of real programs, cut, mixed and disguised."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from scope import imports
from scope.catalog.catalog import Catalog
from scope.catalog.declared import declared
from scope.imports import Figure
from scope.imports.lines import lines
from tests.imports.outputs import DATA, NOISE, mixed, read, text, unread

FILES = sorted(file.name for file in DATA.iterdir() if file.name.partition("-")[0] in imports.names())
STRUCTURED = ("fio-", "ior-json")
"""JSON: a whole, of which no line stands alone."""
TABLES = [file for file in FILES if not file.startswith(STRUCTURED)]


def _format(file: str) -> str:
    return file.partition("-")[0]


def _without_lines(figures: list[Figure]) -> list[Figure]:
    return [replace(one, line=1) for one in figures]


def _says(file: str, output: str) -> list[Figure]:
    return _without_lines(read(_format(file), output).figures)


@pytest.mark.parametrize("file", FILES)
def test_every_line_is_understood_and_every_figure_declared(file: str) -> None:
    reading = read(_format(file), text(file))
    assert reading.figures
    assert unread(reading, text(file)) == []
    catalog = Catalog([*declared(), *reading.benchmarks])
    for one in reading.figures:
        benchmark = catalog[one.benchmark]
        assert one.metric in benchmark.metric
        for name, value in one.parameters.items():
            parameter = benchmark.parameter[name]
            assert parameter.type == "integer" or value in parameter.choices, (one.benchmark, name, value)
        assert all(value > 0 or one.metric == "residual" for value in one.values)
        assert catalog.described(one.benchmark, {**catalog.defaults(one.benchmark), **one.parameters})


@pytest.mark.parametrize("file", FILES)
def test_only_its_own_format_claims_an_output(file: str) -> None:
    found = lines(text(file))
    assert [name for name in imports.names() if imports.format_of(name).claims(found)] == [_format(file)]


@pytest.mark.parametrize("file", FILES)
def test_noise_around_an_output_is_all_that_is_not_understood(file: str) -> None:
    output = NOISE + text(file) + NOISE
    assert _says(file, output) == _says(file, text(file))
    said = [line.text for line in lines(NOISE) if line.text.strip("-")]
    assert unread(read(_format(file), output), output) == said * 2


@pytest.mark.parametrize("file", TABLES)
def test_noise_in_the_middle_changes_no_figure(file: str) -> None:
    output = mixed(text(file))
    assert _says(file, output) == _says(file, text(file))


@pytest.mark.parametrize(
    "disguise",
    [
        lambda output: output.replace("\n", "\r\n"),
        lambda output: "".join(f"0: {line}\n" for line in output.splitlines()),
        lambda output: f"\x1b[32m{output}\x1b[0m",
    ],
    ids=["CRLF", "srun --label", "colours"],
)
def test_terminals_and_launchers_change_no_figure(disguise: Callable[[str], str]) -> None:
    for file in FILES:
        assert _says(file, disguise(text(file))) == _says(file, text(file)), file


@pytest.mark.parametrize("file", FILES)
def test_two_runs_in_a_file_are_two_runs(file: str) -> None:
    assert _says(file, text(file) * 2) == _says(file, text(file)) * 2


@pytest.mark.parametrize("file", FILES)
def test_a_cut_output_has_no_figure_that_the_whole_one_has_not(file: str) -> None:
    output = text(file)
    whole = {(one.benchmark, str(one.parameters), one.metric, one.values) for one in _says(file, output)}
    format_ = imports.format_of(_format(file))
    rows = output.splitlines(keepends=True)
    last = max(one.line for one in read(_format(file), output).figures)
    before = sum(map(len, rows[: last - 1]))
    for end in {*range(1, len(output), max(1, len(output) // 100)), *range(before, before + len(rows[last - 1]))}:
        found = lines(output[:end])
        if not format_.claims(found):
            continue
        for one in format_.read(found).figures:
            assert one.failure or (one.benchmark, str(one.parameters), one.metric, one.values) in whole, end


@pytest.mark.parametrize("file", TABLES)
def test_a_decimal_comma_is_a_point(file: str) -> None:
    if "csv" in file:
        return
    output = re.sub(r"(?<=[ =]\d)\.(?=\d)|(?<=\d\d)\.(?=\d+(?:\s|e[+-]|$))", ",", text(file))
    versions = re.compile(r"(?i)version|HPLinpack|Revision|^\d\.\d$")
    kept = [
        old if versions.search(old) else new
        for old, new in zip(text(file).splitlines(), output.splitlines(), strict=True)
    ]
    found = _says(file, "\n".join(kept) + "\n")
    assert [replace(one, failure=one.failure.replace(",", ".")) for one in found] == [
        replace(one, failure=one.failure.replace(",", ".")) for one in _says(file, text(file))
    ]
