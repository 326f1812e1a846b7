"""The limit of a wire: the arithmetic of frames (Melas 2000, appendix A, generalized)."""

from dataclasses import dataclass
from math import ceil

IP_HEADER_BYTES = 20
UDP_HEADER_BYTES = 8
TCP_HEADER_BYTES = 20
TCP_TIMESTAMPS_BYTES = 12
"""The timestamps option with its padding, which Linux sends by default."""
DATAGRAM_BYTES = 16
"""The header of Scope's own UDP datagrams and raw frames (`network.latency`, Rules)."""
ACTIVE_MESSAGE_BYTES = 28
"""The header of an active message in its frame (active-messages/README.md)."""


@dataclass(frozen=True)
class Frame:
    """How IEEE 802.3 puts a packet on the wire; all sizes in bytes."""

    mtu_bytes: int = 1500
    preamble_bytes: int = 8
    """Includes the start-of-frame delimiter."""
    header_bytes: int = 14
    check_sequence_bytes: int = 4
    gap_bytes: int = 12
    minimum_bytes: int = 64
    """Least length of header, packet and check sequence; shorter packets are padded."""

    def wire_bytes(self, packet_bytes: int) -> int:
        """Return the channel time of a packet in bytes."""
        framed = max(self.header_bytes + packet_bytes + self.check_sequence_bytes, self.minimum_bytes)
        return self.preamble_bytes + framed + self.gap_bytes


@dataclass(frozen=True)
class Protocol:
    """The headers of the layers above the frame, in each packet."""

    name: str
    header_bytes: int
    acknowledged: bool = False
    """Whether every data packet costs a packet without data on the same channel (half duplex)."""


RAW = Protocol("Ethernet", 0)
TCP_IP = Protocol("TCP/IP", IP_HEADER_BYTES + TCP_HEADER_BYTES)
TCP_IP_TIMESTAMPS = Protocol("TCP/IP with timestamps", TCP_IP.header_bytes + TCP_TIMESTAMPS_BYTES)
TCP_IP_ACKNOWLEDGED = Protocol("TCP/IP, every packet acknowledged", TCP_IP.header_bytes, acknowledged=True)
UDP_IP = Protocol("UDP/IP", IP_HEADER_BYTES + UDP_HEADER_BYTES)

MEASURED = {
    "tcp": TCP_IP_TIMESTAMPS,
    "udp": Protocol("UDP/IP, numbered", UDP_IP.header_bytes + DATAGRAM_BYTES),
    "ethernet": Protocol("Ethernet, numbered", DATAGRAM_BYTES),
    "active_messages": Protocol("active messages", ACTIVE_MESSAGE_BYTES),
}
"""The headers that the protocols of the `network.*` benchmarks put on a wire."""


def message_wire_bytes(message_bytes: int, protocol: Protocol, frame: Frame = Frame()) -> int:
    """Return the channel time of a message in bytes, split into the packets that it needs (at least one)."""
    room = frame.mtu_bytes - protocol.header_bytes
    packets = max(1, ceil(message_bytes / room))
    last = message_bytes - (packets - 1) * room
    data = (packets - 1) * frame.wire_bytes(frame.mtu_bytes) + frame.wire_bytes(protocol.header_bytes + last)
    return data + (packets * frame.wire_bytes(protocol.header_bytes) if protocol.acknowledged else 0)


def message_time_s(
    rate_bits_per_s: float, message_bytes: int, protocol: Protocol, frame: Frame = Frame()
) -> float:
    """Return the least time that a message occupies the channel."""
    return message_wire_bytes(message_bytes, protocol, frame) * 8 / rate_bits_per_s


def throughput_bytes_per_s(
    rate_bits_per_s: float, message_bytes: int, protocol: Protocol, frame: Frame = Frame()
) -> float:
    """Return the payload per second of messages of this size sent back to back."""
    return message_bytes / message_time_s(rate_bits_per_s, message_bytes, protocol, frame)


def asymptotic_bytes_per_s(rate_bits_per_s: float, protocol: Protocol, frame: Frame = Frame()) -> float:
    """Return the payload per second of full packets: 1.219 MB/s raw and 1.186 MB/s for TCP/IP at 10 Mbit/s."""
    return throughput_bytes_per_s(rate_bits_per_s, frame.mtu_bytes - protocol.header_bytes, protocol, frame)
