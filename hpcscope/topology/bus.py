"""Whether hosts share one medium: concurrent transfers among them never get more than one isolated transfer."""

from collections.abc import Sequence

import numpy as np

from hpcscope.topology.sharing import Transfer
from hpcscope.topology.survey import Survey

SAME = 1.25
"""Concurrent transfers on a bus together achieve at most this factor times the rate of one isolated transfer."""
PAIRS = 4
"""Tests of two random pairs of hosts, which may share a trunk, but hardly this many times in a row."""


def is_bus(hosts: Sequence[str], survey: Survey) -> bool:
    """Return whether these hosts with equal ports are on a bus: test pairs of transfers, then all at once."""
    if len(hosts) < 2:
        return False
    for _ in range(PAIRS):
        a, b, *more = shuffled(hosts, survey)
        # With two or three hosts, both transfers share a host but not a port direction: it sends and receives.
        c, d = (more[0] if more else b), (more[1] if len(more) > 1 else a)
        if not _like_one([Transfer(a, b), Transfer(c, d)], survey):
            return False
    order = shuffled(hosts, survey)
    return _like_one([Transfer(a, b) for a, b in zip(order, [*order[1:], order[0]], strict=True)], survey)


def _like_one(transfers: Sequence[Transfer], survey: Survey) -> bool:
    alone = max(survey.alone(transfer) for transfer in transfers)
    answer = survey.run(transfers)
    return not answer.starved and float(answer.rates.sum()) < SAME * alone


def shuffled(hosts: Sequence[str], survey: Survey) -> list[str]:
    """Return the hosts in a random order."""
    return [str(host) for host in survey.rng.permutation(np.array(hosts, dtype=object))]
