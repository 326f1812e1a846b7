"""The native program under real launchers: every benchmark, every MPI, every check seen to fail."""

from __future__ import annotations

import json
import os
import re
import subprocess
from math import inf
from pathlib import Path
from statistics import median

import pytest

from scope.build import registry
from scope.launch.diagnosis import diagnose
from scope.machine import processors
from scope.machine.machine import MpiInstallation, NativeBuild
from scope.models.communication.random_pairs import partners
from scope.samples.records import CaseRecord, SentinelRecord
from tests.measure.conftest import Ended, Measure, start

BENCHMARKS = Path(__file__).resolve().parents[2] / "measure" / "src" / "benchmarks"
PAYLOADS = [
    ("network.latency", 2),
    ("mpi.latency message_bytes=1000", 2),
    ("mpi.bandwidth message_bytes=1000", 2),
    ("mpi.broadcast message_bytes=1000", 3),
    ("operation.broadcast n=30 buffers=cold", 3),
    ("operation.broadcast n=30 buffers=warm", 3),
]
RESULTS = [
    *(("node.stream kernel=" + kernel, 1) for kernel in ("copy", "scale", "add", "triad")),
]


def only_case(ended: Ended) -> CaseRecord:
    assert len(ended.cases) == 1, ended.errors
    return ended.cases[0]


MAY_LACK = {"spawn", "scalapack"}
"""Not every MPI starts further processes, and not for every MPI there is a ScaLAPACK here."""
OF_MPI_4 = {"mpi.partitioned"}
"""Benchmarks of routines that an older library lacks: Open MPI 4 is of MPI 3.1."""


def test_the_list_and_the_folder_name_the_same_benchmarks(embedded_build: NativeBuild) -> None:
    listed = registry.load(embedded_build.program)
    # A source with a header beside it is shared by several benchmarks.
    alone = [path for path in BENCHMARKS.rglob("*.cpp") if not path.with_suffix(".hpp").exists()]
    sources = {str(path.relative_to(BENCHMARKS)) for path in alone}
    specifications = {str(path.relative_to(BENCHMARKS)) for path in BENCHMARKS.rglob("*.md")}
    assert {benchmark.source for benchmark in listed} == sources
    assert {benchmark.specification for benchmark in listed} == specifications
    for benchmark in listed:
        text = (BENCHMARKS / benchmark.specification).read_text()
        for part in ("Objective", "Inputs", "Outputs", "Timing procedure", "Metrics", "Rules", "Reference"):
            assert f"**{part}.**" in text, f"{benchmark.specification} lacks {part}"


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_every_benchmark_is_right_under_every_mpi(
    ranks: int, build: NativeBuild, embedded: MpiInstallation, measure: Measure
) -> None:
    listed = registry.load(build.program)
    # What knows no MPI, and is the same program for all of them, runs with the first.
    only = None
    if build.mpi.compiler != embedded.compiler:
        # The launcher of Open MPI 4 may wait for children for ever: they have a test that tries again.
        hangs = build.mpi.name == "openmpi" and build.mpi.version.startswith("4.")
        left_out = {"mpi.spawn"} if hangs else set()
        only = [
            one.name
            for one in listed
            if one.level not in ("node", "network") and one.ranks.allows(ranks) and one.name not in left_out
        ]
    if ranks > (os.cpu_count() or 1) and build.mpi.name == "mpich" and build.mpi.version.startswith("4."):
        # Its waiting ranks keep the processors of those that work: what sends most is left to the other MPIs.
        only = [
            each.name for each in listed if each.name.startswith(("mpi.", "operation.")) and each.ranks.allows(4)
        ]
    ended = measure(ranks, only, native=build)
    assert ended.code == 0, ended.errors
    assert ended.cases
    lacking = {each.name for each in listed if MAY_LACK & set(each.requires)}
    if ended.launch.mpi_standard < "4":
        lacking |= OF_MPI_4
    for case in ended.cases:
        assert case.status == "ok" or (case.status == "unavailable" and case.benchmark in lacking), case.reason
    assert len(ended.launch.processes) == ranks


