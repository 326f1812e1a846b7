"""Send UDP packets that look like frames travelling together, until the input ends.

Random bytes, good headers with wrong lengths, packets that end within a header.
usage: python hostile_packets.py INTERFACE|HOST ADDRESS
ADDRESS: 24 bytes in hexadecimal digits, as scope-exchange prints them. To a HOST, as 10.9.8.1, goes what an
ordinary socket can send.
"""

from __future__ import annotations

import random
import select
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress

SEGMENTS_PORT = 0x88B5
FRAME_HEADER = struct.Struct("<HHBBHIIHHII")


def main() -> None:
    """Send until somebody closes the input."""
    target, digits = sys.argv[1:]
    address = bytes.fromhex(digits)
    ethernet, (port,) = address[:6], struct.unpack("<H", address[6:8])
    chance = random.Random(1)
    if "." in target:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ordinary:
            until_closed(lambda: ordinary.sendto(contents(chance, port), (target, SEGMENTS_PORT)))
        return
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as wire:
        wire.bind((target, 0))
        before = ethernet + wire.getsockname()[4] + b"\x08\x00"

        def send() -> None:
            packet = before + internet(contents(chance, port))
            wire.send(packet[: chance.randint(20, len(packet))] if chance.random() < 0.2 else packet)

        until_closed(send)


def until_closed(send: Callable[[], object]) -> None:
    """Call a while, say "ready", and call until somebody closes the input."""
    for _ in range(50):  # what waits at the other's socket reaches it, however late this process goes on
        with suppress(ConnectionRefusedError):
            send()
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], 0)[0]:
        for _ in range(20):
            with suppress(ConnectionRefusedError):
                send()


def contents(chance: random.Random, port: int) -> bytes:
    """Return one or more frames that nobody sealed."""
    frames = b""
    while len(frames) < chance.choice([1, 100, 1300]):
        claimed = chance.choice([0, 10, 1400, 65535])
        header = FRAME_HEADER.pack(
            port, chance.randrange(65536), chance.randrange(256), chance.randrange(256), claimed, *(
                chance.randrange(1 << 16) for _ in range(6)
            )
        )  # fmt: skip
        frames += header + chance.randbytes(chance.choice([0, 10, 100]))
    return frames[:1400]


def internet(payload: bytes) -> bytes:
    """Return it behind headers of IPv4 and UDP, whose sums nobody looks at."""
    udp = struct.pack("!HHHH", SEGMENTS_PORT, SEGMENTS_PORT, 8 + len(payload), 0)
    ip = struct.pack(
        "!BBHHHBBH4s4s", 0x45, 0, 28 + len(payload), 0, 0, 1, 17, 0, bytes(4), bytes([224, 0, 0, 254])
    )
    return ip + udp + payload


if __name__ == "__main__":
    main()
