"""The results of a run in the formats of other programs, read again by these programs or by their libraries."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from hpcscope import units
from hpcscope.cli import dispatch
from hpcscope.engine.export import exported
from hpcscope.errors import UsageError
from hpcscope.exchange import exports
from hpcscope.exchange.exports import csv as csv_format
from hpcscope.findings.results import Run
from hpcscope.plan.placement import Placement
from hpcscope.rundirectory import RunDirectory, RunFile, read_json
from hpcscope.statistics.summarise import read_summaries
from hpcscope.statistics.summary import Summary, headlines
from tests.declared import described
from tests.messages import mentions
from tests.patience import PATIENCE_S

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


def test_every_format_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch("export", ["--help"]) == 0
    said = capsys.readouterr().out
    guide = Path("docs/how-to/exchange.md").read_text()
    for name in exports.names():
        assert re.search(rf"^ +{name}  +\w", said, re.MULTILINE)
        assert re.search(rf"^\| .*`{name}`", guide, re.MULTILINE)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_written(name: str, golden_run: Path, tmp_path: Path) -> None:
    only = ["--only", "mpi.broadcast"] if name == "extrap" else []
    made = tmp_path / "made"
    assert dispatch("export", [name, str(golden_run), "-o", str(made), *only]) == 0
    files = [each for each in made.rglob("*") if each.is_file()] if made.is_dir() else [made]
    assert all(each.stat().st_size for each in files)


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


def test_a_line_of_json_is_a_whole_summary(golden_run: Path) -> None:
    lines = map(json.loads, exported("jsonl", [golden_run]).splitlines())
    read = [Summary.model_validate({k: v for k, v in line.items() if k not in ("run", "hosts")}) for line in lines]
    assert read == figures(golden_run)


def test_no_parameter_has_the_name_of_a_column() -> None:
    names = {one["name"] for benchmark in described() for one in benchmark["parameters"]}
    assert not names & {*csv_format.FACTS, *csv_format.FIGURES, csv_format.SAMPLES, "instance"}


def test_pandas_reads_typed_columns(golden_run: Path, tmp_path: Path) -> None:
    import pandas  # takes a second to load, which every worker would wait for

    for name, read in (("arrow", pandas.read_feather), ("parquet", pandas.read_parquet)):
        (tmp_path / name).write_bytes(exported(name, [golden_run]))
        table = read(tmp_path / name)
        expected = figures(golden_run)
        assert list(table["median"]) == [one.median for one in expected]
        assert list(table["placement"]) == [str(one.placement) for one in expected]
        assert table["ranks"].dtype.kind == "i"
        of_latency = table[table["benchmark"] == "mpi.latency"]
        assert set(of_latency["message_bytes"]) >= {0, 1024, 4194304}


def test_what_is_no_text_needs_a_place(
    golden_run: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert dispatch("export", ["parquet", str(golden_run), "--only", "mpi.barrier"]) == 0
    assert capfdbinary.readouterr().out.startswith(b"PAR1")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert dispatch("export", ["parquet", str(golden_run)]) == 2
    assert b"name a file with --output" in capfdbinary.readouterr().err
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert dispatch("export", ["arrow", str(golden_run)]) == 2
    assert b"needs pyarrow, which is not installed" in capfdbinary.readouterr().err


def test_a_trace_shows_what_was_measured_when(golden_run: Path) -> None:
    """By the documented fields: complete events that do not overlap on a thread, counters, names of threads."""
    run, samples = Run(golden_run), Run(golden_run).raw_samples
    events = json.loads(exported("chrome", [golden_run]))["traceEvents"]
    slices = [one for one in events if one["ph"] == "X"]
    launches = [one for one in slices if one["cat"] == "launch"]
    visits = [one for one in slices if one["cat"].startswith(("mpi.", "node.", "network.", "operation.", "algo"))]
    assert len(launches) == len(samples.launches)
    assert len(visits) == len(samples.cases)
    assert {one["ph"] for one in events} <= {"X", "C", "M"}
    for thread in {one["tid"] for one in slices}:
        ordered = sorted((one["ts"], one["ts"] + one["dur"]) for one in slices if one["tid"] == thread)
        assert all(end <= begin for (_, end), (begin, _) in pairwise(ordered))
        assert all(begin <= end for begin, end in ordered)
    first = next(one for one in visits if one["cat"] == "mpi.barrier")
    barrier = next(one for one in samples.cases if one.case.label == first["name"])
    assert first["ts"] == round((barrier.started_unix_s - run.record.started_unix_s) * 1e6)
    assert first["args"]["isolated repetitions"] == int(barrier.times[0].counted.sum())
    counted = [one for one in events if one["ph"] == "C" and "arithmetic" in one["name"]]
    assert len(counted) == len(samples.sentinels)


def test_hatchet_gets_a_tree_and_thicket_the_run(golden_run: Path) -> None:
    """By what the reader of Caliper's split JSON asks for: nodes after their parents, a row for each."""
    found = json.loads(exported("thicket", [golden_run]))
    nodes, columns = found["nodes"], found["columns"]
    assert all(one.get("parent", -1) < at for at, one in enumerate(nodes))
    assert [row[0] for row in found["data"]] == [row[-1] for row in found["data"]] == list(range(len(nodes)))
    assert [one["is_value"] for one in found["column_metadata"]] == [False, *[True] * (len(columns) - 2), False]
    expected = next(one for one in figures(golden_run) if one.metric == "latency_s")
    node = next(at for at, one in enumerate(nodes) if one["label"] == expected.label)
    values = dict(zip(columns, found["data"][node], strict=True))
    assert (values["latency_s"], values["latency_s high"]) == (expected.median, expected.ci_high)
    assert nodes[nodes[node]["parent"]]["label"] == expected.benchmark
    assert found["run"] == read_json(RunDirectory(golden_run).run, RunFile).name


