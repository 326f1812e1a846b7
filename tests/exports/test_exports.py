"""The results of a run in the formats of other programs, read again by these programs or by their libraries."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from scope import exports
from scope.cli import dispatch
from scope.engine.export import exported
from scope.errors import UsageError
from scope.rundirectory import Run, RunDirectory, read_json
from scope.statistics.summarise import read_summaries
from scope.statistics.summary import Summary, headlines

FORMATS = exports.names()


def figures(run: Path) -> list[Summary]:
    return headlines(read_summaries(run))


@pytest.fixture
def hostile(golden_run: Path, tmp_path: Path) -> Path:
    """A run with markup in its name, and cases that failed, took too long or were never tried."""
    run = Path(shutil.copytree(golden_run, tmp_path / "run"))
    record = json.loads(RunDirectory(run).run.read_text())
    skipped = {"benchmark": "mpi.spawn", "case": "children=1", "reason": "needs 2 & more"}
    record.update(name='<b>|x|</b> "\\ $(id) \x1b[31m', skipped=[*record["skipped"], skipped])
    RunDirectory(run).run.write_text(json.dumps(record))
    statistics = json.loads(RunDirectory(run).statistics.read_text())
    cases = {json.dumps([one["benchmark"], one["label"]]): one for one in statistics["summaries"]}
    wrong = dict(zip(cases, ("failed: 3 of 4 <bytes>", "timeout: 60 s"), strict=False))
    for one in statistics["summaries"]:
        reason = wrong.get(json.dumps([one["benchmark"], one["label"]]))
        if reason:
            one.update(valid=False, reason=reason)
    RunDirectory(run).statistics.write_text(json.dumps(statistics))
    (run / "checksums.sha256").unlink(missing_ok=True)
    return run


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_written_and_explained(
    name: str, golden_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    only = ["--only", "mpi.broadcast"] if name == "extrap" else []
    file = tmp_path / "file"
    assert dispatch("export", [name, str(golden_run), "-o", str(file), *only]) == 0
    assert file.read_text()
    assert dispatch("export", ["--help"]) == 0
    assert f"{name}:" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["csv", "jsonl"])
def test_tables_hold_every_figure_to_the_last_digit(name: str, golden_run: Path) -> None:
    text = exported(name, [golden_run])
    rows = list(csv.DictReader(io.StringIO(text))) if name == "csv" else list(map(json.loads, text.splitlines()))
    expected = figures(golden_run)
    assert len(rows) == len(expected) > 50
    for row, one in zip(rows, expected, strict=True):
        assert (row["benchmark"], row["metric"], int(row["ranks"])) == (one.benchmark, one.metric, one.ranks)
        assert float(row["median"]) == one.median
        parameters = row if name == "csv" else row["parameters"]
        assert {key: str(parameters[key]) for key in one.parameters} == {
            k: str(v) for k, v in one.parameters.items()
        }


def test_prometheus_reads_the_gauges(golden_run: Path) -> None:
    families = {one.name: one for one in text_string_to_metric_families(exported("openmetrics", [golden_run]))}
    found = {
        json.dumps([one.labels[key] for key in ("benchmark", "ranks", "transport", "mode")]): one.value
        for one in families["scope_latency_seconds"].samples
        if one.labels.get("message_bytes") == "0"
    }
    for one in figures(golden_run):
        if one.metric == "latency_s" and one.parameters.get("message_bytes") == 0:
            assert (
                found[json.dumps([one.benchmark, str(one.ranks), one.transport, one.parameters["mode"]])]
                == one.median
            )
    assert found
    assert {one.type for one in families.values()} == {"gauge"}
    assert "scope_latency_low_seconds" in families
    with pytest.raises(UsageError, match="must have one run, not 2"):
        exported("openmetrics", [golden_run, golden_run])


def test_a_test_report_tells_wrong_from_slow_from_skipped(golden_run: Path, hostile: Path) -> None:
    (before,) = ElementTree.fromstring(exported("junit", [golden_run]))
    (suite,) = ElementTree.fromstring(exported("junit", [hostile]))
    for name in ("failures", "errors", "skipped"):
        assert int(suite.attrib[name]) == int(before.attrib[name]) + 1
    cases = {one.samples_key for one in read_summaries(hostile) if one.primary}
    assert int(suite.attrib["tests"]) == len(cases) + len(read_json(RunDirectory(hostile).run, Run).skipped)
    assert "failed: 3 of 4 <bytes>" in [one.attrib["message"] for one in suite.iterfind("testcase/failure")]


def test_a_summary_holds_no_markup_of_the_run(hostile: Path) -> None:
    text = exported("markdown", [hostile])
    assert text.startswith('# \\<b\\>\\|x\\|\\</b\\> "\\\\ $(id) ')
    assert "failed: 3 of 4 \\<bytes\\>" in text


def test_findings_are_the_same_from_run_to_run(golden_run: Path, hostile: Path) -> None:
    one, other = (json.loads(exported("code-quality", [run])) for run in (golden_run, hostile))
    assert one
    assert [each["fingerprint"] for each in one] == [each["fingerprint"] for each in other]
    assert {each["severity"] for each in one} <= {"info", "minor", "major", "critical", "blocker"}


def test_bencher_gets_values_with_their_intervals(golden_run: Path) -> None:
    found = json.loads(exported("bencher", [golden_run], ["mpi.latency"]))
    assert set(found) == {one.label for one in figures(golden_run) if one.benchmark == "mpi.latency"}
    for measures in found.values():
        for one in measures.values():
            assert one["lower_value"] <= one["value"] <= one["upper_value"]


def test_one_file_for_extra_p_has_one_set_of_points(golden_run: Path) -> None:
    lines = list(map(json.loads, exported("extrap", [golden_run], ["mpi.broadcast"]).splitlines()))
    assert {tuple(one["params"]) for one in lines} == {("message_bytes", "ranks")}
    assert {one["metric"] for one in lines} == {"time_s"}
    with pytest.raises(UsageError, match=r"has no .*, which .* varies: .* choose with --only"):
        exported("extrap", [golden_run])


def test_latex_sets_the_table(hostile: Path, tmp_path: Path) -> None:
    text = exported("latex", [hostile])
    assert text.count("\\\\\n") == len(figures(hostile)) + 1
    if shutil.which("pdflatex") is None:
        return  # as on machines that test nothing else with it
    document = r"\documentclass{article}\usepackage{textcomp}\begin{document}\input{t}\end{document}"
    for rule in ("toprule", "midrule", "bottomrule"):  # of booktabs, which not every LaTeX has
        text = text.replace(f"\\{rule}", "\\hline")
    (tmp_path / "t.tex").write_text(text)
    (tmp_path / "d.tex").write_text(document)
    words = ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "d.tex"]
    ended = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=60)
    assert ended.returncode == 0, ended.stdout[-2000:]


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (["nothing", "RUN"], "nothing: unknown format; of a run it must be one of bencher, code-quality, csv"),
        (["csv", "nowhere"], "nowhere"),
        (["csv", "RUN", "--only", "mpi.nothing"], "matches no benchmark of this run"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], refusal: str, golden_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dispatch("export", [str(golden_run) if word == "RUN" else word for word in words]) == 2
    said = capsys.readouterr().err
    assert refusal in said
    assert said.count("\n") == 1
