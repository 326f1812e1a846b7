"""One end of a TCP stream over an emulated link; run by path, with the standard library only.

`stream.py receive ADDRESS` prints its port, then payload and seconds of the later part of the stream, when queues
are full and the sender has reached its rate. `stream.py send ADDRESS PORT SECONDS` fills the link for so long.
"""

import json
import socket
import sys
import time

CHUNK = 1 << 16
LONGEST_WAIT_S = 60.0
SETTLING = 0.4
"""Share of the duration of a stream that is not counted."""


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
    # The queue of the sender empties after it has stopped: those bytes crossed the link, too.
    first, last = arrivals[0][0], arrivals[-1][0]
    settled = next(mark for mark in arrivals if mark[0] - first >= SETTLING * (last - first))
    print(json.dumps({"bytes": arrivals[-1][1] - settled[1], "seconds": last - settled[0]}), flush=True)


def send(address: str, port: int, seconds: float) -> None:
    """Send as much as the link carries."""
    data = bytes(CHUNK)
    with socket.create_connection((address, port)) as connection:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            connection.sendall(data)


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        receive(sys.argv[2])
    else:
        send(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
