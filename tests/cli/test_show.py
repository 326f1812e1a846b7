"""`scope show`, `scope report` and `scope compare` as a person types them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from hpcscope.engine.analysis import analyze
from tests import golden_run as golden
from tests.cli.scope_command import answered, scope
from tests.comparison.runs import summary, write
from tests.messages import mentions


@pytest.fixture(scope="module")
def slower(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two runs of one case, the second 8 % slower."""
    folder = tmp_path_factory.mktemp("pair")
    medians = [1e-6 * (1 + number / 1000) for number in range(6)]
    return write(folder / "a", [summary(1, medians)]), write(
        folder / "b", [summary(1, [1.08 * one for one in medians])]
    )


def test_show_prints_tables_and_json(golden_run, tmp_path):
    answer = scope(tmp_path, "show", str(golden_run), "mpi.barrier")
    assert (answer.code, answer.errors) == (0, "")
    assert "mpi.barrier" in answer.output
    assert "µs [" in answer.output
    rows = json.loads(answered(tmp_path, "show", str(golden_run), "mpi.barrier", "--json").output)
    assert [row["ranks"] for row in rows] == golden.BARRIER_RANKS
    assert all(row["primary"] for row in rows)
    every = json.loads(answered(tmp_path, "show", str(golden_run), "mpi.barrier", "--json", "--all").output)
    assert {row["definition"] for row in every} >= {"global", "max_rank", "mean_rank", "streaming", "barrier_loop"}


def test_report_writes_where_it_is_told(golden_run, tmp_path):
    answer = answered(tmp_path, "report", str(golden_run), "-o", "page.html", "--open", "no")
    assert (answer.code, answer.output.strip()) == (0, "page.html")
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")


def test_compare_of_a_run_with_itself_is_quiet(golden_run, tmp_path):
    answer = answered(tmp_path, "compare", str(golden_run), str(golden_run), "--fail-on-regression")
    assert answer.code == 0
    assert answer.output.startswith("A and B are the same run.")


def test_a_regression_fails_only_when_asked_and_large_enough(slower, tmp_path):
    a, b = map(str, slower)
    assert scope(tmp_path, "compare", a, b, "--fail-on-regression").code == 1
    assert answered(tmp_path, "compare", a, b).code == 0
    assert answered(tmp_path, "compare", a, b, "--fail-on-regression", "5%").code == 1
    assert answered(tmp_path, "compare", a, b, "--fail-on-regression", "10%").code == 0
    assert answered(tmp_path, "compare", "--fail-on-regression", "5%", a, b).code == 1
    assert answered(tmp_path, "compare", b, a, "--fail-on-regression").code == 0


def test_compare_speaks_json_and_html(slower, tmp_path):
    a, b = map(str, slower)
    said = json.loads(answered(tmp_path, "compare", a, b, "--json", "--html", "page.html").output)
    assert said["counts"]["worse"] == 1
    assert said["cases"][0]["verdict"] == "worse"
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "ping-pong, 1 B" in page


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["show", "nowhere"], "nowhere: "),
        (["report", "nowhere"], "nowhere: "),
        (["compare", "nowhere", "nowhere"], "nowhere: "),
        (["compare", "nowhere"], "two"),
        (["compare", "nowhere", "nowhere", "--fail-on-regression", "100"], "--fail-on-regression 100"),
        (["compare", "nowhere", "nowhere", "--threshold", "-1"], "--threshold -1: "),
    ],
)
def test_bad_input_is_one_line(tmp_path, words, expected):
    assert mentions(answered(tmp_path, *words).refusal(), expected)


def test_a_run_without_statistics_names_the_remedy(golden_raw, tmp_path):
    run = Path(shutil.copytree(golden_raw, tmp_path / "raw"))
    assert "scope analyze" in answered(tmp_path, "show", str(run)).refusal()


def test_a_future_format_is_refused_by_each(golden_copy, tmp_path):
    analyze(golden_copy)
    text = json.loads((golden_copy / "statistics.json").read_text())
    (golden_copy / "statistics.json").write_text(json.dumps(text | {"format": 99}))
    (golden_copy / "checksums.sha256").unlink()
    for words in (["show", "golden"], ["report", "golden"], ["compare", "golden", "golden"]):
        refusal = answered(golden_copy.parent, *words).refusal()
        assert "statistics.json" in refusal
        assert "99" in refusal
