"""One end of a TCP stream, or of a ping-pong, over an emulated link; run by path, with the standard library only.

`stream.py receive ADDRESS` prints its port, then payload and seconds of the later part of the stream, when queues
are full and the sender has reached its rate. `stream.py send ADDRESS PORT SECONDS BUFFER_BYTES` fills the link for
this time. `stream.py answer ADDRESS BYTES...` prints its port and sends each message back. `stream.py ask ADDRESS
PORT BYTES...` prints half of the shortest round trip of each size, in seconds.
"""

import json
import select
import socket
import sys
import time
from collections.abc import Callable

CHUNK = 1 << 16
LARGEST_BUFFER_BYTES = 200_000
"""Largest send buffer that every Linux grants on request; by default it grants more."""
LONGEST_WAIT_S = 60.0
SETTLING = 0.4
"""Fraction of the duration of a stream that is not counted."""
ASKED_S = 0.1
"""Least total time for which messages of each size go back and forth."""
FEWEST, MOST = 3, 200
"""Fewest and most round trips of each size."""
LONGEST_S = 2.0
"""Total time after which no further round trip begins, for links that are much slower than declared."""


def receive(address: str) -> None:
    """Receive one stream; print its payload in bytes and its seconds."""
    with socket.create_server((address, 0)) as server:
        server.settimeout(LONGEST_WAIT_S)
        print(server.getsockname()[1], flush=True)
        connection, _ = server.accept()
        with connection:
            arrivals = []
            total = 0
            while taken := len(connection.recv(CHUNK)):
                total += taken
                arrivals.append((time.monotonic(), total))
    # The sender's queue drains after the sender has stopped: these bytes crossed the link, too.
    first, last = arrivals[0][0], arrivals[-1][0]
    settled = next(mark for mark in arrivals if mark[0] - first >= SETTLING * (last - first))
    print(json.dumps({"bytes": arrivals[-1][1] - settled[1], "seconds": last - settled[0]}), flush=True)


def send(address: str, port: str, seconds: str, buffer_bytes: str) -> None:
    """Send as much as the link carries.

    The send buffer is as large as the queue of the link: with a larger one frames would be lost and repeated late.
    """
    data = bytes(CHUNK)
    with socket.create_connection((address, int(port))) as connection:
        if int(buffer_bytes) < LARGEST_BUFFER_BYTES:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, int(buffer_bytes))
        end = time.monotonic() + float(seconds)
        while time.monotonic() < end:
            connection.sendall(data)


def answer(address: str, *sizes: str) -> None:
    """Send back the messages of each size, with one connection for each size."""
    with socket.create_server((address, 0)) as server:
        server.settimeout(LONGEST_WAIT_S)
        print(server.getsockname()[1], flush=True)
        messages = {_without_delay(server.accept()[0]): memoryview(bytearray(int(size))) for size in sizes}
    while messages:
        for connection in select.select(list(messages), [], [])[0]:
            if _fill(connection, messages[connection]):
                connection.sendall(messages[connection])
            else:
                del messages[connection]


def ask(address: str, port: str, *sizes: str) -> None:
    """Send messages of all sizes in turn and await each back; print the least one-way time (RTT/2) of each."""
    asked = [
        (_without_delay(socket.create_connection((address, int(port)))), memoryview(bytearray(int(size))))
        for size in sizes
    ]
    times: list[list[float]] = [[] for _ in sizes]
    while pending := [number for number, taken in enumerate(times) if not _enough(taken)]:
        for number in pending:
            _exchange(*asked[0])  # wakes both ends up, whatever came before
            times[number].append(_exchange(*asked[number]))
    print(json.dumps([min(taken) / 2 for taken in times]), flush=True)


def _exchange(connection: socket.socket, message: memoryview) -> float:
    begun = time.perf_counter()
    connection.sendall(message)
    _fill(connection, message)
    return time.perf_counter() - begun


def _enough(times: list[float]) -> bool:
    spent = sum(times)
    return spent >= LONGEST_S or len(times) >= MOST or (len(times) >= FEWEST and spent >= ASKED_S)


def _without_delay(connection: socket.socket) -> socket.socket:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _fill(connection: socket.socket, message: memoryview) -> bool:
    """Receive a message; return whether it came."""
    while message and (taken := connection.recv_into(message)):
        message = message[taken:]
    return not message


ACTIONS: dict[str, Callable[..., None]] = {"receive": receive, "send": send, "answer": answer, "ask": ask}

if __name__ == "__main__":
    ACTIONS[sys.argv[1]](*sys.argv[2:])
