"""What a collective is taken to cost: which measurement goes before which, inside and between hosts."""

from __future__ import annotations

import numpy as np
import pytest

from hpcscope.models.prediction.costs.steps import CollectiveStep, Messages, crossing
from hpcscope.models.prediction.measured_costs import MeasuredCosts, NotMeasuredError
from hpcscope.samples.records import LaunchRecord
from tests import golden_run as golden
from tests.models.curves import measured, noisy, summary
from tests.models.known_costs import LAUNCHES, SPREAD, SPREAD_LAUNCHES, message, ping_pong


def test_messages_between_hosts_are_asked_for_only_where_they_were_measured() -> None:
    below = MeasuredCosts(measured(ping_pong(np.random.default_rng(8)), LAUNCHES), "default")
    assert below.host_room == 16
    assert not below.between_hosts(64), "only one host was measured: as though it had processors for all"
    with pytest.raises(NotMeasuredError, match="between hosts"):
        below.messages(Messages("exchange", 1, 8), outside=True)


def test_two_ranks_are_on_two_hosts_where_the_run_had_none_on_one() -> None:
    record = golden.launch_record(1, 2, "default", 0.0)
    for rank, process in enumerate(record["processes"]):
        process["host"] = f"host{rank}"
    apart = [LaunchRecord.model_validate(record)]
    messages = measured(ping_pong(np.random.default_rng(8)), apart)
    assert MeasuredCosts(messages, "default").between_hosts(2)
    assert not MeasuredCosts(messages, "default").between_hosts(1)
    both = MeasuredCosts(measured(ping_pong(np.random.default_rng(8)), apart + LAUNCHES), "default")
    assert not both.between_hosts(2)
    assert both.between_hosts(17)
    four = [one for one in LAUNCHES if one.ranks == 4]  # of a program, on one host
    assert not MeasuredCosts(measured(ping_pong(np.random.default_rng(8)), apart + four), "default").between_hosts(
        4
    )


def test_a_collective_without_a_root_costs_what_it_does_back_to_back() -> None:
    """The first one waits for the latest process; those behind it begin before all have ended."""
    random = np.random.default_rng(1)
    for benchmark, routine, factor in (("mpi.alltoallv", "MPI_Alltoallv", 3), ("mpi.broadcast", "MPI_Bcast", 5)):
        made = [
            summary(noisy(random, times * 1e-5), benchmark, "time_s", definition, ranks=4, message_bytes=4096)
            for definition, times in (("global", 5), ("streaming", 3))
        ]
        made[1] = made[1].model_copy(update={"primary": False})
        step = CollectiveStep("exchange", routine, 2, 4096, 4, messages=3)
        costs = MeasuredCosts(measured([*ping_pong(random), *made], LAUNCHES), "default")
        time_s, _, _ = costs.collective(step, outside=False, together=step.ranks)
        assert time_s[0] == pytest.approx(2 * factor * 1e-5, rel=0.05)


def test_an_all_to_all_costs_exchanges_of_pairs_where_these_were_measured() -> None:
    """Messages that cross take three times as long here; what was measured on as many ranks counts before."""
    random = np.random.default_rng(1)
    all_to_all = CollectiveStep("exchange", "MPI_Alltoallv", 2, 4096, 4, messages=3)
    below = ping_pong(random)
    of_ranks = {
        ranks: summary(noisy(random, time_s), "mpi.alltoallv", "time_s", "global", ranks=ranks, message_bytes=4096)
        for ranks, time_s in ((2, 3 * message(4096)), (4, 5 * message(4096)))
    }
    for known, factor in (((), 3), ((2,), 9), ((2, 4), 5)):
        made = [*below, *(of_ranks[ranks] for ranks in known)]
        time_s, _, _ = MeasuredCosts(measured(made, LAUNCHES), "default").collective(
            all_to_all, outside=False, together=all_to_all.ranks
        )
        assert time_s[0] == pytest.approx(2 * factor * message(4096), rel=0.05)


