"""Who sent how much to whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scope.profiles.profile import Profile
from scope.profiles.records import Traffic

MOST = 256
"""Rows of the matrix; of more processes successive ones are taken together."""


def traffic(profiles: Sequence[Profile], ranks: int) -> Traffic:
    """Return the matrix of messages as the senders counted them; a put and a get count as messages too.

    What a process that left no profile has sent is taken from its receivers. Messages to processes outside
    MPI_COMM_WORLD, or that had no row of their own, are in the processes' totals only.
    """
    block = -(-ranks // MOST)
    side = -(-ranks // block)
    messages = np.zeros((side, side), np.int64)
    size = np.zeros((side, side), np.int64)
    present = {one.rank for one in profiles}
    sent = received = 0
    for one in profiles:
        rows = one.tables["partners"]
        sent += int(rows["sent_messages"].sum())
        received += int(rows["received_messages"].sum())
        inside = rows[(rows["rank"] >= 0) & (rows["rank"] < ranks)]
        partner, here = inside["rank"] // block, one.rank // block
        _add(messages, here, partner, inside["sent_messages"])
        _add(size, here, partner, inside["sent_bytes"])
        _add(messages, here, partner, inside["put_operations"])
        _add(size, here, partner, inside["put_bytes"])
        _add(messages.T, here, partner, inside["get_operations"])
        _add(size.T, here, partner, inside["get_bytes"])
        absent = ~np.isin(inside["rank"], list(present))
        for matrix, name in ((messages, "received_messages"), (size, "received_bytes")):
            _add(matrix.T, here, partner[absent], inside[name][absent])
    sender, receiver = np.nonzero(messages)
    return Traffic(
        block=block,
        sender=sender.tolist(),
        receiver=receiver.tolist(),
        messages=messages[sender, receiver].tolist(),
        bytes=size[sender, receiver].tolist(),
        unreceived=sent - received,
    )


def matrix(found: Traffic, ranks: int, column: str) -> NDArray[np.int64]:
    """Return `messages` or `bytes` as a matrix: a row for each sender (or block), a column for each receiver."""
    side = -(-ranks // found.block)
    dense = np.zeros((side, side), np.int64)
    dense[found.sender, found.receiver] = getattr(found, column)
    return dense


def _add(dense: NDArray[np.int64], row: int, columns: NDArray[Any], values: NDArray[Any]) -> None:
    np.add.at(dense[row], columns, values.astype(np.int64))
