"""Point-to-point benchmarks of MPI, each on real ranks under every MPI, and each seen to notice wrong data."""

from __future__ import annotations

import pytest

from hpcscope.machine.machine import NativeBuild
from hpcscope.samples.records import CaseRecord
from tests.installed_mpi import NAMES, under_every_mpi
from tests.measure.conftest import Measure
from tests.messages import mentions

PAIR = [
    *(
        f"mpi.bandwidth mode={mode} completion={completion} window=8 message_bytes={size}"
        for mode in ("standard", "buffered", "synchronous", "ready")
        for completion in ("blocking", "nonblocking")
        for size in (1, 70_000)
    ),
    *(f"mpi.comms{number} message_bytes={size}" for number in (1, 2) for size in (0, 1, 1000, 1_000_000)),
    *(f"mpi.persistent mode={mode} message_bytes=70000" for mode in ("standard", "synchronous")),
    *(
        f"mpi.datatypes layout={layout} block_bytes={block} message_bytes={2100 * block}"
        for layout in ("vector", "contiguous", "indexed", "hand_packed", "mpi_pack")
        for block in (1, 7, 64)
    ),
    *(
        f"mpi.one_sided operation={operation} epoch={epoch} message_bytes={size}"
        for operation in ("put", "get", "accumulate")
        for epoch in ("fence", "lock", "pscw")
        for size in (8, 1000, 1_000_000)
    ),
    *(f"mpi.overheads message_bytes={size}" for size in (0, 100, 100_000)),
    # Slow where processors are shared: every mode and every kind of call, not all pairs.
    *(
        f"mpi.overheads mode={mode} send={send} receive={receive} message_bytes={size}"
        for mode, send, receive, size in (
            ("standard", "blocking", "blocking", 70_000),
            ("standard", "persistent", "persistent", 8),
            ("buffered", "blocking", "persistent", 8),
            ("synchronous", "blocking", "blocking", 8),
            ("ready", "blocking", "nonblocking", 8),
            ("ready", "persistent", "persistent", 8),
        )
    ),
    *(
        f"mpi.shared_window access={access} signal={signal} message_bytes={size}"
        for access in ("store", "load")
        for signal in ("flag", "message")
        for size in (0, 1001)
    ),
    *(
        f"mpi.reduce_local operator={operator} message_bytes={size}"
        for operator in ("sum", "lor")
        for size in (0, 1000)
    ),
    *(f"mpi.neighbor_exchange call={call} message_bytes=3000" for call in ("nonblocking", "neighbor_alltoall")),
    "mpi.intensity intensity=3 array_bytes=1000",
    *(f"mpi.overlap progress={how} message_bytes={size}" for how in ("none", "test") for size in (1, 300_000)),
    "mpi.threads threads=3 rounds=2 oversubscription=allowed message_bytes=3000",
    "mpi.threads threads=2 rounds=2 oversubscription=allowed communicators=shared message_bytes=70000",
]
"""Cases for two ranks."""
OF_SOME_LIBRARIES = [
    *(
        f"mpi.partitioned partitions={partitions} arrival={arrival} message_bytes={480 * partitions}"
        for partitions in (1, 3, 64)
        for arrival in ("all", "one_by_one")
    ),
    *(f"mpi.latency counts=large mode={mode} message_bytes=1000" for mode in ("standard", "buffered", "ready")),
]
"""Cases that need calls of MPI 4."""
MANY = [
    *(f"mpi.hot_potato message_bytes={size}" for size in (0, 1, 70_000)),
    *(
        f"mpi.shift shift={shift} call={call} message_bytes=3000"
        for shift in (0, 1, 2, 7)
        for call in ("sendrecv", "nonblocking")
    ),
    *(
        f"mpi.neighbor_exchange call={call} message_bytes={size}"
        for call in ("nonblocking", "neighbor_alltoall")
        for size in (0, 3000, 70_000)
    ),
    *(
        f"mpi.pairs round={number} load={load} message_bytes=3000"
        for number in range(6)
        for load in ("isolated", "concurrent")
    ),
    *(f"mpi.random_pairs round={number} message_bytes=3000" for number in (1, 2)),
]
"""Cases for any number of ranks."""


CONGESTED = [
    *(
        f"mpi.congestion victim={victim} aggressor=broadcast message_bytes=80"
        for victim in ("random_ring", "natural_ring", "allreduce")
    ),
    *(
        f"mpi.congestion aggressor={aggressor} aggressor_bytes=3000"
        for aggressor in ("all_to_all", "incast", "put_incast", "files", "none")
    ),
]
"""Cases for four ranks or more."""