def test_a_check_for_reframe_is_the_runs_cases_and_figures(golden_run: Path, hostile: Path) -> None:
    text = exported("reframe", [golden_run], ["mpi.latency", "mpi.barrier"])
    tree = ast.parse(text)
    values = {
        one.targets[0].id: ast.literal_eval(one.value)  # type: ignore[attr-defined]
        for one in tree.body
        if isinstance(one, ast.Assign)
    }
    assert set(values["BENCHMARKS"]) == {"mpi.latency", "mpi.barrier"}
    expected = {one.median: one for one in figures(golden_run) if one.benchmark == "mpi.latency"}
    most, cases, checked = values["BENCHMARKS"]["mpi.latency"]
    assert most == 2
    assert set(cases) == {one.request for one in expected.values()}
    assert len({name for name, *_ in checked}) == len(checked) == len(expected)
    lines = map(json.loads, exported("jsonl", [golden_run], ["mpi.latency"]).splitlines())
    keys = ("benchmark", "parameters", "ranks", "transport", "placement", "metric")
    known = {json.dumps([line[key] for key in keys], sort_keys=True): line["median"] for line in lines}
    for _, identity, median, unit, lower, share in checked:
        one = expected[median]
        assert known[identity] == median
        assert (unit, lower) == (one.unit, one.better == "lower")
        worse = (one.ci_high if lower else one.ci_low) / median
        assert share == pytest.approx(abs(worse - 1) * 2**0.5, abs=1e-4)
    named = exported("reframe", [hostile], ["mpi.barrier"])
    assert ast.literal_eval(
        next(one.value for one in ast.parse(named).body if isinstance(one, ast.Assign))
    ).startswith("<b>")


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
    series = [(sample.name, json.dumps(sample.labels)) for one in families.values() for sample in one.samples]
    assert len(set(series)) == len(series)
    assert {one.type for one in families.values()} == {"gauge"}
    assert "scope_latency_low_seconds" in families
    with pytest.raises(UsageError, match=r"\b2$"):
        exported("openmetrics", [golden_run, golden_run])


def test_types_of_node_and_bindings_are_series_of_their_own(golden_run: Path) -> None:
    each = Run(golden_run)
    one = next(one for one in each.headlines if one.benchmark == "mpi.barrier")
    kinds = ("core", "none", "core:type1", "core:type2", "node")
    alike = [one.model_copy(update={"placement": Placement.parse(kind)}) for kind in kinds]
    run = each.replaced(statistics=alike)
    lines = [
        line
        for line in exports.writer("openmetrics")([run]).splitlines()
        if line.startswith("scope_time_seconds{")
    ]
    assert len({line.rpartition(" ")[0] for line in lines}) == len(kinds)
    rows = csv.DictReader(io.StringIO(exports.writer("csv")([run])))
    assert [row["placement"] for row in rows] == list(kinds)


