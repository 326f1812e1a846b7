import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from hpcscope.checksum import with_checksum
from hpcscope.errors import UsageError
from hpcscope.plan.placement import Placement
from hpcscope.samples.reader import read
from hpcscope.samples.samples import DamagedLine
from tests import golden_run as golden
from tests.declared import catalog
from tests.messages import mentions


def lines(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "samples.jsonl").read_text().splitlines()]


def rewrite(run: Path, records: list[dict[str, Any]]) -> None:
    (run / "samples.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))


def first(records: list[dict[str, Any]], record: str, benchmark: str = "") -> int:
    return next(
        i
        for i, r in enumerate(records)
        if r["record"] == record and (not benchmark or r["benchmark"] == benchmark)
    )


def test_every_case_of_every_launch_is_there(golden_raw: Path) -> None:
    samples = read(golden_raw, catalog())
    expected = len(list(golden.cases()))
    assert len(samples.by_case()) == expected
    assert len(samples.cases) == expected * golden.LAUNCHES
    assert len(samples.launches) == len(samples.ends)
    assert samples.cut_line is None
    assert {case.case.benchmark for case in samples.failures} == {"mpi.broadcast"}


def test_times_are_the_file_s(golden_raw: Path) -> None:
    record = lines(golden_raw)[first(lines(golden_raw), "case", "mpi.broadcast")]
    case = next(case for case in read(golden_raw, catalog()).cases if case.case.benchmark == "mpi.broadcast")
    isolated = case.times[0]
    np.testing.assert_array_equal(isolated.elapsed_s, record["series"][0]["elapsed_s"])
    assert isolated.entry_s is not None
    assert isolated.counted.sum() == golden.REPETITIONS - 1, "one is invalid"
    assert isolated.invalid == 1
    assert not isolated.counted[: golden.WARMUP].any()
    assert case.case.transport == "default"
    assert case.case.placement == Placement()


def test_the_sentinel_is_read_where_a_run_has_one(golden_copy: Path) -> None:
    records = lines(golden_copy)
    sentinel = {"record": "sentinel", "launch": 1, "attempt": 1, "started_unix_s": 5.0, "duration_s": 0.003}
    sentinel |= {"ranks_kept": [0, 1], "arithmetic_s": [2e-3, 2.1e-3], "memory_s": [1e-4, 1e-4]}
    assert read(golden_copy, catalog()).sentinels == []
    rewrite(golden_copy, [*records[:2], sentinel, *records[2:], sentinel | {"ping_pong_s": 3e-4}])
    first_one, last_one = read(golden_copy, catalog()).sentinels
    assert (first_one.arithmetic_s, first_one.ping_pong_s) == ([2e-3, 2.1e-3], None)
    assert last_one.ping_pong_s == 3e-4
    assert len(read(golden_copy, catalog()).cases) == len(list(golden.cases())) * golden.LAUNCHES


def test_a_cut_last_line_is_reported_and_nothing_else_is_lost(golden_copy: Path) -> None:
    whole = read(golden_copy, catalog())
    path = golden_copy / "samples.jsonl"
    records = lines(golden_copy)
    last = max(i for i, r in enumerate(records) if r["record"] == "case")
    text = "".join(json.dumps(r) + "\n" for r in records[:last])
    half = json.dumps(records[last])[:500]
    path.write_text(text + half)
    samples = read(golden_copy, catalog())
    assert samples.cut_line is not None
    assert samples.cut_line.line == last + 1
    assert samples.cut_line.length == 500
    assert len(samples.cases) == len(whole.cases) - 1


def test_a_last_line_without_its_newline_but_whole_counts(golden_copy: Path) -> None:
    path = golden_copy / "samples.jsonl"
    path.write_text(path.read_text().rstrip("\n"))
    assert read(golden_copy, catalog()).cut_line is None


def only_damaged_line(run: Path) -> DamagedLine:
    """Return the one line that was left out; all others were read."""
    samples = read(run, catalog())
    (one,) = samples.damaged
    assert samples.cases
    assert "\n" not in one.reason
    return one


def test_a_cut_line_in_the_middle_is_left_out(golden_copy: Path) -> None:
    path = golden_copy / "samples.jsonl"
    content = path.read_text().split("\n")
    content[3] = content[3][:100]
    path.write_text("\n".join(content))
    damaged = only_damaged_line(golden_copy)
    assert damaged.line == 4
    assert "JSON" in damaged.reason


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"status": "perfect"}, "status = \"perfect\": ... 'ok', 'failed'"),
        ({"surprise": 1}, "surprise = 1: "),
        ({"ranks": "many"}, 'ranks = "many"'),
        ({"record": "sample"}, "'sample' ... 'record'"),
        ({"ranks": 0}, "ranks = 0: ... 1"),
        ({"launch": -1}, "launch = -1: ... 0"),
        ({"duration_s": 1e300}, "duration_s = 1e+300: ... 1e-12 ... 1e+07"),
        ({"duration_s": -1}, "duration_s = -1: "),
        ({"started_unix_s": -5}, "started_unix_s = -5"),
        ({"verification": None}, "status = ok: ... verification.passed = true"),
        ({"launch": 99}, "launch = 99, attempt = 1: "),
    ],
)
def test_a_wrong_record_is_named_by_line_key_and_value(
    golden_copy: Path, change: dict[str, Any], says: str
) -> None:
    records = lines(golden.shorten(golden_copy))
    assert records[1]["record"] == "case"
    records[1] |= change
    rewrite(golden_copy, records)
    damaged = only_damaged_line(golden_copy)
    assert damaged.line == 2
    assert mentions(damaged.reason, says)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"operations": 0}, "operations = 0: ... 1"),
        ({"warmup": 999}, "warmup = 999: ... 0 ... 26"),
        ({"valid": [True]}, "valid: 1 values: ... 26"),
        ({"elapsed_s": [[1.0]]}, "elapsed_s: 1 rows: ... 2"),
        ({"elapsed_s": [[1.0], [1.0, 2.0]]}, "elapsed_s: rows of 1 and 2 values: "),
        ({"entry_s": [[1.0], [1.0]]}, "entry_s: 1 values per rank: ... 26 ... elapsed_s"),
        (
            {"elapsed_s": [[float("nan")] * 26, [1.0] * 26]},
            "elapsed_s.0.0 = NaN: ",
        ),
        ({"observed": {"phase_s": [[1.0]]}}, "observed.phase_s: 1 rows"),
        ({"elapsed_s": [[-1e-3] * 26, [1.0] * 26]}, "= -0.001: ... -0.000001"),
        ({"elapsed_s": [[1e-87] * 26, [1.0] * 26]}, "1e-12 ... 1e+07"),
        ({"elapsed_s": [[1e300] * 26, [1.0] * 26]}, "10000000"),
        ({"ranks_kept": [-2, 1]}, "ranks_kept.0 = -2: ... 0"),
        ({"ranks_kept": [0, 2]}, "series.ranks_kept = 2: ... ranks = 2"),
    ],
)
def test_series_of_the_wrong_shape_are_refused(golden_copy: Path, change: dict[str, Any], says: str) -> None:
    records = lines(golden.shorten(golden_copy))
    records[first(records, "case", "mpi.latency")]["series"][0] |= change
    rewrite(golden_copy, records)
    assert mentions(only_damaged_line(golden_copy).reason, says)


