"""Whether hosts share one medium: no two transfers among them ever get more than one alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scope.topology.sharing import Transfer
from scope.topology.survey import Survey

SAME = 1.25
"""Transfers on a bus achieve together what one achieves alone, up to this factor."""
PAIRS = 4
"""Two pairs of hosts may happen to share a trunk; so many times in a row that is unlikely."""


def is_bus(hosts: Sequence[str], survey: Survey) -> bool:
    """Say whether these hosts of equal ports are on a bus: pairs of transfers, then everything at once."""
    if len(hosts) < 2:
        return False
    for _ in range(PAIRS):
        a, b, *more = _shuffled(hosts, survey)
        # Two or three hosts cannot avoid a common host, but a common port: it sends and receives.
        c, d = (more[0] if more else b), (more[1] if len(more) > 1 else a)
        if not _like_one([Transfer(a, b), Transfer(c, d)], survey):
            return False
    order = _shuffled(hosts, survey)
    return _like_one([Transfer(a, b) for a, b in zip(order, [*order[1:], order[0]], strict=True)], survey)


def _like_one(transfers: Sequence[Transfer], survey: Survey) -> bool:
    alone = max(survey.alone(transfer) for transfer in transfers)
    answer = survey.run(transfers)
    return not answer.starved and float(answer.rates.sum()) < SAME * alone


def _shuffled(hosts: Sequence[str], survey: Survey) -> list[str]:
    return [str(host) for host in survey.rng.permutation(np.array(hosts, dtype=object))]