def statuses(cases: list[CaseRecord]) -> list[tuple[str, str]]:
    return [(case.benchmark, case.reason) for case in cases if case.status != "ok"]


@under_every_mpi("test_other_mpis.py exchanges messages in all modes, and one-sided")
def test_a_pair_exchanges_rightly_under_every_mpi(build: NativeBuild, measure: Measure) -> None:
    ended = measure(2, PAIR, native=build)
    assert ended.code == 0, ended.errors
    assert not statuses(ended.cases)
    assert len(ended.cases) == len(PAIR)


@under_every_mpi("test_other_mpis.py exchanges messages in all modes, and one-sided")
def test_calls_of_mpi_4_are_right_where_the_library_has_them(build: NativeBuild, measure: Measure) -> None:
    ended = measure(2, OF_SOME_LIBRARIES, native=build)
    assert ended.code == 0, ended.errors
    assert len(ended.cases) == len(OF_SOME_LIBRARIES)
    for case in ended.cases:
        assert case.status == "ok" or "(MPI 4)" in case.reason or "calls of MPI 4" in case.reason, case.reason
        if build.mpi.name == "mpich":
            assert case.status == "ok", case.reason


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_patterns_of_many_ranks_are_right(ranks: int, measure: Measure) -> None:
    others = {2: ["mpi.message_rate window=7 message_bytes=9"], 5: CONGESTED}
    ended = measure(ranks, [*MANY, *others.get(ranks, [])])
    assert ended.code == 0, ended.errors
    assert {reason for _, reason in statuses(ended.cases) if "2 ranks" not in reason} == set()


def test_neighbors_on_grids_are_right(measure: Measure) -> None:
    """3 x 2 and 2 x 2 x 2 ranks; and a number of ranks that makes no grid."""
    for ranks, dimensions in ((6, 2), (8, 3)):
        plan = [
            f"mpi.neighbor_exchange dimensions={dimensions} call={call} message_bytes={size}"
            for call in ("nonblocking", "neighbor_alltoall")
            for size in (0, 3001)
        ]
        ended = measure(ranks, plan)
        assert not statuses(ended.cases)
        assert {case.work and case.work.messages for case in ended.cases} == {2 * dimensions * ranks}
    [refused] = measure(3, ["mpi.neighbor_exchange dimensions=2"]).cases
    assert mentions(refused.reason, "3 ranks ... grid")


def test_all_rounds_hold_every_pair_once(measure: Measure) -> None:
    ranks = 5
    ended = measure(ranks, [f"mpi.pairs round={number} message_bytes=8" for number in range(ranks)])
    pairs = []
    for case in ended.cases:
        times = case.series[0].elapsed_s
        busy = {rank for rank in range(ranks) if max(times[rank]) > 0}
        number = int(case.parameters["round"])
        assert busy == {rank for rank in range(ranks) if 2 * rank % ranks != number % ranks}
        pairs += [(i, j) for i in range(ranks) for j in range(i) if (i + j) % ranks == number]
    assert len(pairs) == len(set(pairs)) == ranks * (ranks - 1) // 2


@pytest.mark.parametrize(
    ("case", "ranks"),
    [
        ("mpi.comms1 message_bytes=1000", 2),
        ("mpi.comms2 message_bytes=1000", 2),
        ("mpi.hot_potato message_bytes=1000", 3),
        ("mpi.shift message_bytes=1000", 3),
        ("mpi.neighbor_exchange message_bytes=1000", 3),
        ("mpi.neighbor_exchange message_bytes=1000 call=neighbor_alltoall dimensions=2", 4),
        ("mpi.pairs message_bytes=1000 round=3", 3),
        ("mpi.message_rate message_bytes=1000", 4),
        ("mpi.random_pairs message_bytes=1000", 2),
        ("network.congestion load_ms=1", 2),
        ("network.congestion load_ms=1 direction=both flows=2", 2),
        ("network.directions load_ms=20", 2),
        ("network.largest_packet", 2),
        ("mpi.congestion aggressor=all_to_all", 4),
        ("mpi.congestion victim=allreduce message_bytes=800", 5),
        ("mpi.persistent message_bytes=1000", 2),
        ("mpi.datatypes message_bytes=1000", 2),
        ("mpi.datatypes layout=hand_packed message_bytes=1000", 2),
        ("mpi.overheads message_bytes=1000", 2),
        ("mpi.overheads mode=ready send=persistent receive=persistent message_bytes=1000", 2),
        ("mpi.partitioned partitions=8 message_bytes=1000", 2),
        ("mpi.shared_window message_bytes=1000", 2),
        ("mpi.reduce_local message_bytes=1000", 2),
        ("mpi.intensity array_bytes=1000", 2),
        ("mpi.overlap message_bytes=1000", 2),
        ("mpi.threads message_bytes=1000 rounds=2", 2),
        ("mpi.one_sided operation=put message_bytes=1000", 2),
        ("mpi.one_sided operation=accumulate message_bytes=1000", 2),
    ],
)
def test_a_corrupted_payload_is_noticed(case: str, ranks: int, measure: Measure) -> None:
    ended = measure(ranks, [case], SCOPE_FAULT=f"corrupt-payload:{case.split()[0]}")
    assert ended.code == 1
    assert [record.status for record in ended.cases] == ["failed"]
    assert f"rank {ranks - 1} on " in ended.cases[0].reason