def test_a_time_may_be_nanoseconds_below_zero(golden_copy: Path) -> None:
    """The cost of reading the clock is subtracted, also from an operation that does nothing."""
    records = lines(golden_copy)
    series = records[first(records, "case", "mpi.latency")]["series"][0]
    series["elapsed_s"] = [[-1e-8] * len(row) for row in series["elapsed_s"]]
    rewrite(golden_copy, records)
    assert read(golden_copy, catalog()).damaged == []


def test_every_changed_bit_of_a_line_is_noticed(golden_copy: Path) -> None:
    path = golden.shorten(golden_copy, most_ranks=1) / "samples.jsonl"
    content = [with_checksum(line) for line in path.read_bytes().splitlines()]
    path.write_bytes(b"\n".join(content) + b"\n")
    assert not read(golden_copy, catalog()).damaged
    chosen = min(range(len(content)), key=lambda i: (json.loads(content[i])["record"] != "case", len(content[i])))
    line = content[chosen]
    random = Random(7)
    for bit in random.sample(range(8 * len(line)), 20):
        damaged = bytearray(line)
        damaged[bit // 8] ^= 1 << bit % 8
        if damaged[bit // 8] in b"\r\n":
            continue  # two lines, neither of which is a record
        path.write_bytes(b"\n".join([*content[:chosen], bytes(damaged), *content[chosen + 1 :]]) + b"\n")
        assert only_damaged_line(golden_copy).line == chosen + 1, bit


def test_of_nothing_but_damaged_lines_the_first_is_named(golden_copy: Path) -> None:
    (golden_copy / "samples.jsonl").write_text('{"record": "x"}\n[1]\n')
    with pytest.raises(UsageError, match=r"samples\.jsonl:1: .*'x'"):
        read(golden_copy, catalog())


def test_a_future_format_is_refused_even_with_keys_nobody_knows(golden_copy: Path) -> None:
    records = lines(golden_copy)
    records[0] |= {"format": 3, "fancy": True}
    rewrite(golden_copy, records)
    with pytest.raises(UsageError, match=r"samples\.jsonl:1: format = 3: "):
        read(golden_copy, catalog())


def test_a_run_of_a_future_format_is_refused(golden_copy: Path) -> None:
    path = golden_copy / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 7}))
    with pytest.raises(UsageError, match=r"run\.json: format = 7: .*\b2$"):
        read(golden_copy, catalog())


