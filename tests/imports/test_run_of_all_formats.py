"""One run of every output: what is derived from measured runs is derived from imported ones, or is not missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcscope.engine.imports import imported
from hpcscope.errors import UsageError
from hpcscope.findings.results import Run
from hpcscope.rundirectory import RunDirectory, RunFile, read_json
from hpcscope.statistics.summarise import read_summaries
from tests.imports.reading import DATA, data
from tests.imports.test_formats import FILES
from tests.messages import mentions


def test_a_run_of_all_outputs(tmp_path: Path) -> None:
    run = imported(None, [DATA / file for file in FILES], None, tmp_path / "run")
    summaries = read_summaries(run)
    assert {one.origin for one in summaries} == {"imported"}
    single = next(one for one in summaries if one.printed == "" and one.benchmark == "storage.write")
    assert single.n > 1
    assert single.ci_low is not None
    wrong = [one for one in summaries if not one.valid]
    assert {one.reason.partition(":")[0] for one in wrong} == {"failed"}
    failed = [one for one in Run(run).findings if one.code == "failed-case"]
    assert {one.where["benchmark"] for one in failed} == {one.benchmark for one in wrong}
    assert all(one.severity == "error" for one in failed)
    reasons = [str(evidence.value) for one in failed for evidence in one.evidence]
    assert "residual 5.76474530e-03: FAILED" in reasons
    (title,) = [one.title for one in failed if "BabelStream" in one.title]
    assert mentions(title, "BabelStream, 3984589 B, precision float, 1 rank ... 4 more cases: ")
    assert not [one for one in Run(run).findings if one.code == "unread-lines"]
    assert (run / "report.html").stat().st_size > 10_000


def test_a_number_that_none_can_be_is_no_figure(tmp_path: Path) -> None:
    file = tmp_path / "ior.txt"
    file.write_text(data("ior-json-4.1.txt").replace('"bwMiB": 4968.8186', '"bwMiB": 1e999'))
    run = imported(None, [file], None, tmp_path / "run")
    assert not [one for one in read_summaries(run) if one.benchmark == "storage.write"]
    assert [one.line for one in read_json(RunDirectory(run).run, RunFile).imported.unread] == [81]


def test_a_number_of_thousands_of_digits_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "stream.txt"
    file.write_text(data("stream-5.10.txt").replace("Array size = 2000000", f"Array size = {'9' * 5000}"))
    with pytest.raises(UsageError, match=r"stream\.txt: "):
        imported(None, [file], None, tmp_path / "run")
    assert not (tmp_path / "run").exists()