@pytest.mark.parametrize(("ranks", "how"), [(3, "window"), (2, "dissemination"), (3, "dissemination")])
def test_every_benchmark_is_right_however_ranks_are_synchronized(
    ranks: int, how: str, embedded_build: NativeBuild, measure: Measure
) -> None:
    """With an odd number of ranks, some have no partner; none may wait for those that do not come."""
    fitting = [each.name for each in registry.load(embedded_build.program) if each.ranks.allows(ranks)]
    rounds = [f"mpi.pairs round={number} load={load}" for number in (0, 1) for load in ("isolated", "concurrent")]
    ended = measure(ranks, [f"{line} sampling.synchronization={how}" for line in (*fitting, *rounds)])
    assert ended.code == 0, ended.errors
    allowed = {"mpi.pairs", *(each.name for each in registry.load(embedded_build.program) if each.requires)}
    for case in ended.cases:
        assert case.status == "ok" or (case.status == "unavailable" and case.benchmark in allowed), case.reason


@pytest.mark.parametrize("ranks", [5, 8, 9])
def test_more_ranks_than_cores_and_odd_numbers_of_them(ranks: int, measure: Measure) -> None:
    plan = ["mpi.barrier", "mpi.broadcast message_bytes=100", "operation.broadcast n=30"]
    ended = measure(ranks, plan)
    assert ended.code == 0, ended.errors
    assert [case.status for case in ended.cases] == ["ok"] * len(plan)


@pytest.mark.parametrize("completion", ["blocking", "nonblocking"])
@pytest.mark.parametrize("mode", ["standard", "buffered", "synchronous", "ready"])
def test_every_send_mode_delivers_every_size(mode: str, completion: str, measure: Measure) -> None:
    sizes = (0, 1, 1000, 70_000, 4_194_304)
    ended = measure(2, [f"mpi.latency mode={mode} completion={completion} message_bytes={size}" for size in sizes])
    assert ended.code == 0, ended.errors
    for case, size in zip(ended.cases, sizes, strict=True):
        # Both ranks compare every byte, once at least.
        assert case.status == "ok"
        assert case.verification is not None
        assert case.verification.checks >= 2 * size


@pytest.mark.parametrize(("case", "ranks"), PAYLOADS)
def test_a_corrupted_payload_fails_its_case_alone(case: str, ranks: int, measure: Measure) -> None:
    name = case.split()[0]
    ended = measure(ranks, [case, "mpi.barrier"], SCOPE_FAULT=f"corrupt-payload:{name}")
    assert ended.code == 1
    broken, sound = ended.cases
    assert (broken.status, sound.status) == ("failed", "ok")
    assert f"rank {ranks - 1} on " in broken.reason


@pytest.mark.parametrize(("case", "ranks"), RESULTS)
def test_a_wrong_result_fails_its_case(case: str, ranks: int, measure: Measure) -> None:
    ended = measure(ranks, [case], SCOPE_FAULT=f"wrong-result:{case.split()[0]}")
    assert ended.code == 1
    assert only_case(ended).status == "failed"
    assert "rank 0 on " in only_case(ended).reason


BROKEN_LIBRARY = """
#include <mpi.h>
int MPI_Barrier(MPI_Comm comm) { return comm == MPI_COMM_NULL; }
double MPI_Wtime(void) { static double now = 1e6; return now -= 1e-6; }
"""


