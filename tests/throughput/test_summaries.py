"""Jobs and rounds with known figures: what the statistics say of them, and the first page of the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hpcscope.comparison.compare import compare
from hpcscope.engine.analysis import analyze
from hpcscope.errors import UsageError
from hpcscope.findings.results import Run
from hpcscope.report.run import page, readers
from hpcscope.samples.reader import read as read_samples
from hpcscope.samples.records import JobRecord, RoundRecord
from hpcscope.statistics.summary import Summary
from hpcscope.statistics.throughput import throughput_summaries
from tests.messages import numbers
from tests.throughput.synthetic import CATALOG, round_of, write


def summaries(records: list[JobRecord | RoundRecord]) -> dict[tuple[str, str], Summary]:
    """Return the summaries by the job (or nothing) and what it ran beside, and by metric."""
    jobs = [one for one in records if isinstance(one, JobRecord)]
    rounds = [one for one in records if isinstance(one, RoundRecord)]
    found = throughput_summaries(jobs, rounds, CATALOG)
    where = [
        str(one.parameters.get("job", "")).partition(":")[0] + str(one.parameters.get("beside", ""))
        for one in found
    ]
    return {(place, one.metric): one for place, one in zip(where, found, strict=True)}


def test_figures_follow_from_their_definitions() -> None:
    # Each round is slower than the one before: what is held against alone is of the same round.
    found = summaries([record for number in range(1, 8) for record in round_of(number, number)])
    medians = {key: one.median for key, one in found.items()}
    assert medians["longnothing", "turnaround_s"] == 16
    assert medians["longmix", "turnaround_s"] == 20
    assert medians["longmix", "slowdown"] == pytest.approx(1.25)
    assert medians["shortmix", "slowdown"] == pytest.approx(2)
    assert medians["shortmix", "processor_s"] == 4
    assert medians["", "jobs_per_hour"] == pytest.approx(3 * 3600 / 24)
    assert medians["", "turnaround_mean_s"] == pytest.approx(12)
    assert medians["", "utilization_share"] == pytest.approx((5 + 1 + 1) / 24)
    assert medians["", "efficiency_share"] == pytest.approx((2 * 4 + 1 + 1) / 24)
    assert medians["", "cost_core_s"] == pytest.approx(4 * 24 / 3)
    throughput = found["", "jobs_per_hour"]
    assert (throughput.launches, throughput.interval_basis, throughput.valid) == (7, "launches", True)
    assert throughput.ci_low is not None
    assert throughput.ci_low < 450 < (throughput.ci_high or 0)


def test_a_failed_job_leaves_no_throughput_but_the_others_their_times() -> None:
    found = summaries([*round_of(1), *round_of(2, status="failed")])
    assert not found["", "jobs_per_hour"].valid
    for part in ("1 of 10", "./short", "round 2", "exit code 3"):
        assert part in found["", "jobs_per_hour"].reason
    assert not found["shortmix", "turnaround_s"].valid
    assert found["longmix", "turnaround_s"].valid


def test_a_round_that_did_not_end_and_unknown_processor_times_are_left_out() -> None:
    records = [*round_of(1), *round_of(2, 100)[:-1]]
    unknown = records[2].model_copy(update={"processor_s": None})
    found = summaries([*records[:2], unknown, *records[3:]])
    assert found["longmix", "turnaround_s"].median == 5
    assert found["", "jobs_per_hour"].launches == 1
    assert ("", "utilization_share") not in found
    assert ("", "efficiency_share") in found


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write(tmp_path / "run")


def test_each_reader_has_a_view_of_the_first_page(run: Path) -> None:
    users, analysts, managers = readers.views(Run(run))
    assert [(one.name, one.figure[:6]) for one in users.answers] == [
        ("long, 2 ranks", "4.00 s"),
        ("short, 1 rank", "1.00 s"),
    ]
    assert "5.00 s [5.00, 5.00]" in users.answers[0].note, "in the mix"
    assert [one.figure for one in analysts.answers] == ["1.25 [1.25, 1.25]", "2.00 [2.00, 2.00]"]
    assert {one.name: one.figure for one in managers.answers}["Efficiency"] == "42 % [42, 42]"
    text = page.render(Run(run))
    assert "For managers" in text
    assert "scope run --case" not in text.split("<script", 1)[0]


def test_runs_of_a_mix_are_compared_like_any_other(run: Path) -> None:
    found = compare(run, run)
    assert {one.verdict for one in found.cases} == {"no difference"}
    assert len(found.cases) == 15


def test_a_run_of_benchmarks_has_the_views_of_its_programs(golden_run: Path) -> None:
    users, analysts, managers = readers.views(Run(golden_run))
    for view in (users, analysts, managers):
        assert [one.name for one in view.answers] == ["Cannon's algorithm, N = 512"]
    assert "serial" in analysts.answers[0].note
    assert managers.lacks == ""


def test_rounds_that_lack_samples_are_named(run: Path) -> None:
    samples = run / "samples.jsonl"
    samples.write_bytes(b"".join(samples.read_bytes().splitlines(keepends=True)[:-6]))
    analyze(run)
    findings = json.loads((run / "findings.json").read_text())["findings"]
    (found,) = [one for one in findings if one["code"] == "unfinished-run"]
    assert "1 of 7" in found["title"]


def test_a_round_that_lacks_the_line_of_a_job_is_left_out(run: Path) -> None:
    samples = run / "samples.jsonl"
    lines = samples.read_bytes().splitlines(keepends=True)
    samples.write_bytes(b"".join([*lines[:2], *lines[3:]]))
    read = read_samples(run, CATALOG)
    assert [one.round for one in read.rounds] == [2, 3, 4, 5, 6, 7]
    (damaged,) = read.damaged
    assert damaged.line == 5
    assert numbers(damaged.reason) == [1, 4, 5], "the round, its lines and its jobs"


def test_a_declaration_that_lacks_a_metric_is_named(run: Path) -> None:
    declared = run / "benchmarks.json"
    declared.write_text(declared.read_text().replace('"processor_s"', '"processor_t"'))
    with pytest.raises(UsageError, match=r"application\.job: .*\bprocessor_s: .*\bprocessor_t\b"):
        analyze(run)