def test_the_dashboard_asks_for_gauges_and_labels_that_are_written(golden_run: Path) -> None:
    families = {one.name: one for one in text_string_to_metric_families(exported("openmetrics", [golden_run]))}
    board = json.loads(Path("docs/how-to/grafana-dashboard.json").read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    asked += [one["definition"] for one in board["templating"]["list"] if "definition" in one]
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"]) > 3
    given = "instance"  # by Prometheus
    for expression in asked:
        (name,) = set(re.findall(r"scope_\w+", expression))
        wanted = dict(re.findall(r'(\w+)=~?"([^"]*)"', expression))
        labels = [sample.labels for sample in families[name].samples]
        fixed = {key: value for key, value in wanted.items() if "$" not in value}
        assert any(fixed.items() <= one.items() for one in labels), expression
        assert set(wanted) <= {given}.union(*labels)
        assert set(re.findall(r"label_values\(\w+, (\w+)\)", expression)) <= {given}.union(*labels)


def test_a_test_report_tells_wrong_from_slow_from_skipped(golden_run: Path, hostile: Path) -> None:
    (before,) = ElementTree.fromstring(exported("junit", [golden_run]))
    (suite,) = ElementTree.fromstring(exported("junit", [hostile]))
    for name in ("failures", "errors", "skipped"):
        assert int(suite.attrib[name]) == int(before.attrib[name]) + 1
    cases = {one.samples_key for one in read_summaries(hostile) if one.primary}
    assert int(suite.attrib["tests"]) == len(cases) + len(read_json(RunDirectory(hostile).run, RunFile).skipped)
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
    with pytest.raises(UsageError, match="--only"):
        exported("extrap", [golden_run])


def test_a_data_sheet_says_what_was_not_measured(golden_run: Path, hostile: Path) -> None:
    lines = exported("data-sheet", [hostile]).splitlines()
    entries = dict(re.split(r"  +", line.strip(), maxsplit=1) for line in lines if re.match(r"  \S.*  \S", line))
    assert "algorithm.linpack" in entries["R_max"], "what to run"
    stream = max(
        (one for one in figures(golden_run) if one.benchmark == "node.stream" and one.unit == "B/s"),
        key=lambda one: (one.ranks, one.parameters["array_bytes"], one.median),
    )
    shown = units.interval(stream.median, stream.ci_low, stream.ci_high, "B/s")
    assert entries["Memory bandwidth"] == f"{shown} ({stream.label})"
    assert "µs" in entries["Latency inside a host"] or "ns" in entries["Latency inside a host"]
    assert "\x1b" not in "".join(lines)


def test_latex_sets_the_table(hostile: Path, tmp_path: Path) -> None:
    text = exported("latex", [hostile])
    tables = len({(case.benchmark, case.metric) for case in figures(hostile)})
    assert text.count("\\\\\n") == len(figures(hostile)) + tables
    if shutil.which("pdflatex") is None:
        return  # as on machines that test nothing else with it
    text = re.sub(r"(?<=l|\{)S+(?=\})", lambda column: "r" * len(column[0]), text)  # of siunitx, likewise
    document = r"\documentclass{article}\usepackage{textcomp}\begin{document}\input{t}\end{document}"
    for rule in ("toprule", "midrule", "bottomrule"):  # of booktabs, which not every LaTeX has
        text = text.replace(f"\\{rule}", "\\hline")
    (tmp_path / "t.tex").write_text(text)
    (tmp_path / "d.tex").write_text(document)
    words = ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "d.tex"]
    ended = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=PATIENCE_S
    )
    assert ended.returncode == 0, ended.stdout[-2000:]


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (["nothing", "RUN"], "nothing: ... arrow, bencher"),
        (["json", "RUN"], "thicket; ... jsonl?"),
        (["csv", "nowhere"], "nowhere"),
        (["csv", "RUN", "--only", "mpi.nothing"], "mpi.nothing"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], refusal: str, golden_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dispatch("export", [str(golden_run) if word == "RUN" else word for word in words]) == 2
    said = capsys.readouterr().err
    assert mentions(said, refusal)
    assert said.count("\n") == 1
