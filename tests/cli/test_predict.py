"""`scope predict`: what it prints, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scope.cli import dispatch

Capture = pytest.CaptureFixture[str]


def test_it_prints_predictions_and_their_validation(golden_run: Path, capsys: Capture) -> None:
    words = ["--algorithm", "cannon", "--n", "512", "--ranks", "1..4,16,64"]
    assert dispatch("predict", [str(golden_run), *words]) == 0
    output = capsys.readouterr().out
    assert "algorithm.matmul_cannon variant=plain: predicted" in output
    assert "predicted and measured" in output
    assert "more than the 16 ranks that were validated" in output
    assert "median error" in output
    assert "over 6 measured points" in output


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


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--algorithm", "canon", "--n", "1"], "--algorithm canon: must be one of cannon, relaxation, sort"),
        (["--algorithm", "cannon", "--n", "0"], "--n 0: must be at least 1"),
        (["--algorithm", "cannon", "--n", "many"], "--n many: must be an integer"),
        (["--algorithm", "cannon", "--n", "8", "--ranks", "4..1"], "--ranks 4..1: must be numbers"),
        (["--algorithm", "cannon", "--n", "8", "--with", "x"], "--with x: must be key=value"),
        (["--algorithm", "sort", "--n", "1Mi"], "no measured point to validate algorithm.sort_psrs against"),
        (["--algorithm", "cannon", "--n", "8", "--variant", "tuned"], "matmul_cannon variant=tuned against"),
        (["--algorithm", "cannon", "--n", "8", "--transport", "tcp"], "no measured point to validate"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_line(golden_run: Path, capsys: Capture, words: list[str], says: str) -> None:
    assert dispatch("predict", [str(golden_run), *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert says in said.err
    assert len(said.err.strip().splitlines()) == 1
