import pytest

from hpcscope.models.ladder.limits import (
    MEASURED,
    RAW,
    TCP_IP,
    TCP_IP_ACKNOWLEDGED,
    TCP_IP_TIMESTAMPS,
    UDP_IP,
    Frame,
    Protocol,
    asymptotic_bytes_per_s,
    message_time_s,
    message_wire_bytes,
    throughput_bytes_per_s,
)


@pytest.mark.parametrize(
    ("protocol", "rate", "expected"),
    [
        (RAW, 10e6, 1.219e6),
        (TCP_IP, 10e6, 1.186e6),
        (TCP_IP_ACKNOWLEDGED, 10e6, 1.125e6),
        (RAW, 100e6, 12.19e6),
        (TCP_IP, 100e6, 11.86e6),
    ],
)
def test_the_thesis_s_limits(protocol: Protocol, rate: float, expected: float) -> None:
    assert asymptotic_bytes_per_s(rate, protocol) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("message_bytes", "protocol", "wire"),
    [
        (0, TCP_IP, 84),
        (6, TCP_IP, 84),
        (7, TCP_IP, 85),
        (1460, TCP_IP, 1538),
        (1461, TCP_IP, 1538 + 84),
        (0, TCP_IP_ACKNOWLEDGED, 168),
        (1460, TCP_IP_ACKNOWLEDGED, 1622),
        (1500, RAW, 1538),
    ],
)
def test_bytes_on_the_wire(message_bytes: int, protocol: Protocol, wire: int) -> None:
    assert message_wire_bytes(message_bytes, protocol) == wire


def test_equation_a_3() -> None:
    for x in (3, 6, 7, 100, 1460):
        expected = 5 * x / 336 if x <= 6 else 5 * x / (312 + 4 * x)
        assert throughput_bytes_per_s(10e6, x, TCP_IP) / 1e6 == pytest.approx(expected)


def test_jumbo_frames_carry_more_and_timestamps_less() -> None:
    jumbo = asymptotic_bytes_per_s(1e9, TCP_IP, Frame(mtu_bytes=9000))
    plain = asymptotic_bytes_per_s(1e9, TCP_IP)
    stamped = asymptotic_bytes_per_s(1e9, TCP_IP_TIMESTAMPS)
    assert stamped < plain < jumbo
    assert stamped == pytest.approx(1e9 / 8 * 1448 / 1538)


def test_the_least_time_of_a_message() -> None:
    assert message_time_s(10e6, 0, TCP_IP) == pytest.approx(84 * 8 / 10e6)


@pytest.mark.parametrize(
    ("protocol", "payload"),
    [
        (UDP_IP, 1472),
        (MEASURED["tcp"], 1448),
        (MEASURED["udp"], 1456),
        (MEASURED["ethernet"], 1484),
    ],
)
def test_every_header_set_takes_its_share_of_a_full_frame(protocol: Protocol, payload: int) -> None:
    assert asymptotic_bytes_per_s(10e6, protocol) == pytest.approx(10e6 / 8 * payload / 1538)
