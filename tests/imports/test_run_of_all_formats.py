"""One run of every output: what is derived from measured runs is derived from imported ones, or is not missed."""

from __future__ import annotations

from pathlib import Path

from scope.engine.imports import imported
from scope.findings.read import read_findings
from scope.statistics.summarise import read_summaries
from tests.imports.reading import DATA
from tests.imports.test_formats import FILES


def test_a_run_of_all_outputs(tmp_path: Path) -> None:
    run = imported(None, [DATA / file for file in FILES], None, tmp_path / "run")
    summaries = read_summaries(run)
    assert {one.origin for one in summaries} == {"imported"}
    single = next(one for one in summaries if one.printed == "" and one.benchmark == "storage.write")
    assert single.n > 1
    assert single.ci_low is not None
    wrong = [one for one in summaries if not one.valid]
    assert {one.reason.partition(":")[0] for one in wrong} == {"failed"}
    failed = [one for one in read_findings(run) if one.code == "failed-case"]
    assert {one.where["benchmark"] for one in failed} == {one.benchmark for one in wrong}
    assert all(one.severity == "error" for one in failed)
    reasons = [str(evidence.value) for one in failed for evidence in one.evidence]
    assert "residual 5.76474530e-03: FAILED" in reasons
    assert not [one for one in read_findings(run) if one.code == "unread-lines"]
    assert (run / "report.html").stat().st_size > 10_000
