"""Several visits of a launch to a case are one case: their times are joined, whatever each visit decided."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scope.errors import UsageError
from scope.machine.machine import Machine
from scope.models.derive import derive
from scope.rundirectory import RunDirectory, read_json
from scope.samples.reader import read
from scope.samples.samples import CaseSamples
from scope.statistics.summarise import summarise
from tests import golden_run as golden
from tests.declared import catalog

VISITS = 3


@pytest.fixture(scope="session")
def divided_raw(golden_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The launches of two ranks, every case divided into visits; read only."""
    run = Path(shutil.copytree(golden_raw, tmp_path_factory.mktemp("divided") / "golden"))
    divided(golden.shorten(run))
    return run


@pytest.fixture
def divided_copy(divided_raw: Path, tmp_path: Path) -> Path:
    """Such a run of one's own, to change."""
    return Path(shutil.copytree(divided_raw, tmp_path / "golden"))


PER_REPETITION = ("minimum_s", "minimum_rank", "maximum_s", "maximum_rank", "mean_s", "latest_exit_s")


def part(series: dict[str, Any], where: slice, operations: int) -> dict[str, Any]:
    """Return some repetitions of a series as a visit with so many times the operations would have them."""
    rows = {key: [row[where] for row in series[key]] for key in ("elapsed_s", "entry_s") if key in series}
    rows["elapsed_s"] = [[operations * value for value in row] for row in rows["elapsed_s"]]
    begin, end, _ = where.indices(len(series["elapsed_s"][0]))
    found = series | rows | {"warmup": min(max(series["warmup"] - begin, 0), end - begin)}
    found["operations"] = operations * series["operations"]
    if "valid" in series:
        found["valid"] = series["valid"][where]
    if "observed" in series:
        found["observed"] = {
            name: [[operations * value for value in row[where]] for row in values]
            for name, values in series["observed"].items()
        }
    return found


