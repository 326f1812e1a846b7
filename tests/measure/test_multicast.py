"""A broadcast by IP multicast: every rank has every byte, lost datagrams come again, and silence ends by name."""

from __future__ import annotations

import pytest

from tests.measure.conftest import Measure
from tests.messages import mentions

SIZES = (1, 1000, 65_480, 300_001)
"""The datagrams of a loopback interface carry up to 65,495 B; the last message takes five."""


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_every_rank_has_every_byte(ranks: int, measure: Measure) -> None:
    ended = measure(ranks, [f"network.multicast message_bytes={size}" for size in SIZES])
    assert ended.code == 0, ended.errors
    assert [case.status for case in ended.cases] == ["ok"] * len(SIZES)
    for case in ended.cases:
        size = int(case.parameters["message_bytes"])
        assert case.verification is not None
        assert case.verification.checks >= (ranks - 1) * size
        assert case.work is not None
        assert case.work.bytes == ranks * size


def test_lost_datagrams_and_acknowledgements_come_again(measure: Measure) -> None:
    """A fifth of all packets are lost at every rank; the message takes two windows."""
    ended = measure(3, ["network.multicast message_bytes=400000 lost_per_million=200000"])
    assert ended.code == 0, ended.errors
    (case,) = ended.cases
    assert case.status == "ok"
    assert case.verification is not None
    assert case.verification.checks >= 2 * 400_000
    observed = case.series[0].observed
    assert observed is not None
    again = observed["retransmitted_packets"]
    assert max(max(each) for each in again) > 0


def test_a_network_that_loses_everything_fails_by_name_and_hangs_nobody(measure: Measure) -> None:
    ended = measure(3, ["network.multicast message_bytes=1000 lost_per_million=1000000"])
    assert ended.code != 0
    assert mentions(ended.errors, "multicast: ... rank 1 2")


def test_a_corrupted_payload_fails_its_case_alone(measure: Measure) -> None:
    plan = ["network.multicast message_bytes=1000", "mpi.barrier"]
    ended = measure(3, plan, SCOPE_FAULT="corrupt-payload:network.multicast")
    assert ended.code == 1
    broken, sound = ended.cases
    assert (broken.status, sound.status) == ("failed", "ok")
    assert "rank 2 on " in broken.reason
