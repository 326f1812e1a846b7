import json
from pathlib import Path
from typing import Any

import pytest

from hpcscope.catalog.catalog import read as read_catalog
from hpcscope.errors import UsageError
from hpcscope.rundirectory import RunDirectory
from hpcscope.samples.reader import read
from hpcscope.statistics.summarise import summarise
from hpcscope.statistics.summary import Summary
from hpcscope.statistics.values import seconds_behind
from tests import golden_run as golden
from tests.golden_truth import WRONG_DATA


def of(run: Path) -> list[Summary]:
    catalog = read_catalog(RunDirectory(run).benchmarks)
    return summarise(read(run, catalog), catalog)


def find(summaries: list[Summary], benchmark: str, metric: str, **chosen: Any) -> Summary:
    definition = chosen.pop("definition", None)
    ranks = chosen.pop("ranks", None)
    transport = chosen.pop("transport", "default")
    found = [
        s
        for s in summaries
        if (s.benchmark, s.metric, s.transport) == (benchmark, metric, transport)
        and (s.primary if definition is None else s.definition == definition)
        and ranks in (None, s.ranks)
        and chosen.items() <= s.parameters.items()
    ]
    assert len(found) == 1
    return found[0]


@pytest.fixture(scope="module")
def summaries(golden_raw: Path) -> list[Summary]:
    return of(golden_raw)


@pytest.mark.parametrize("message_bytes", golden.SIZES)
def test_latencies_are_the_true_ones(summaries: list[Summary], message_bytes: int) -> None:
    latency = find(summaries, "mpi.latency", "latency_s", mode="standard", message_bytes=message_bytes)
    assert latency.median == pytest.approx(golden.latency_s(message_bytes), rel=0.02)
    assert latency.n == golden.LAUNCHES * golden.REPETITIONS
    assert latency.launches == golden.LAUNCHES
    assert latency.interval_basis == "launches"
    assert latency.valid


def test_bandwidth_is_work_over_the_median_time(summaries: list[Summary]) -> None:
    latency = find(summaries, "mpi.latency", "latency_s", mode="standard", message_bytes=1024)
    bandwidth = find(summaries, "mpi.latency", "bandwidth_bytes_per_s", mode="standard", message_bytes=1024)
    assert latency.median is not None
    assert bandwidth.median == pytest.approx(1024 / latency.median)
    assert bandwidth.ci_high == pytest.approx(1024 / (latency.ci_low or 0))


def test_an_empty_message_has_no_bandwidth(summaries: list[Summary]) -> None:
    assert not [s for s in summaries if s.unit == "B/s" and s.parameters.get("message_bytes") == 0]


def test_every_definition_of_a_collective_is_there(summaries: list[Summary]) -> None:
    found = {
        s.definition: s
        for s in summaries
        if s.benchmark == "mpi.barrier" and s.ranks == 4 and s.metric == "time_s"
    }
    assert set(found) == {"global", "max_rank", "mean_rank", "streaming", "barrier_loop"}
    assert [d for d, s in found.items() if s.primary] == ["global"]
    truth = golden.barrier_s(4)
    assert found["global"].median == pytest.approx(truth, rel=0.02)
    assert found["streaming"].median == pytest.approx(0.9 * truth, rel=0.02)
    assert found["barrier_loop"].median == pytest.approx(1.8 * truth, rel=0.02)
    assert found["mean_rank"].median is not None
    assert found["mean_rank"].median < truth


def test_invalid_samples_are_counted_but_never_used(summaries: list[Summary]) -> None:
    barrier = find(summaries, "mpi.barrier", "time_s", ranks=4)
    assert barrier.invalid_share == pytest.approx(1 / golden.REPETITIONS)
    assert barrier.n == golden.LAUNCHES * (golden.REPETITIONS - 1)


def test_warm_up_is_three_times_slower_and_does_not_show(summaries: list[Summary]) -> None:
    latency = find(summaries, "mpi.latency", "latency_s", mode="standard", message_bytes=0)
    assert latency.maximum is not None
    assert latency.median is not None
    assert latency.maximum < 1.2 * latency.median


def test_wrong_data_makes_no_result(summaries: list[Summary]) -> None:
    failed = find(summaries, "mpi.broadcast", "time_s", ranks=16, message_bytes=1 << 20)
    assert not failed.valid
    assert failed.reason == f"failed: {WRONG_DATA}"


def test_the_noisy_case_is_not_tight(summaries: list[Summary]) -> None:
    noisy = find(summaries, "mpi.latency", "latency_s", mode="synchronous", message_bytes=1024)
    assert noisy.valid
    assert noisy.coefficient_of_variation is not None
    assert noisy.coefficient_of_variation > 0.3


def test_phases_are_observed(summaries: list[Summary]) -> None:
    total = find(summaries, "algorithm.matmul_cannon", "time_s", ranks=4, n=512, variant="plain")
    compute = find(summaries, "algorithm.matmul_cannon", "compute_s", ranks=4, n=512, variant="plain")
    assert compute.definition == "observed"
    assert total.median is not None
    assert compute.median == pytest.approx(0.8 * total.median, rel=0.02)