def test_the_last_attempt_that_was_ok_wins_and_the_failure_stays_visible(golden_copy: Path) -> None:
    records = lines(golden_copy)
    where = first(records, "case", "mpi.latency")
    launch = dict(records[0], launch=records[where]["launch"], attempt=2)
    again = dict(records[where], attempt=2)
    records[where] = dict(records[where], status="crashed", reason="signal 9", series=[], verification=None)
    rewrite(golden_copy, [*records, launch, again])
    samples = read(golden_copy, catalog())
    failed = [case for case in samples.failures if case.case.benchmark == "mpi.latency"]
    assert [case.status for case in failed] == ["crashed"]
    kept = [case for case in samples.cases if case.key == failed[0].key]
    assert len(kept) == golden.LAUNCHES
    assert all(case.ok for case in kept)


def test_an_attempt_that_failed_later_does_not_hide_the_one_that_was_ok(golden_copy: Path) -> None:
    records = lines(golden_copy)
    where = first(records, "case", "mpi.latency")
    launch = dict(records[0], launch=records[where]["launch"], attempt=2)
    worse = dict(records[where], attempt=2, status="timeout", reason="too long", series=[], verification=None)
    rewrite(golden_copy, [*records, launch, worse])
    samples = read(golden_copy, catalog())
    assert all(case.ok for case in samples.cases if case.case.benchmark == "mpi.latency")
    assert any(case.status == "timeout" for case in samples.failures)


def test_a_case_ended_before_its_launch_spoke_is_placed_as_planned(golden_copy: Path) -> None:
    records = lines(golden_copy)
    number = next(r["launch"] for r in records if r["record"] == "launch" and r["transport"] == "tcp")
    where = next(i for i, r in enumerate(records) if r["record"] == "case" and r["launch"] == number)
    gone = dict(records[where], status="timeout", reason="did not start", series=[], verification=None)
    kept = [r for r in records if r.get("launch") != number]
    rewrite(golden_copy, [*kept, gone])
    failed = [case for case in read(golden_copy, catalog()).failures if case.status == "timeout"]
    assert [(case.case.transport, case.case.placement) for case in failed] == [("tcp", Placement())]


def test_reserved_keys_do_not_identify_a_case(golden_copy: Path) -> None:
    records = lines(golden_copy)
    for record in records:
        if record["record"] == "case":
            record["parameters"]["sampling.budget_s"] = record["launch"]
    rewrite(golden_copy, records)
    assert len(read(golden_copy, catalog()).by_case()) == len(list(golden.cases()))


def test_a_run_without_samples_says_so(golden_copy: Path) -> None:
    (golden_copy / "samples.jsonl").unlink()
    with pytest.raises(UsageError, match=r"samples\.jsonl: "):
        read(golden_copy, catalog())
