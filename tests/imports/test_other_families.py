"""Families of programs whose figures Scope does not measure: every figure is on the line that says it."""

from __future__ import annotations

import re

import pytest

from hpcscope.exchange import imports
from tests.imports.reading import data, read

MIB = 2**20


@pytest.mark.parametrize(
    ("format_", "file"),
    [
        ("io500", "io500-sc24.txt"),
        ("io500", "io500-2019-script.txt"),
        ("gpcnet", "gpcnet-1.3-load.txt"),
        ("hpl-mxp", "nvidia-hpl-mxp.txt"),
        ("linktest", "linktest-1.2.txt"),
        ("linktest", "linktest-1.2-serial.txt"),
        ("hp2p", "hp2p-4.1.txt"),
        ("hp2p", "hp2p-4.1-snapshots.txt"),
        ("osu", "osu-py-latency.txt"),
        ("imb", "imb-2021-mt.txt"),
        ("stream", "stream-untitled.txt"),
        ("babelstream", "babelstream-2.0.txt"),
        ("babelstream", "babelstream-3.3-csv.txt"),
    ],
)
def test_every_line_is_understood_and_says_its_figures(format_: str, file: str) -> None:
    found = read(format_, data(file))
    assert found.unread == []
    assert found.reading.figures
    rows = data(file).splitlines()
    for one in found.reading.figures:
        words = [word.removesuffix("us") for word in rows[one.line - 1].replace(",", " ").split()]
        numbers = [float(word.rstrip("X")) for word in words if _is_number(word)]
        powers = [10**exponent for exponent in range(-9, 10)] + [2**20, 2**30]
        printed = [number * power for number in numbers for power in powers]
        assert any(one.values[0] == pytest.approx(number, rel=1e-12) for number in printed), one


def _is_number(word: str) -> bool:
    return re.fullmatch(r"\d+(\.\d+)?(e[+-]\d+)?X?", word) is not None


def test_phases_of_io500() -> None:
    found = read("io500", data("io500-sc24.txt"))
    rates = {one.parameters["phase"]: one for one in found.figures("storage.io500", "bandwidth_bytes_per_s")}
    assert rates["ior-easy-write"].values == (2.5 * 2**30,)
    assert rates["ior-hard-read"].values == (0.75 * 2**30,)
    assert rates["score"].values == (1.369306 * 2**30,)
    assert [name for name, one in rates.items() if one.failure] == ["ior-easy-write", "score"]
    operations = {
        one.parameters["phase"]: one.values for one in found.figures("storage.io500", "operations_per_s")
    }
    assert (operations["find"], operations["mdtest-hard-delete"]) == ((250_000.0,), (4000.0,))
    assert found.values("storage.io500", "score") == [5.4986]
    assert all(one.ranks is None for one in found.reading.figures)
    old = read("io500", data("io500-2019-script.txt"))
    assert old.values("storage.io500", "bandwidth_bytes_per_s") == [5.5 * 2**30] * 2


def test_tables_of_gpcnet() -> None:
    found = read("gpcnet", data("gpcnet-1.3-load.txt"))
    alone, loaded = found.figures("network.gpcnet", "time_s")
    assert (alone.values, loaded.values, loaded.beside) == ((2.5e-6,), (5e-6,), {"p99": 16e-6})
    assert alone.parameters["table"] == "Isolated Network Tests"
    assert found.values("network.gpcnet", "bandwidth_bytes_per_s") == [4000 * MIB, 2000 * MIB]
    assert found.values("network.gpcnet", "impact") == [2.0, 2.0]
    assert {one.ranks for one in found.reading.figures} == {256}


def test_python_is_no_ping_pong_of_scope() -> None:
    found = read("osu", data("osu-py-latency.txt"))
    assert found.values("mpi.osu_python_mpi_latency", "time_s") == [12.25e-6, 12.5e-6, 20.75e-6]


def test_threads_of_imb_are_a_parameter() -> None:
    found = read("imb", data("imb-2021-mt.txt"))
    assert found.values("mpi.imb_mt_pingpongmt", "time_s") == [1.5e-6, 2.5e-6]
    (rate,) = found.figures("mpi.imb_mt_unibandmt", "message_rate_per_s")
    assert (rate.values, rate.parameters["threads"], rate.ranks) == ((2e6,), "4", 2)


def test_a_stream_without_a_version() -> None:
    found = read("stream", data("stream-untitled.txt"))
    assert found.values("node.stream", "bandwidth_bytes_per_s") == [64e9, 32e9, 48e9, 96e9]
    assert {one.parameters["array_bytes"] for one in found.reading.figures} == {8_000_000}


