"""Read the UDP packets that arrive at an interface; print how many there were and how many have wrong checksums.

usage: python packet_sums.py INTERFACE PACKETS
"""

from __future__ import annotations

import socket
import struct
import sys

ETHERNET_BYTES, IP_BYTES = 14, 20
IPV4, UDP = 0x0800, 17
SO_RCVBUFFORCE = 33
"""Of Linux; Python has no name for the option."""


def main() -> None:
    """Say "ready", read so many packets of others, and print both numbers."""
    interface, wanted = sys.argv[1], int(sys.argv[2])
    packets: list[bytes] = []
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(IPV4)) as wire:
        # None may be dropped while this process waits for a processor: the sender does not send them again.
        wire.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 26)
        wire.bind((interface, 0))
        print("ready", flush=True)
        while len(packets) < wanted:
            packet, source = wire.recvfrom(1 << 17)
            if source[2] != socket.PACKET_OUTGOING and packet[ETHERNET_BYTES + 9] == UDP:
                packets.append(packet[ETHERNET_BYTES:])
    print(wanted, sum(not right(packet) for packet in packets))


def right(packet: bytes) -> bool:
    """Tell whether both sums of an IPv4 packet without options are right (RFC 791, RFC 768)."""
    head, datagram = packet[:IP_BYTES], packet[IP_BYTES : struct.unpack("!H", packet[2:4])[0]]
    pseudo = head[12:20] + struct.pack("!HH", UDP, len(datagram))
    return folded(head) == folded(pseudo + datagram) == 0xFFFF


def folded(words: bytes) -> int:
    """Return the sum of the Internet (RFC 1071), not inverted."""
    words += bytes(len(words) % 2)
    total = sum(struct.unpack(f"!{len(words) // 2}H", words))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


if __name__ == "__main__":
    main()
