"""STREAM and BabelStream: the best of all repetitions but the first, as printed."""

from __future__ import annotations

import pytest

from tests.imports.reading import Read, data, read


def _bandwidth(found: Read, benchmark: str) -> dict[str, float]:
    figures = found.figures(benchmark, "bandwidth_bytes_per_s")
    return {str(one.parameters["kernel"]): one.values[0] for one in figures}


def test_stream_with_threads_is_the_kernel_on_as_many_ranks() -> None:
    found = read("stream", data("stream-5.10-openmp.txt"))
    assert _bandwidth(found, "node.stream") == {
        "copy": 8555.2e6,
        "scale": 12111.9e6,
        "add": 11389.2e6,
        "triad": 14538.8e6,
    }
    triad = found.figures("node.stream", "bandwidth_bytes_per_s")[3]
    assert (triad.parameters["array_bytes"], triad.ranks) == (4_000_000 * 8 // 2, 2)
    assert (triad.statistic, triad.repetitions, triad.failure) == ("maximum", 19, "")
    time = found.figures("node.stream", "time_s")[3]
    assert (time.values, time.statistic) == ((0.006603,), "minimum")
    assert time.beside == {"mean": 0.012565, "minimum": 0.006603, "maximum": 0.020}
    assert found.reading.program == "STREAM 5.10"


@pytest.mark.parametrize(
    ("file", "ranks", "array_bytes", "triad"),
    [
        ("stream-5.10.txt", 1, 16_000_000, 53275.1e6),
        ("stream-5.9-openmp.txt", 2, 8_000_000, 78033.5628e6),
        ("stream-5.6-fortran.txt", 2, 80_000_000, 20739.7e6),
        ("stream-mpi-1.8-openmp.txt", 4, 4_000_000, 8516.6e6),
    ],
)
def test_versions_of_stream(file: str, ranks: int, array_bytes: int, triad: float) -> None:
    found = read("stream", data(file))
    assert _bandwidth(found, "node.stream")["triad"] == triad
    assert {(one.ranks, one.parameters["array_bytes"]) for one in found.reading.figures} == {(ranks, array_bytes)}
    assert {one.repetitions for one in found.reading.figures} == {9}


def test_a_wrong_solution_is_no_result() -> None:
    found = read("stream", data("stream-5.10-wrong.txt"))
    assert found.reading.figures
    assert all(one.failure.startswith("Failed Validation on array a[]") for one in found.reading.figures)


def test_an_output_without_its_validation_is_no_result() -> None:
    text, _, _ = data("stream-5.10.txt").partition("Solution Validates")
    (failure,) = {one.failure for one in read("stream", text).reading.figures}
    assert "validation" in failure


def test_single_precision_is_another_benchmark() -> None:
    found = read("stream", data("stream-5.10-single.txt"))
    assert {one.benchmark for one in found.reading.figures} == {"node.stream_single"}
    after = read(
        "stream", data("stream-5.10-single.txt") + data("stream-5.10.txt") + data("stream-5.6-fortran.txt")
    )
    assert [one.benchmark for one in after.reading.figures[::8]] == [
        "node.stream_single",
        "node.stream",
        "node.stream",
    ]


def test_babelstream_counts_in_its_own_units() -> None:
    found = read("babelstream", data("babelstream-5.0.txt"))
    assert _bandwidth(found, "node.babelstream")["dot"] == pytest.approx(56775.237e6)
    assert any("threads" in one for one in found.reading.missing)
    mebi = read("babelstream", data("babelstream-5.0-mebi.txt"))
    assert _bandwidth(mebi, "node.babelstream")["triad"] == pytest.approx(953.809 * 2**20)
    assert {one.failure for one in mebi.reading.figures} == {"Validation failed on sum. Error 0.00277866"}
    csv = read("babelstream", data("babelstream-5.0-csv.txt")).figures("node.babelstream", "time_s")[3]
    assert csv.parameters == {"kernel": "triad", "array_bytes": 16_000_000, "precision": "double"}
    assert (csv.values, csv.beside["mean"]) == ((0.0119956,), 0.0156731)