def test_wrong_data_that_rank_0_fetched_are_noticed(measure: Measure) -> None:
    case = "mpi.one_sided operation=get message_bytes=1000"
    ended = measure(2, [case], SCOPE_FAULT="wrong-result:mpi.one_sided")
    assert [record.status for record in ended.cases] == ["failed"]


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("mpi.datatypes message_bytes=1001 block_bytes=10", "message_bytes=1001 ... block"),
        ("mpi.one_sided operation=accumulate message_bytes=1004", "message_bytes=1004 ... 8"),
        ("mpi.bandwidth mode=buffered message_bytes=1000000000", "MPI_Buffer_attach ... 2^31-1"),
        ("mpi.threads threads=1000", "2000 processors"),
        ("mpi.latency message_bytes=2200000000", "large-count calls of MPI 4"),
        ("mpi.latency counts=large", "counts=large ... MPI 4"),
        ("mpi.overheads mode=ready receive=blocking", "receive"),
        ("mpi.partitioned partitions=3 message_bytes=100", "partitions=3"),
        ("mpi.pairs round=2", "2 ranks"),
    ],
)
def test_what_cannot_be_is_unavailable_with_the_reason(case: str, reason: str, measure: Measure) -> None:
    ended = measure(2, [case, "mpi.latency message_bytes=8"])
    assert ended.code == 0, ended.errors
    first, second = ended.cases
    assert first.status == "unavailable"
    assert mentions(first.reason, reason)
    assert second.status == "ok"


def test_threads_need_a_library_that_was_told_of_them(measure: Measure) -> None:
    ended = measure(2, ["mpi.threads rounds=2 sampling.budget_s=0.01"], action="run")
    assert "placement=threads" in ended.cases[0].reason
    ended = measure(2, ["mpi.threads rounds=2 sampling.budget_s=0.01"], "--placement=threads", action="run")
    assert ended.cases[0].status == "ok"


SLOW = pytest.mark.slow("children under another MPI; there, the embedded MPI starts them by the same calls")
# The launcher of Open MPI 4 waits for children for ever, once in some dozens of times.
STARTING_CHILDREN = [NAMES[0], *(pytest.param(name, marks=SLOW) for name in ("mpich-wheel", "mpich-debian"))]


@pytest.mark.parametrize("mpi", STARTING_CHILDREN, indirect=True)
def test_children_answer_or_the_library_says_no(build: NativeBuild, measure: Measure) -> None:
    ended = measure(1, ["mpi.spawn children=1"], native=build)
    (case,) = ended.cases
    if case.status == "unavailable":
        assert "1 more process" in case.reason
    else:
        assert case.status == "ok", case.reason
        assert ended.code == 0, ended.errors
        assert case.verification is not None
        assert case.verification.checks >= 1


def test_the_parts_of_a_message_add_up(measure: Measure) -> None:
    ended = measure(2, ["mpi.overheads message_bytes=8 sampling.budget_s=0.2"], action="run")
    series = ended.cases[0].series[0]
    (elapsed,) = series.elapsed_s
    for index, total_s in enumerate(elapsed):
        seen = {name: values[0][index] for name, values in series.observed.items()}
        assert seen["send_overhead_s"] > 0
        assert seen["receive_overhead_s"] > 0
        half_s = total_s / series.operations / 2
        assert seen["wire_latency_s"] < half_s
        # Nine digits are written, of which a difference near 0 has fewer, as in an interrupted repetition.
        share = pytest.approx(1 - seen["wire_latency_s"] / half_s, rel=1e-6, abs=1e-8)
        assert seen["overhead_share"] == share