def test_hpl_mxp() -> None:
    found = read("hpl-mxp", data("nvidia-hpl-mxp.txt"))
    (rate,) = found.figures("algorithm.hpl_mxp", "flops_per_s")
    assert (rate.values, rate.ranks, rate.failure) == ((1.8e15,), 8, "")
    assert (rate.parameters["n"], rate.parameters["precision"]) == (400_000, "FP16")
    assert found.values("algorithm.hpl_mxp", "factorization_flops_per_s") == [3.4e15]
    wrong = read("hpl-mxp", data("nvidia-hpl-mxp.txt").replace("PASSED", "FAILED"))
    assert {one.failure for one in wrong.reading.figures} == {"residual 3.400000E-04: FAILED"}


def test_hpcg_of_intel() -> None:
    found = read("hpcg", data("hpcg-intel-3.0.txt"))
    assert found.unread == []
    assert found.reading.program == "HPCG 3.0"
    (rating,) = found.figures("application.hpcg", "flops_per_s")
    assert (rating.values, rating.ranks, rating.failure) == ((2e9,), 4, "")
    assert rating.parameters == {"nx": 16, "ny": 16, "nz": 16, "threads": 2}


def test_commas_at_the_ends_of_rows() -> None:
    found = read("babelstream", data("babelstream-3.3-csv.txt"))
    assert found.values("node.babelstream", "bandwidth_bytes_per_s") == [150e9, 148e9]


def test_the_last_summary_of_hp2p_counts() -> None:
    found = read("hp2p", data("hp2p-4.1-snapshots.txt"))
    (rate,) = found.figures("network.hp2p", "bandwidth_bytes_per_s")
    assert (rate.values, rate.ranks, rate.line) == ((125.04 * MIB,), 4, 94)
    assert rate.beside == {"minimum": 109.96 * MIB, "maximum": 138.07 * MIB}
    assert rate.parameters == {"pairs": "random", "message_bytes": 1024, "messages": 4}
    assert found.values("network.hp2p", "time_s") == [7.85e-6]
    assert found.values("network.hp2p", "efficiency") == [1.0316]
    cut = "\n".join(data("hp2p-4.1-snapshots.txt").splitlines()[:95])
    assert read("hp2p", cut).figures("network.hp2p", "time_s")[0].line < 70, "the snapshot before"


def test_a_bandwidth_of_hp2p_that_is_not_finite_is_left_out() -> None:
    found = read("hp2p", data("hp2p-4.1.txt"))
    assert [one.metric for one in found.reading.figures] == ["bandwidth_bytes_per_s", "time_s"]
    assert "hp2p: bisection bandwidth is left out: it was not finite" in found.reading.differences


def test_variables_of_a_report_by_reframe() -> None:
    """Its own report of four tests, two of which do not meet their reference: their values are right, too."""
    found = read("reframe", data("reframe-4.10.json"))
    assert (found.unread, found.reading.program, found.reading.hosts) == ([], "ReFrame 4.10.4", ["a"])
    rates = found.figures("application.reframe", "bandwidth_bytes_per_s")
    tests = [one.parameters["test"] for one in rates]
    assert tests == ["Bandwidth %size=8", "Bandwidth %size=1024", "Broken %size=8", "Broken %size=1024"]
    assert [one.values for one in rates] == [(12e6,), (1536e6,), (12e6,), (1536e6,)]
    assert {(one.ranks, one.failure, one.parameters["partition"]) for one in rates} == {(1, "", "generic:default")}
    assert found.values("application.reframe", "time_s") == [2.25e-6] * 4
    rows = data("reframe-4.10.json").splitlines()
    for one in found.reading.figures:
        number = float(rows[one.line - 1].strip(" ,"))
        assert one.values[0] == pytest.approx(number * (1e6 if one in rates else 1e-6), rel=1e-12)


def test_a_test_of_reframe_that_is_not_sane_is_failed() -> None:
    text = data("reframe-4.10.json").replace('"fail_phase": "performance"', '"fail_phase": "sanity"')
    assert [bool(one.failure) for one in read("reframe", text).figures("application.reframe", "time_s")] == [
        False,
        False,
        True,
        True,
    ]


def test_other_units_of_reframe_stay_as_they_are() -> None:
    text = data("reframe-4.10.json").replace('"us"', '"iterations"').replace('"MB/s"', '"GFLOPs"')
    found = read("reframe", text)
    assert found.values("application.reframe", "value_iterations") == [2.25] * 4
    assert found.values("application.reframe", "flops_per_s")[0] == 12e9
    metrics = {one.name: one for each in found.reading.benchmarks for one in each.metrics}
    assert (metrics["value_iterations"].unit, metrics["value_iterations"].better) == ("iterations", "higher")


def test_each_of_two_other_units_of_reframe_is_kept() -> None:
    text = data("reframe-4.10.json").replace('"us"', '"iterations"').replace('"MB/s"', '"%"')
    found = read("reframe", text)
    (merged,) = imports.merged(found.reading.benchmarks)
    assert {one.name: one.unit for one in merged.metrics} == {
        "value_iterations": "iterations",
        "value_percent": "%",
    }