def visits_of(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Divide a record into visits; where nothing but times was kept, each has another number of operations."""
    plain = all("observed" not in series and "entry_s" not in series for series in record["series"])
    found = []
    for number in range(VISITS):
        series = []
        for one in record["series"]:
            count = len(one["elapsed_s"][0])
            cuts = [count * each // VISITS for each in range(VISITS + 1)]
            series.append(part(one, slice(cuts[number], cuts[number + 1]), number + 1 if plain else 1))
        found.append(
            record
            | {
                "series": series,
                "position": 1000 * number + record["position"],
                "started_unix_s": record["started_unix_s"] + 100 * number,
                "duration_s": record["duration_s"] / VISITS,
            }
        )
    return found


def divided(run: Path) -> None:
    """Divide every case of a run into visits, one pass over all cases of a launch after another."""
    lines: list[dict[str, Any]] = []
    passes: list[list[dict[str, Any]]] = [[] for _ in range(VISITS)]
    for line in (run / "samples.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record["record"] == "case":
            for number, visit in enumerate(visits_of(record)):
                passes[number].append(visit)
        else:
            if record["record"] == "end":
                lines += [visit for each in passes for visit in each]
                passes = [[] for _ in range(VISITS)]
            lines.append(record)
    rewrite(run, lines)


def rewrite(run: Path, records: list[dict[str, Any]]) -> None:
    (run / "samples.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))


def change(run: Path, benchmark: str, visit: int, **keys: Any) -> None:
    """Change one visit to each case of a benchmark in its first launch."""
    records = [json.loads(line) for line in (run / "samples.jsonl").read_text().splitlines()]
    launch = next(one["launch"] for one in records if one.get("benchmark") == benchmark)
    for record in records:
        if (record.get("benchmark"), record["launch"]) == (benchmark, launch) and record[
            "position"
        ] // 1000 == visit:
            record |= keys
    rewrite(run, records)


def of(run: Path, benchmark: str) -> list[CaseSamples]:
    return [one for one in read(run, catalog()).cases if one.case.benchmark == benchmark]


def test_divided_cases_have_the_summaries_and_models_of_whole_ones(golden_copy: Path) -> None:
    whole = read(golden_copy, catalog())
    divided(golden_copy)
    apart = read(golden_copy, catalog())
    assert len(apart.cases) == len(whole.cases) == len(list(golden.cases())) * golden.LAUNCHES
    assert {len(one.visits) for one in apart.cases} == {VISITS}
    expected, found = (summarise(samples, catalog()) for samples in (whole, apart))
    assert [one.label for one in found] == [one.label for one in expected]
    for one, other in zip(found, expected, strict=True):
        assert (one.valid, one.n, one.launches, one.reason) == (other.valid, other.n, other.launches, other.reason)
        assert one.converged_share == other.converged_share
        # The median of the visits' medians is near that of all repetitions.
        assert one.median == pytest.approx(other.median, rel=0.1)
    machine = read_json(RunDirectory(golden_copy).machine, Machine)
    before, after = (
        derive(one, machine, samples, catalog()) for one, samples in ((expected, whole), (found, apart))
    )
    for one, other in zip(after.phases, before.phases, strict=True):
        assert list(one.phases_s) == list(other.phases_s)
        for name, values_s in one.phases_s.items():
            assert values_s == pytest.approx(other.phases_s[name], rel=0.1)
    assert len(after.fits) == len(before.fits)


def test_each_repetition_keeps_its_visit_its_warm_up_and_its_operations(divided_copy: Path) -> None:
    case = of(divided_copy, "mpi.latency")[0]
    (times,) = case.times
    count = golden.WARMUP + golden.REPETITIONS
    assert times.repetitions == count
    assert np.unique(times.visit).tolist() == [0, 1, 2]
    assert (np.diff(times.visit) >= 0).all()
    assert times.operations.tolist() == (times.visit + 1).tolist()
    assert np.flatnonzero(times.warmup).tolist() == [0, 1]
    per_operation = times.elapsed_s[0] / times.operations
    assert np.ptp(per_operation[times.counted]) < 0.2 * np.median(per_operation)
    assert [visit.position // 1000 for visit in case.visits] == [0, 1, 2]
    assert [visit.started_unix_s for visit in case.visits] == sorted(v.started_unix_s for v in case.visits)
    assert sum(visit.duration_s for visit in case.visits) == pytest.approx(0.1)


def test_each_visit_has_warm_up_of_its_own(divided_copy: Path) -> None:
    records = [json.loads(line) for line in (divided_copy / "samples.jsonl").read_text().splitlines()]
    for record in records:
        for series in record.get("series", []):
            series["warmup"] = 1
    rewrite(divided_copy, records)
    (times,) = of(divided_copy, "mpi.latency")[0].times
    assert np.count_nonzero(times.warmup) == VISITS
    assert times.visit[times.warmup].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("keys", "status", "reason"),
    [
        ({"status": "failed", "reason": "byte 7 is 1, must be 2"}, "failed", "byte 7 is 1, must be 2"),
        ({"status": "crashed", "reason": "signal 9", "series": [], "verification": None}, "crashed", "signal 9"),
    ],
)
@pytest.mark.parametrize("visit", range(VISITS))
def test_one_visit_that_failed_fails_the_case(
    divided_copy: Path, visit: int, keys: dict[str, Any], status: str, reason: str
) -> None:
    change(divided_copy, "mpi.comms2", visit, **keys)
    first, *others = [one for one in of(divided_copy, "mpi.comms2") if one.case.parameters["message_bytes"] == 0]
    assert (first.status, first.reason) == (status, reason)
    assert all(other.ok for other in others)
    summaries = [
        one for one in summarise(read(divided_copy, catalog()), catalog()) if one.samples_key == first.key
    ]
    assert all(one.valid == (status == "crashed") for one in summaries), "wrong data in one visit spoil the case"
    if status == "crashed":
        assert {one.launches for one in summaries} == {golden.LAUNCHES - 1}


def test_wrong_data_in_one_visit_are_wrong_data(divided_copy: Path) -> None:
    wrong = {"passed": False, "checks": 9, "cost_s": 0.5, "message": "rank 1: byte 3"}
    change(divided_copy, "mpi.comms2", 1, verification=wrong, status="failed", reason="rank 1: byte 3")
    first = of(divided_copy, "mpi.comms2")[0]
    assert first.verification is not None
    assert not first.verification.passed
    assert first.verification.message == "rank 1: byte 3"
    assert first.verification.checks == 128 + 9 + 128


def test_a_visit_that_was_repeated_counts_once(divided_copy: Path) -> None:
    records = [json.loads(line) for line in (divided_copy / "samples.jsonl").read_text().splitlines()]
    again = next(one for one in records if one.get("benchmark") == "mpi.comms2")
    crashed = again | {"status": "crashed", "reason": "signal 9", "series": [], "verification": None}
    rewrite(divided_copy, [*(crashed if one is again else one for one in records), again])
    samples = read(divided_copy, catalog())
    assert [one.status for one in samples.failures if one.case.benchmark == "mpi.comms2"] == ["crashed"]
    assert all(one.ok and len(one.visits) == VISITS for one in samples.cases if one.case.benchmark == "mpi.comms2")


def test_visits_that_ended_with_their_budgets_converge_together(divided_copy: Path) -> None:
    """Three independent intervals of 3 % are one of 1.7 %; the plan asks for 2 %."""
    records = [json.loads(line) for line in (divided_copy / "samples.jsonl").read_text().splitlines()]
    for record in records:
        if record["record"] == "case":
            wide = record["benchmark"] == "mpi.comms2"
            record |= {"stopped": "budget", "relative_interval": 0.03 if wide else 0.05}
    rewrite(divided_copy, records)
    for one in read(divided_copy, catalog()).cases:
        wide = one.case.benchmark == "mpi.comms2"
        assert one.stopped == ("precision" if wide else "budget")
        assert one.relative_interval == pytest.approx((0.03 if wide else 0.05) / VISITS**0.5)


def test_visits_that_cannot_be_joined_are_named(divided_copy: Path) -> None:
    records = [json.loads(line) for line in (divided_copy / "samples.jsonl").read_text().splitlines()]
    odd = next(one for one in records if one.get("benchmark") == "mpi.comms2" and one["position"] >= 1000)
    odd["series"][0]["ranks_kept"] = [1, 0]
    rewrite(divided_copy, records)
    with pytest.raises(UsageError, match=r"samples\.jsonl: launch \d+: .*: ranks_kept: "):
        read(divided_copy, catalog())
