"""`scope predict`: what it prints, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hpcscope.cli import dispatch
from hpcscope.engine.predict import size_of
from hpcscope.errors import UsageError
from hpcscope.report.run.prediction_table import VALIDATED
from tests.declared import catalog
from tests.messages import mentions

Capture = pytest.CaptureFixture[str]


def test_it_prints_predictions_and_their_validation(golden_run: Path, capsys: Capture) -> None:
    words = ["--algorithm", "cannon", "--n", "512", "--ranks", "1..4,16,64"]
    assert dispatch("predict", [str(golden_run), *words]) == 0
    output = capsys.readouterr().out
    assert mentions(output, "algorithm.matmul_cannon variant=plain, ... 512")
    assert all(head in output for head in VALIDATED)
    assert "the 16 ranks" in output, "up to which it was validated"
    assert 0 < output.index("median error") < output.index("efficiency"), "how far to trust it comes first"
    assert mentions(output, "median error ... 6 measured points")


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("1..64", [1, 2, 4, 8, 16, 32, 64]),
        ("1..4,16,64", [1, 2, 4, 16, 64]),
        ("3..20", [3, 4, 8, 16, 20]),
        ("5..7", [5, 7]),
        ("8..8", [8]),
        ("1,2,3", [1, 2, 3]),
        ("1..16777216", [1 << power for power in range(25)]),
    ],
)
def test_a_range_is_its_ends_and_powers_of_two(
    asked: str, given: list[int], golden_run: Path, capsys: Capture
) -> None:
    words = ["--algorithm", "cannon", "--n", "512", "--ranks", asked]
    assert dispatch("predict", [str(golden_run), *words, "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["predicted"]
    assert [point["ranks"] for point in points] == given
    assert dispatch("predict", [str(golden_run), *words]) == 0
    table = capsys.readouterr().out.split("efficiency")[1].split("predicted and measured")[0]
    bars = {int(line.split()[0]): line.count("█") + line.count("#") for line in table.splitlines() if "[" in line}
    speedups = {point["ranks"]: point["speedup"]["value"] for point in points}
    assert list(bars) == given
    assert bars[max(speedups, key=lambda count: speedups[count])] == max(bars.values())


def test_json_has_every_figure_with_its_interval(golden_run: Path, capsys: Capture) -> None:
    words = ["--algorithm", "cannon", "--n", "512", "--ranks", "4", "--variant", "transposed", "--json"]
    assert dispatch("predict", [str(golden_run), *words]) == 0
    output = capsys.readouterr().out
    answer = json.loads(output)
    assert answer["parameters"] == {"variant": "transposed"}
    (point,) = answer["predicted"]
    for name in ("compute_s", "communicate_s", "total_s", "speedup"):
        figure = point[name]
        assert figure["low"] <= figure["value"] <= figure["high"]
    assert point["role"] == "predicted"
    measured = {(p["size"], p["ranks"]): p for p in answer["validation"]}
    assert len(measured) == 9
    at = measured[512, 4]
    assert at["error"] == pytest.approx(at["total_s"]["value"] / at["measured_total_s"]["value"] - 1)
    assert at["total_s"]["value"] == pytest.approx(point["total_s"]["value"])


def test_all_grids_are_predicted_best_first(golden_run: Path, capsys: Capture) -> None:
    words = ["--algorithm", "cannon", "--n", "512", "--ranks", "4,16", "--grids"]
    assert dispatch("predict", [str(golden_run), *words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [best["ranks"] for best in answer["best_grids"]] == [4, 16]
    for best in answer["best_grids"]:
        mine = [point for point in answer["predicted"] if point["ranks"] == best["ranks"]]
        times = [point["total_s"]["value"] for point in mine]
        assert times == sorted(times)
        assert sorted(point["grid"]["grid_rows"] for point in mine) == [
            rows for rows in (1, 2, 4, 8, 16) if rows <= best["ranks"]
        ]
        rows, columns = best["grid"]
        assert (rows, rows * columns) == (mine[0]["grid"]["grid_rows"], best["ranks"])
        near = [time for time in times[1:] if time < times[0] * (1 + answer["median_error"])]
        assert len(best["equivalent"]) == len(near)
    assert dispatch("predict", [str(golden_run), *words]) == 0
    output = capsys.readouterr().out
    rows, columns = answer["best_grids"][1]["grid"]
    assert mentions(output, f"16 ranks ... {rows} x {columns}")


def test_a_size_is_a_number_or_one_of_the_choices() -> None:
    assert size_of("T106", "application.shallow_water", catalog()) == 106
    assert size_of("8Mi", "algorithm.sort_psrs", catalog()) == 8 << 20
    with pytest.raises(UsageError, match=r"--n T43: .*T42, T21, T63, T85, T106, T170"):
        size_of("T43", "application.shallow_water", catalog())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--algorithm", "canon", "--n", "1"], "--algorithm canon: ... cannon, relaxation, shallow"),
        (["--algorithm", "cannon", "--n", "0"], "--n 0: ... 1"),
        (["--algorithm", "cannon", "--n", "many"], "--n many: "),
        (["--algorithm", "cannon", "--n", "8", "--grids", "--grid-rows", "2"], "--grid-rows 2: ... --grids"),
        (["--algorithm", "sort", "--n", "1Mi", "--grids"], "--grids: "),
        (["--algorithm", "cannon", "--n", "8", "--ranks", "4..1"], "--ranks 4..1: "),
        (["--algorithm", "cannon", "--n", "8", "--ranks", "1..16777217"], "--ranks 1..16777217: ... 16777216"),
        (["--algorithm", "cannon", "--n", "8", "--with", "x"], "--with x: ... key=value"),
        (["--algorithm", "sort", "--n", "1Mi"], "validate algorithm.sort_psrs"),
        (["--algorithm", "cannon", "--n", "8", "--variant", "tuned"], "matmul_cannon variant=tuned against"),
        (["--algorithm", "cannon", "--n", "8", "--transport", "tcp"], "validate algorithm.matmul_cannon"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_line(golden_run: Path, capsys: Capture, words: list[str], says: str) -> None:
    assert dispatch("predict", [str(golden_run), *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert mentions(said.err, says)
    assert len(said.err.strip().splitlines()) == 1