def test_groups_cost_what_they_cost_beside_each_other_where_that_was_measured() -> None:
    """A row of a grid of 2 x 2 processes exchanges while the other one does."""
    random = np.random.default_rng(1)
    step = CollectiveStep("exchange", "MPI_Alltoallv", 2, 4096, 2, messages=1)
    alone, beside, all_four = (
        summary(noisy(random, time_s), "mpi.alltoallv", "time_s", "global", message_bytes=4096, **given)
        for time_s, given in (
            (3 * message(4096), {"ranks": 2, "group_ranks": 0}),
            (4 * message(4096), {"ranks": 4, "group_ranks": 2}),
            (7 * message(4096), {"ranks": 4, "group_ranks": 0}),
        )
    )
    for known, factor, name in (
        ((alone, all_four), 3, "mpi.alltoallv on 2 ranks"),
        ((alone, beside, all_four), 4, "mpi.alltoallv on 2 groups of 2 ranks"),
    ):
        costs = MeasuredCosts(measured([*ping_pong(random), *known], LAUNCHES), "default")
        time_s, origin, _ = costs.collective(step, outside=False, together=4)
        assert origin == name
        assert time_s[0] == pytest.approx(2 * factor * message(4096), rel=0.05)
        # On two processes there is one group, and on eight two groups say nothing.
        for together in (2, 8):
            time_s, _, _ = costs.collective(step, outside=False, together=together)
            assert time_s[0] == pytest.approx(2 * 3 * message(4096), rel=0.05)


def test_groups_inside_hosts_say_nothing_of_pairs_between_hosts() -> None:
    random = np.random.default_rng(1)
    step = CollectiveStep("exchange", "MPI_Alltoallv", 2, 4096, 2, messages=1)
    between = summary(
        noisy(random, 100 * message(4096)),
        "mpi.alltoallv",
        "time_s",
        "global",
        placement=SPREAD,
        message_bytes=4096,
        group_ranks=0,
    )
    inside = summary(
        noisy(random, 4 * message(4096)),
        "mpi.alltoallv",
        "time_s",
        "global",
        ranks=4,
        message_bytes=4096,
        group_ranks=2,
    )
    below = measured([*ping_pong(random), between, inside], [*LAUNCHES, *SPREAD_LAUNCHES])
    for outside, factor in ((True, 100), (False, 4)):
        time_s, _, _ = MeasuredCosts(below, "default").collective(step, outside=outside, together=4)
        assert time_s[0] == pytest.approx(2 * factor * message(4096), rel=0.05)


def test_groups_that_were_measured_with_other_sizes_do_not_replace_one_group_with_these() -> None:
    random = np.random.default_rng(1)
    step = CollectiveStep("exchange", "MPI_Alltoallv", 2, 64, 2, messages=1)
    alone = [
        summary(noisy(random, 3 * message(size)), "mpi.alltoallv", "time_s", "global", message_bytes=size)
        for size in (64, 1 << 20)
    ]
    given = {"ranks": 4, "message_bytes": 1 << 20, "group_ranks": 2}
    beside = summary(noisy(random, 4 * message(1 << 20)), "mpi.alltoallv", "time_s", "global", **given)
    costs = MeasuredCosts(measured([*ping_pong(random), *alone, beside], LAUNCHES), "default")
    time_s, _, _ = costs.collective(step, outside=False, together=4)
    assert time_s[0] == pytest.approx(2 * 3 * message(64), rel=0.05)


def test_an_operation_on_fresh_buffers_goes_before_groups_of_the_library() -> None:
    random = np.random.default_rng(1)
    step = CollectiveStep("distribute", "MPI_Bcast", 1, 8 * 64**2, 2, fresh=True)
    fresh = summary(
        noisy(random, 9e-6), "operation.broadcast", "time_s", "global", buffers="cold", n=64, work_bytes=16 * 64**2
    )
    given = {"ranks": 4, "message_bytes": 8 * 64**2, "group_ranks": 2}
    groups = summary(noisy(random, 2e-6), "mpi.broadcast", "time_s", "global", **given)
    costs = MeasuredCosts(measured([*ping_pong(random), fresh, groups], LAUNCHES), "default")
    time_s, origin, _ = costs.collective(step, outside=False, together=4)
    assert origin == "operation.broadcast on 2 ranks"
    assert time_s[0] == pytest.approx(9e-6, rel=0.05)


def test_messages_that_cross_take_the_all_to_all_of_two_that_has_more_sizes() -> None:
    random = np.random.default_rng(1)
    made = ping_pong(random)
    for benchmark, sizes, factor in (
        ("mpi.alltoallv", (1024, 65536), 2),
        ("mpi.alltoall", (8, 1024, 4096, 65536), 4),
    ):
        for size in sizes:
            times = noisy(random, factor * message(size))
            made.append(summary(times, benchmark, "time_s", "global", ranks=2, message_bytes=size))
    time_s, _, _ = MeasuredCosts(measured(made, LAUNCHES), "default").collective(
        crossing("exchange", 3, 4096), outside=False, together=2
    )
    assert time_s[0] == pytest.approx(3 * 4 * message(4096), rel=0.05)
