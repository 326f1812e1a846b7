"""From samples to findings in one go, as a user does it on a machine without MPI."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hpcscope.engine.analysis import analyze, explain
from hpcscope.rundirectory import RunDirectory
from tests.cli.scope_command import answered
from tests.messages import mentions
from tests.patience import PATIENCE_S

DERIVED = ["statistics.json", "models.json", "findings.json"]


def findings(run: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((run / "findings.json").read_text())["findings"]
    return found


def test_the_same_samples_give_the_same_files(golden_copy: Path) -> None:
    analyze(golden_copy)
    first = {name: (golden_copy / name).read_bytes() for name in DERIVED}
    analyze(golden_copy)
    assert {name: (golden_copy / name).read_bytes() for name in DERIVED} == first


def test_it_needs_no_mpi(golden_copy: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-c", "import hpcscope.cli; hpcscope.cli.main()", "analyze", str(golden_copy)]
    environment = {**os.environ, "PATH": str(tmp_path)}
    result = subprocess.run(
        words, capture_output=True, text=True, timeout=PATIENCE_S, env=environment, check=False
    )
    assert result.returncode == 0, result.stderr
    for name in [*DERIVED, "report.html"]:
        assert (golden_copy / name).stat().st_size > 1000
    (failed,) = [one for one in findings(golden_copy) if one["code"] == "wrong-data"]
    assert (failed["where"]["benchmark"], failed["where"]["ranks"]) == ("mpi.broadcast", 16)
    assert failed["evidence"][0]["value"].startswith("rank 7 on node1")
    assert "rank 7" in result.stdout


def test_old_results_are_replaced_not_trusted(golden_copy: Path) -> None:
    (golden_copy / "findings.json").write_text("{ broken")
    analyze(golden_copy)
    assert json.loads((golden_copy / "findings.json").read_text())["findings"]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        (
            "run.json",
            None,
            "golden: ... run.json",
        ),
        ("machine.json", None, "machine.json: "),
        ("benchmarks.json", None, "benchmarks.json: "),
        ("samples.jsonl", None, "samples.jsonl: "),
        ("run.json", '{"format": 9}', "run.json: format = 9: ... 2"),
        ("machine.json", '{"format": 3, "clusters": []}', "machine.json: format = 3"),
        ("machine.json", '{"format": 1', "machine.json:1: column 13: not JSON"),
        ("samples.jsonl", '{"record": "launch", "format": 3}\n', "samples.jsonl:1: format = 3"),
        ("samples.jsonl", '{"record": "case", "lau\n{}\n', "samples.jsonl:1: ... not JSON"),
        ("benchmarks.json", "[]", "node.stream: "),
    ],
)
def test_bad_files_are_one_line_and_lose_nothing(
    golden_copy: Path, tmp_path: Path, name: str, content: str | None, says: str
) -> None:
    path = golden_copy / name
    path.unlink()
    if content is not None:
        path.write_text(content)
    before = {file.name: file.read_bytes() for file in golden_copy.iterdir()}
    assert mentions(answered(tmp_path, "analyze", str(golden_copy)).refusal(), says)
    assert {file.name: file.read_bytes() for file in golden_copy.iterdir()} == before


def test_a_folder_that_is_no_run_is_one_line(tmp_path: Path) -> None:
    assert "absent" in answered(tmp_path, "analyze", str(tmp_path / "absent")).refusal()


def test_a_full_disk_is_one_line_and_keeps_the_samples(golden_copy: Path) -> None:
    samples = RunDirectory(golden_copy).samples.read_bytes()
    # Too small a file size limit stands for the full disk; it needs no privileges.
    program = (
        "import resource, signal, hpcscope.cli, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); hpcscope.cli.main()"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, "analyze", str(golden_copy)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert result.returncode == 1
    assert "statistics.json: " in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert RunDirectory(golden_copy).samples.read_bytes() == samples
    assert not list(golden_copy.glob(".statistics*")), "no temporary file stays"


def thin(record: dict[str, Any], kind: str) -> dict[str, Any] | None:
    """Leave of a run only what `kind` says."""
    case = record["record"] == "case"
    if kind == "one launch of each batch":
        return record if record["launch"] <= 10 else None
    if kind == "three launches of each batch":
        return record if record["launch"] <= 30 else None
    if kind == "the timer alone":
        return record if not case or record["benchmark"] == "node.timer" else None
    if kind == "no case at all":
        return None if case else record
    if kind == "nothing succeeded":
        change = {"status": "crashed", "reason": "signal 11", "series": [], "verification": None, "work": None}
        return record | change if case else record
    if kind == "one repetition" and case:
        shorter = [
            {
                **series,
                "warmup": 0,
                "elapsed_s": [row[:1] for row in series["elapsed_s"]],
                **({"entry_s": [row[:1] for row in series["entry_s"]]} if "entry_s" in series else {}),
                **({"valid": series["valid"][:1]} if "valid" in series else {}),
                **(
                    {"observed": {k: [r[:1] for r in rows] for k, rows in o.items()}}
                    if (o := series.get("observed"))
                    else {}
                ),
            }
            for series in record["series"]
        ]
        return record | {"series": shorter}
    if kind == "times of zero" and case:
        return record | {
            "series": [
                {**series, "elapsed_s": [[0.0] * len(row) for row in series["elapsed_s"]]}
                for series in record["series"]
            ]
        }
    if kind == "everything invalid" and case:
        return record | {
            "series": [{**series, "valid": [False] * len(series["elapsed_s"][0])} for series in record["series"]]
        }
    return record


@pytest.mark.parametrize(
    "kind",
    [
        "one launch of each batch",
        "three launches of each batch",
        "the timer alone",
        "no case at all",
        "nothing succeeded",
        "one repetition",
        "times of zero",
        "everything invalid",
    ],
)
def test_thin_runs_are_analysed_too(golden_copy: Path, kind: str) -> None:
    path = RunDirectory(golden_copy).samples
    records = [thin(json.loads(line), kind) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(record) + "\n" for record in records if record is not None))
    explain(golden_copy)
    summaries = json.loads((golden_copy / "statistics.json").read_text())["summaries"]
    codes = {finding["code"] for finding in findings(golden_copy)}
    valid = [summary for summary in summaries if summary["valid"]]
    if kind in ("nothing succeeded", "everything invalid", "no case at all"):
        assert valid == []
    else:
        assert valid
        assert all(s["median"] is not None for s in valid)
    assert ("unfinished-run" in codes) == (
        kind in ("one launch of each batch", "three launches of each batch", "the timer alone", "no case at all")
    )
    if kind == "times of zero":
        assert {s["definition"] for s in valid} == {"observed"}
        assert any("clock" in s["reason"] for s in summaries)
    if kind == "one launch of each batch":
        assert {s["interval_basis"] for s in valid} == {"samples"}
    if kind == "one repetition":
        assert {s["n"] for s in valid} == {6}
