"""Point-to-point traffic between ranks."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcscope.programs.profiles.profile import Profile
from hpcscope.programs.profiles.records import Traffic

MOST = 256
"""Maximum number of rows in the matrix; with more ranks, successive ranks share a row."""


def traffic(profiles: Sequence[Profile], ranks: int) -> Traffic:
    """Return the matrix of messages as counted by the senders; puts and gets count as messages, too.

    Messages sent by a rank without a profile are taken from its receivers. Messages to processes outside
    MPI_COMM_WORLD, or without their own row, are only in the ranks' totals.
    """
    block = -(-ranks // MOST)
    side = -(-ranks // block)
    messages = np.zeros((side, side), np.int64)
    size = np.zeros((side, side), np.int64)
    send_s, receive_s = np.zeros((side, side)), np.zeros((side, side))
    present = {profile.rank for profile in profiles}
    sent = received = 0
    for profile in profiles:
        rows = profile.tables["partners"]
        sent += int(rows["sent_messages"].sum())
        received += int(rows["received_messages"].sum())
        inside = rows[(rows["rank"] >= 0) & (rows["rank"] < ranks)]
        partner, here = inside["rank"] // block, profile.rank // block
        _add(messages, here, partner, inside["sent_messages"])
        _add(size, here, partner, inside["sent_bytes"])
        _add(messages, here, partner, inside["put_operations"])
        _add(size, here, partner, inside["put_bytes"])
        _add(messages.T, here, partner, inside["get_operations"])
        _add(size.T, here, partner, inside["get_bytes"])
        _add(send_s, here, partner, inside["send_ticks"] * profile.tick_s)
        _add(receive_s.T, here, partner, inside["receive_ticks"] * profile.tick_s)
        absent = ~np.isin(inside["rank"], list(present))
        for matrix, name in ((messages, "received_messages"), (size, "received_bytes")):
            _add(matrix.T, here, partner[absent], inside[name][absent])
    sender, receiver = np.nonzero(messages | (receive_s > 0))
    return Traffic(
        block=block,
        sender=sender.tolist(),
        receiver=receiver.tolist(),
        messages=messages[sender, receiver].tolist(),
        bytes=size[sender, receiver].tolist(),
        send_s=[float(f"{value:.6g}") for value in send_s[sender, receiver]],
        receive_s=[float(f"{value:.6g}") for value in receive_s[sender, receiver]],
        unreceived=sent - received,
    )


def matrix(traffic: Traffic, ranks: int, column: str) -> NDArray[Any]:
    """Return a column as a matrix with a row for each sender (or block) and a column for each receiver."""
    side = -(-ranks // traffic.block)
    values = np.asarray(getattr(traffic, column))
    dense = np.zeros((side, side), values.dtype)
    dense[traffic.sender, traffic.receiver] = values
    return dense


def _add(dense: NDArray[Any], row: int, columns: NDArray[Any], values: NDArray[Any]) -> None:
    np.add.at(dense[row], columns, values.astype(dense.dtype))
