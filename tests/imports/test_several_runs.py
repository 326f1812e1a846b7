"""Logs of several runs: in order, cut, repeated, or with their lines between one another."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import chain

import pytest

from hpcscope.exchange import imports
from hpcscope.exchange.imports import PrintedFigure, Reading
from hpcscope.exchange.imports.lines import decoded, lines
from tests.imports.reading import DATA, data, read

LABELLED = {"osu-7.4-latency-labelled.txt"}
"""Their lines have prefixes of a launcher: a log of which half has them is not one that a launcher writes."""
AMBIGUOUS = {
    "fio": "JSON without its end, of which whole groups are read only where nothing follows",
    "hpcc": "a summary without a title may be that of the sections before it",
    "netperf": "keys without a title may be those of the title before them",
    "netpipe": "what a run says before its first row may be said by the next one: neither has a title",
}
"""Formats of which a cut run and the next may be one; the guide says so where a figure depends on it."""
WITH_OUTPUTS = [name for name in imports.names() if name not in {"csv", "jsonl"}]
"""Scope's own exports are tried where they are written."""
LOGS = 40
NAMES = ("ior", "osu", "nccl-tests", "stream", "imb", "hp2p", "linktest")


@cache
def outputs() -> dict[str, list[str]]:
    """Return the texts of real outputs by their format."""
    found: dict[str, list[str]] = {}
    for path in sorted(DATA.iterdir()):
        if path.is_file() and path.name not in LABELLED:
            text = decoded(path.name, path.read_bytes())
            (name,) = [one for one in imports.names() if imports.format_of(one).claims(lines(text))]
            found.setdefault(name, []).append(text if text.endswith("\n") else f"{text}\n")
    return found


def texts(name: str) -> list[str]:
    """Return those that are not JSON, of which a cut one is none."""
    return [run for run in outputs()[name] if not run.lstrip().startswith("{")]


def reading(name: str, text: str) -> Reading:
    return imports.read(imports.format_of(name), lines(text))


def counted(figures: Iterable[PrintedFigure], failures: bool = True) -> Counter[str]:
    plain = (replace(one, line=1) if failures else replace(one, line=1, failure="") for one in figures)
    return Counter(map(repr, plain))


def test_every_format_has_an_output() -> None:
    assert sorted(outputs()) == sorted(WITH_OUTPUTS)


@pytest.mark.parametrize("name", WITH_OUTPUTS)
def test_every_run_of_a_log_says_what_it_says_alone(name: str) -> None:
    for first in outputs()[name]:
        for second in outputs()[name]:
            alone = counted([*reading(name, first).figures, *reading(name, second).figures])
            assert counted(reading(name, first + second).figures) == alone


@pytest.mark.parametrize("name", WITH_OUTPUTS)
def test_runs_that_a_shell_loop_wrote_are_told_apart(name: str) -> None:
    """Whole runs in any order and number, with the lines of a shell between them."""
    chance = random.Random(name)
    for _ in range(LOGS // 4):
        runs = chance.choices(outputs()[name], k=chance.randrange(2, 6))
        log = "".join(f"+ srun ./benchmark -i {place}\n{run}" for place, run in enumerate(runs))
        alone = chain.from_iterable(reading(name, run).figures for run in runs)
        assert counted(reading(name, log).figures) == counted(alone)


@pytest.mark.parametrize("name", [name for name in WITH_OUTPUTS if name not in {*AMBIGUOUS, "caliper", "reframe"}])
def test_a_cut_run_takes_nothing_from_the_next(name: str) -> None:
    chance = random.Random(f"cut {name}")
    whole = texts(name)
    for _ in range(LOGS):
        first, second = chance.choice(whole), chance.choice(whole)
        rows = first.splitlines(keepends=True)
        cut = "".join(rows[: chance.randrange(1, len(rows))])
        found = reading(name, cut + second)
        alone = counted([*reading(name, cut).figures, *reading(name, second).figures])
        assert counted(found.figures) == alone


@pytest.mark.parametrize("name", NAMES)
def test_lines_of_two_runs_between_one_another_make_no_third(name: str) -> None:
    """Every figure is one of the two runs, which are of the same cases; what cannot be told apart is refused."""
    chance = random.Random(f"mixed {name}")
    end = getattr(imports.format_of(name), "ENDS", None)
    # A table of one row, or the rest of a run, cannot show that a row of another one stands in it.
    whole = [run for run in outputs()[name] if not end or [line for line in lines(run) if end.match(line.text)]]
    whole = [run for run in whole if "MPI-CUDA" not in run]
    refused = []
    for _ in range(LOGS):
        first = chance.choice(whole)
        second = re.sub(r"(?<=\d[.]\d)\d(?=\d*\s)", lambda _: str(chance.randrange(10)), first)
        left = [run.splitlines(keepends=True) for run in (first, second)]
        log = ""
        while any(left):
            of = chance.choice([one for one in left if one])
            log += "".join(of.pop(0) for _ in range(min(len(of), chance.randrange(1, 4))))
        found = reading(name, log)
        truth = [*reading(name, first).figures, *reading(name, second).figures]
        assert not counted(found.figures, failures=False) - counted(truth, failures=False), log
        refused += found.refused
    assert refused
    assert all(re.match(r"lines \d+ to \d+ are not read: ", one) for one in refused)


def test_three_runs_of_ior_are_three_cases() -> None:
    found = read("ior", data("ior-three-runs.txt"))
    cases = found.figures("storage.write", "bandwidth_bytes_per_s")
    assert [one.parameters["transfer_bytes"] for one in cases] == [20 << 20, 1 << 20, 2 << 20]
    assert [one.parameters["file_bytes"] for one in cases] == [200 << 20, 300 << 20, 100 << 20]
    assert [one.values for one in cases] == [(500.0 * 2**20,), (250.0 * 2**20,), (100.0 * 2**20,)]
    assert not found.unread


def test_buffers_of_sender_and_receiver_are_parameters() -> None:
    found = read("osu", data("osu-5.6.3-cuda.txt"))
    cases = found.figures("mpi.osu_latency", "time_s")
    buffers = [(one.parameters["sender"], one.parameters["receiver"]) for one in cases]
    assert buffers == [("device", "device"), ("host", "device"), ("host", "host"), ("device", "device")]
    assert [one.values for one in cases] == [(21e-6,), (11e-6,), (1e-6,), (4e-6,)]
    assert not found.unread


@pytest.mark.parametrize(("title", "buffers"), [("Latency", "unknown"), ("Allreduce Latency", "device")])
def test_buffers_that_are_not_printed_are_unknown(title: str, buffers: str) -> None:
    """Version 7.5 prints the same title with `D D` and with `H D`."""
    output = f"# OSU MPI-CUDA {title} Test v7.5\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n1   19.73\n"
    (one,) = read("osu", output).reading.figures
    assert (one.parameters["sender"], one.parameters["receiver"]) == (buffers, buffers)


def test_a_size_with_a_fraction_is_that_of_its_row() -> None:
    found = read("ior", data("ior-4.1-fractional-block.txt"))
    (case,) = found.figures("storage.write", "bandwidth_bytes_per_s")
    assert (case.values, case.parameters["file_bytes"]) == ((400.0 * 2**20,), 10_240_000 * 1024)


def test_rows_of_an_old_alltoall_have_no_operation() -> None:
    found = read("nccl-tests", data("nccl-tests-2.9-alltoall.txt"))
    assert found.values("network.nccl_unknown", "time_s") == [18.67e-6, 19.17e-6, 18.74e-6, 18.88e-6]
    assert not found.unread