def edit(run: Path, benchmark: str, launches: set[int] | None, **change: Any) -> None:
    records = [json.loads(line) for line in (run / "samples.jsonl").read_text().splitlines()]
    seen: list[int] = []
    for record in records:
        if record["record"] == "case" and record["benchmark"] == benchmark and record["ranks"] == 4:
            seen.append(record["launch"])
            if launches is None or len(seen) in launches:
                record |= change
    assert seen
    (run / "samples.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))


def test_a_launch_that_crashed_leaves_the_others_as_results(golden_copy: Path) -> None:
    golden.shorten(golden_copy, most_ranks=4)
    edit(golden_copy, "mpi.barrier", {2}, status="crashed", reason="signal 9", series=[], verification=None)
    barrier = find(of(golden_copy), "mpi.barrier", "time_s", ranks=4)
    assert barrier.valid
    assert barrier.launches == golden.LAUNCHES - 1


def test_a_case_without_any_result_is_still_listed(golden_copy: Path) -> None:
    golden.shorten(golden_copy, most_ranks=4)
    change = {"status": "timeout", "reason": "no sign of life", "series": [], "verification": None, "work": None}
    edit(golden_copy, "mpi.broadcast", None, **change)
    broadcast = find(of(golden_copy), "mpi.broadcast", "bandwidth_bytes_per_s", ranks=4, message_bytes=8)
    assert not broadcast.valid
    assert broadcast.reason == "timeout: no sign of life"
    assert broadcast.median is None


def test_unverified_data_is_no_result(golden_copy: Path) -> None:
    golden.shorten(golden_copy, most_ranks=4)
    assert [s for s in of(golden_copy) if (s.benchmark, s.ranks) == ("mpi.barrier", 4)]
    edit(golden_copy, "mpi.barrier", None, verification=None)
    # Times without a verification are damaged records, which the reader keeps apart.
    assert not [s for s in of(golden_copy) if (s.benchmark, s.ranks) == ("mpi.barrier", 4)]


def test_a_benchmark_nobody_described_is_refused(golden_copy: Path) -> None:
    golden.shorten(golden_copy, most_ranks=4)
    path = golden_copy / "benchmarks.json"
    path.write_text(json.dumps([b for b in json.loads(path.read_text()) if b["name"] != "mpi.barrier"]))
    with pytest.raises(UsageError, match=r"benchmarks\.json: mpi\.barrier: missing"):
        of(golden_copy)


def test_the_time_of_a_step_is_that_of_the_operation_over_the_steps(golden_copy: Path) -> None:
    golden.shorten(golden_copy, most_ranks=4)
    directory = RunDirectory(golden_copy)
    benchmarks = json.loads(directory.benchmarks.read_text())
    broadcast = next(each for each in benchmarks if each["name"] == "mpi.broadcast")
    (time,) = (each for each in broadcast["metrics"] if each["name"] == "time_s")
    broadcast["metrics"].append({**time, "name": "hop_s", "quantity": "time_per_step"})
    directory.benchmarks.write_text(json.dumps(benchmarks))
    lines = [json.loads(line) for line in directory.samples.read_text().splitlines()]
    for line in lines:
        if line.get("benchmark") == "mpi.broadcast":
            line["work"]["steps"] = 4.0
    directory.samples.write_text("".join(json.dumps(line) + "\n" for line in lines))
    derived = of(golden_copy)
    size = 1024
    whole = find(derived, "mpi.broadcast", "time_s", ranks=2, message_bytes=size)
    hop = find(derived, "mpi.broadcast", "hop_s", ranks=2, message_bytes=size)
    assert hop.median == pytest.approx((whole.median or 0) / 4)
    assert hop.ci_low == pytest.approx((whole.ci_low or 0) / 4)
    assert hop.launch_medians == pytest.approx([each / 4 for each in whole.launch_medians])
    samples = read(golden_copy, read_catalog(directory.benchmarks))
    case = next(case for case in samples.cases if case.key == hop.samples_key)
    behind, all_behind = seconds_behind(hop, case), seconds_behind(whole, case)
    assert behind is not None
    assert all_behind is not None
    assert behind == pytest.approx(all_behind / 4)


def slowed(run: Path, launches: range, factor: float) -> None:
    """Multiply the times of node level and MPI of some launches, as if the machine were slower then."""
    records = [json.loads(line) for line in (run / "samples.jsonl").read_text().splitlines()]
    for record in records:
        if record["record"] == "case" and record["launch"] in launches and record["benchmark"] != "mpi.barrier":
            for series in record["series"]:
                series["elapsed_s"] = [[factor * value for value in row] for row in series["elapsed_s"]]
    (run / "samples.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))


def test_a_steady_machine_has_one_state(summaries: list[Summary]) -> None:
    assert not any(one.state_mixture or one.state_medians or one.between_modes for one in summaries)


def test_figures_that_mix_states_say_so_and_give_the_median_of_each(golden_copy: Path) -> None:
    count = sum('"record": "launch"' in line for line in (golden_copy / "samples.jsonl").read_text().splitlines())
    slowed(golden_copy, range(count // 2 + 1, count + 1), 2.0)
    found = of(golden_copy)
    latency = find(found, "mpi.latency", "latency_s", mode="standard", message_bytes=0)
    fast_s = golden.latency_s(0)
    assert latency.state_mixture
    assert latency.state_medians == [pytest.approx(fast_s, rel=0.02), pytest.approx(2 * fast_s, rel=0.02)]
    assert latency.between_modes, "three launches of each state: the median is half way between them"
    bandwidth = find(found, "mpi.latency", "bandwidth_bytes_per_s", mode="standard", message_bytes=1024)
    rate = 1024 / golden.latency_s(1024)
    assert bandwidth.state_medians == [pytest.approx(rate, rel=0.02), pytest.approx(rate / 2, rel=0.02)]
    barrier = find(found, "mpi.barrier", "time_s", ranks=4)
    assert len(barrier.state_medians) == 2
    assert not barrier.state_mixture, "the states do not concern it"