@pytest.mark.parametrize(
    ("case", "ranks", "complaint"),
    [
        ("mpi.barrier", 2, "this rank left the barrier"),
        ("node.timer clock=mpi_wtime", 1, "pairs of reads ran backwards"),
    ],
)
def test_a_library_that_does_not_keep_its_word_is_caught(
    case: str, ranks: int, complaint: str, measure: Measure, embedded_build: NativeBuild, tmp_path: Path
) -> None:
    assert only_case(measure(ranks, [case])).status == "ok"
    source, library = tmp_path / "broken.c", tmp_path / "broken.so"
    source.write_text(BROKEN_LIBRARY)
    compiler = embedded_build.mpi.compiler.replace("mpicxx", "mpicc")
    subprocess.run([compiler, "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    ended = measure(ranks, [case], LD_PRELOAD=str(library))
    assert ended.code == 1, ended.errors
    assert only_case(ended).status == "failed"
    assert complaint in only_case(ended).reason


def test_late_starts_of_a_window_are_marked_and_kept(measure: Measure) -> None:
    # More spinning ranks than processors: some rank always hears of the start too late.
    ranks = 2 * (os.cpu_count() or 1)
    limits = "sampling.synchronization=window sampling.precision=0 sampling.maximum_repetitions=40"
    ended = measure(ranks, [f"mpi.barrier {limits} sampling.budget_s=10"], action="run")
    series = only_case(ended).series[0]
    assert series.synchronization == "window"
    assert series.valid is not None
    assert not all(series.valid)
    assert len(series.valid) == len(series.elapsed_s[0])


@pytest.mark.parametrize(
    ("ranks", "processors", "synchronisation"),
    [(2, 2, "window"), (3, 2, "dissemination"), (2, 1, "dissemination")],
)
def test_ranks_that_share_a_processor_do_not_wait_for_a_window(
    ranks: int, processors: int, synchronisation: str, measure: Measure
) -> None:
    """Affinity decides, not the number of processors that the host has."""
    mine = os.sched_getaffinity(0)
    if len(mine) < processors:
        pytest.skip(f"needs {processors} processors")
    os.sched_setaffinity(0, sorted(mine)[:processors])
    try:
        case = only_case(measure(ranks, ["mpi.barrier"]))
    finally:
        os.sched_setaffinity(0, mine)
    assert {series.synchronization for series in case.series} == {synchronisation}


def test_samples_are_raw_in_order_and_labelled(measure: Measure) -> None:
    ended = measure(2, ["mpi.broadcast message_bytes=8 sampling.budget_s=0.05 case.position=7"], action="run")
    case = only_case(ended)
    assert case.position == 7
    assert case.stopped in ("precision", "budget", "repetitions")
    assert [series.cadence for series in case.series] == ["isolated", "streaming", "barrier_loop"]
    isolated, streaming, _ = case.series
    assert isolated.operations == 1
    assert streaming.operations >= 4
    assert isolated.warmup >= 1
    assert isolated.entry_s is not None
    for series in case.series:
        assert series.ranks_kept == [0, 1]
        assert len({len(times) for times in series.elapsed_s}) == 1
        assert len(series.elapsed_s[0]) > series.warmup


def test_long_operations_back_to_back_are_several_and_take_a_quarter_of_the_operations(measure: Measure) -> None:
    line = f"mpi.alltoall message_bytes={1 << 22} sampling.budget_s=1 sampling.precision=1e-9"
    case = only_case(measure(2, [line], action="run"))
    assert case.verification is not None
    assert case.verification.passed
    assert [series.operations for series in case.series] == [1, 16, 16]
    isolated, *others = case.series
    repetitions = len(isolated.elapsed_s[0])
    for series in others:
        assert len(series.elapsed_s[0]) == max(1, repetitions // 64)
        assert len(series.elapsed_s[0]) > series.warmup


def test_all_ranks_loop_as_often_as_the_one_with_least_room(measure: Measure) -> None:
    # The root receives 64 MiB from each operation, the other rank nothing.
    case = only_case(measure(2, [f"mpi.gather message_bytes={32 << 20} sampling.budget_s=0.3"], action="run"))
    assert case.status == "ok", case.reason
    assert [series.operations for series in case.series] == [1, 2, 2]


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_sentinel_is_measured_between_cases(measure: Measure, ranks: int) -> None:
    plan = [f"node.memory_latency array_bytes={1 << 24} sampling.budget_s=0.25 sampling.precision=1e-9"] * 6
    ended = measure(ranks, [f"{line} case.position={number}" for number, line in enumerate(plan)], action="run")
    assert len(ended.cases) == 6
    found = [record for record in ended.records if isinstance(record, SentinelRecord)]
    if ranks > processors.usable():
        assert not found, "ranks that share processors would measure each other"
        return
    assert 2 <= len(found) <= 7
    moments = [one.started_unix_s for one in found]
    assert moments == sorted(moments)
    for one in found:
        assert one.ranks_kept == list(range(ranks))
        assert len(one.arithmetic_s) == len(one.memory_s) == ranks
        assert min(*one.arithmetic_s, *one.memory_s) > 0
        assert (one.ping_pong_s is not None) == (ranks > 1)
        assert one.duration_s >= one.arithmetic_s[0] + one.memory_s[0]


def test_ranks_that_share_processors_have_no_sentinel(measure: Measure) -> None:
    ended = measure(processors.usable() + 1, ["mpi.barrier sampling.budget_s=0.05"], action="run")
    assert len(ended.cases) == 1
    assert not any(isinstance(record, SentinelRecord) for record in ended.records)


def test_the_journal_has_a_short_line_for_every_record(measure: Measure, tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    plan = ["mpi.barrier case.position=4", f"node.stream array_bytes={2**40}"]
    ended = measure(2, plan, f"--journal={journal}", "--launch=3", "--attempt=2", "--transport=tcp")
    records = [json.loads(line) for line in journal.read_text().splitlines()]
    start = {"launch": 3, "attempt": 2}
    assert records[0] == {"record": "launch", **start, "transport": "tcp", "placement": "none"}
    assert records[-1] == {"record": "end", **start}
    barrier, stream = records[1:-1]
    case = ended.cases[0]
    series = case.series[0]
    assert barrier == {
        "record": "case",
        **start,
        "position": 4,
        "benchmark": "mpi.barrier",
        "parameters": case.parameters,
        "ranks": 2,
        "status": "ok",
        "stopped": case.stopped,
        "relative_interval": case.relative_interval,
        "duration_s": pytest.approx(case.duration_s, rel=1e-6),
        "median_s": pytest.approx(median(series.elapsed_s[0][series.warmup :]) / series.operations, rel=1e-6),
    }
    assert (stream["status"], stream["relative_interval"], stream["median_s"]) == ("unavailable", None, None)


def test_the_minimum_and_maximum_of_repetitions_are_kept(measure: Measure) -> None:
    limits = "sampling.minimum_repetitions=20 sampling.maximum_repetitions=50 sampling.precision=0"
    ended = measure(2, [f"mpi.latency {limits} sampling.budget_s=5"], action="run")
    case = only_case(ended)
    assert case.stopped == "repetitions"
    assert len(case.series[0].elapsed_s[0]) == 50


def test_phases_sum_to_the_total(measure: Measure) -> None:
    ended = measure(4, ["algorithm.matmul_cannon n=100 sampling.budget_s=0.1"], action="run")
    series = only_case(ended).series[0]
    communication = ["distribute_s", "exchange_s", "collect_s"]
    phases = ["initialise_s", "compute_s", *communication, "idle_s"]
    assert sorted(series.observed) == sorted([*phases, "communicate_s", "solve_s", "last_arrival_share"])
    outside = []
    for rank, totals in enumerate(series.elapsed_s):
        for repetition, total in enumerate(totals):
            observed = {name: values[rank][repetition] for name, values in series.observed.items()}
            assert observed["communicate_s"] == pytest.approx(sum(observed[name] for name in communication))
            # Others may have begun after the root had initialised: theirs is no part of their own time.
            assert 0 < observed["solve_s"] < (total * 1.01 if rank == 0 else inf)
            assert 0 <= observed["last_arrival_share"] <= 1
            parts = [observed[phase] for phase in phases]
            assert all(part >= -1e-9 for part in parts)
            outside.append(1 - sum(parts) / total)
    # What is outside the phases is one call and one read of the clock, unless another process runs just there.
    assert min(outside) > -1e-6
    assert median(outside) < 0.01


def test_injected_clock_offsets_and_drifts_are_found(measure: Measure) -> None:
    fault = "host-per-rank clock-skew:1:0.5:2e-5 clock-skew:2:-3:0"
    ended = measure(3, ["mpi.barrier", "mpi.broadcast message_bytes=8"], SCOPE_FAULT=fault)
    assert ended.code == 0, ended.errors
    found = ended.launch.clock_synchronization
    assert found.hosts == 3
    assert "HCA3" in found.method
    # Offsets of seconds are left as less than a scheduler's slice.
    assert 0 < found.error_s < 0.02
    # A start on the synchronised clock: nobody enters seconds early or late.
    for case in ended.cases:
        assert case.series[0].entry_s is not None
        assert all(abs(entry) < 0.5 for entries in case.series[0].entry_s for entry in entries)


def test_clocks_of_one_host_are_taken_as_one_and_held_against_each_other(measure: Measure) -> None:
    found = measure(2, ["mpi.barrier"]).launch.clock_synchronization
    assert found.hosts == 1
    assert 0 <= found.error_s < 0.2  # 0 where both readings fall on one step of the clock
    off = measure(2, ["mpi.barrier"], SCOPE_FAULT="clock-skew:1:0.5:0").launch.clock_synchronization
    assert off.error_s == pytest.approx(0.5, rel=0.4)


def test_the_fallback_clock_measures_and_says_why(measure: Measure) -> None:
    ended = measure(2, ["mpi.latency message_bytes=8"], "--clock=clock_gettime")
    assert ended.code == 0
    assert ended.launch.clock.source == "clock_gettime"
    assert ended.launch.clock.fallback_reason


def test_above_the_limit_of_ranks_extremes_are_kept(measure: Measure) -> None:
    whole = only_case(measure(4, ["mpi.broadcast message_bytes=8"])).series[0]
    assert whole.extremes is None
    assert whole.ranks_kept == [0, 1, 2, 3]
    few = only_case(measure(4, ["mpi.broadcast message_bytes=8"], "--keep-ranks=3")).series[0]
    assert few.ranks_kept == [0, 1, 3]
    assert few.extremes is not None
    assert few.entry_s is not None
    for repetition in range(len(few.elapsed_s[0])):
        kept = [times[repetition] for times in few.elapsed_s]
        low, high = few.extremes.minimum_s[repetition], few.extremes.maximum_s[repetition]
        assert low <= min(kept) <= max(kept) <= high
        assert low <= few.extremes.mean_s[repetition] <= high
        for rank, value in (("minimum", low), ("maximum", high)):
            who = getattr(few.extremes, f"{rank}_rank")[repetition]
            assert who == 2 or few.elapsed_s[few.ranks_kept.index(who)][repetition] == value


def test_of_pairs_every_rank_keeps_its_median_and_has_the_partner_that_is_computed(measure: Measure) -> None:
    ended = measure(5, ["mpi.random_pairs round=3 message_bytes=8"], "--keep-ranks=3")
    (series,) = only_case(ended).series
    medians = series.medians_s
    assert medians is not None
    assert len(medians) == 5
    # One of five rests; which one follows from the round.
    assert [rank for rank in range(5) if medians[rank] == 0] == [
        rank for rank, other in enumerate(partners(3, 5)) if other == rank
    ]
    first = series.elapsed_s[0][series.warmup :]
    assert min(first) <= medians[0] <= max(first)


@pytest.mark.parametrize(
    ("ranks", "line", "message"),
    [
        (
            2,
            "mpi.telepathy",
            "plan.txt:1: unknown benchmark mpi.telepathy: must be one of algorithm.linpack",
        ),
        (2, "mpi.latency message_bytes=-1", "message_bytes=-1: must be an integer from 0 to 68719476736"),
        (2, "mpi.latency mode=fast", "mode=fast: must be one of standard, buffered, synchronous, ready"),
        (2, "mpi.latency color=red", "unknown parameter color=red: must be one of mode, completion"),
        (2, "mpi.latency message_bytes", "message_bytes: must be written key=value"),
        (2, "mpi.latency sampling.precision=2", "sampling.precision=2: must be a number from 0 to 1"),
        (2, "mpi.latency sampling.mood=1", "unknown key sampling.mood=1: must be case.position"),
        (3, "mpi.latency", "mpi.latency on ranks=3: must be 2"),
        (3, "mpi.message_rate", "ranks=3: must be an even number, at least 2"),
        (1, "# nothing", "plan.txt: cannot be read or holds no case"),
    ],
)
def test_a_bad_plan_is_refused_in_one_line(ranks: int, line: str, message: str, measure: Measure) -> None:
    ended = measure(ranks, [line])
    assert ended.code == 2
    said = [text for text in ended.errors.splitlines() if text.startswith("scope-measure:")]
    assert len(said) == 1
    assert message in said[0]
    assert ended.records == []


def test_an_unknown_fault_is_refused(measure: Measure) -> None:
    ended = measure(1, ["node.timer"], SCOPE_FAULT="bad-mood")
    assert ended.code == 2
    assert "SCOPE_FAULT=bad-mood: must be one of" in ended.errors


def test_memory_that_is_not_there_is_refused_before_it_is_touched(measure: Measure) -> None:
    cases = [f"node.stream array_bytes={2**40}", f"node.memory_copy array_bytes={2**38}", "node.timer"]
    ended = measure(1, cases)
    assert ended.code == 0, ended.errors
    assert [case.status for case in ended.cases] == ["unavailable", "unavailable", "ok"]
    for case in ended.cases[:2]:
        assert re.search(r"the buffers need \d+ MB of memory on this host; available: \d+ MB", case.reason)


def test_a_full_disk_ends_with_its_own_code(measure: Measure) -> None:
    # /dev/full refuses every write as a full disk does.
    ended = measure(2, ["mpi.barrier"], "--output=/dev/full")
    assert ended.code == 3
    assert "/dev/full: cannot be written: No space left on device" in ended.errors


def test_a_rank_without_its_file_names_itself_and_not_the_samples(measure: Measure) -> None:
    ended = measure(2, ["mpi.barrier"], "--progress=/nowhere/progress")
    assert ended.code == 4
    died = diagnose(ended.errors)
    assert died.rank in (0, 1)
    assert died.text == f"rank {died.rank} on {died.host}: /nowhere/progress: No such file or directory"


@pytest.mark.parametrize(
    ("case", "code", "said"),
    [
        ("application.npb_ep class=S", 0, ""),
        ("application.npb_lu class=Q", 2, "class=Q: must be one of S, W, A, B, C"),
        ("mpi.barriers", 2, "unknown benchmark mpi.barriers: must be one of"),
        ("mpi.pairs load=together now", 2, "now: must be written name=value"),
        ("algorithm.matmul_strassen n=8", 2, "2 ranks: must be 1 or 7"),
    ],
)
def test_a_case_as_a_program_of_its_own(
    case: str, code: int, said: str, embedded: MpiInstallation, embedded_build: NativeBuild
) -> None:
    ended, errors = start(embedded_build.program, embedded, 2, ["--action=alone", f"--case={case}"])
    own = [line for line in errors.splitlines() if line.startswith("scope-measure:")]
    assert (ended, len(own)) == (code, 1 if said else 0), errors
    assert said in "".join(own)


def test_a_case_as_a_program_tells_a_wrong_result(embedded: MpiInstallation, embedded_build: NativeBuild) -> None:
    words = ["--action=alone", "--case=application.npb_ep class=S"]
    fault = "wrong-result:application.npb_ep"
    ended, errors = start(embedded_build.program, embedded, 2, words, SCOPE_FAULT=fault)
    assert (ended, "rank 0: " in errors) == (1, True), errors
