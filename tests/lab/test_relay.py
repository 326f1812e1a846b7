"""When a relay delivers which frame: its schedule, with an invented clock."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path

import pytest

from hpcscope.build.compiler import system_compiler
from hpcscope.build.single_source import compiled
from hpcscope.lab import emulation
from hpcscope.lab.wiring import Way
from tests.patience import PATIENCE_S

FULL_US = 1514 * 8 / 100
"""What a full frame takes at 100 Mbit/s, in microseconds."""
FAST_US = FULL_US / 10
Frames = Sequence[tuple[float, int, int, int] | tuple[float, int, int, int, int]]
"""When each comes in microseconds, from which port, to which, and its bytes; the payload of each of several."""


@pytest.fixture(scope="module")
def program() -> Path:
    """The schedule of the relay, compiled with a clock that is told."""
    relay = Path(emulation.__file__).with_name("relay.cpp").read_text()
    return compiled(Path(__file__).with_name("relay_schedule.cpp"), system_compiler("tests"), facts=[relay])


def delivered(
    program: Path, folder: Path, ways: Sequence[Way], frames: Frames
) -> list[tuple[int, int, float, int]]:
    """Return number, port, time in microseconds and sequence number of TCP of each delivery, by time."""
    (folder / "ways").write_text("".join(f"{way.line()}\n" for way in ways))
    given = "".join(f"{round(time * 1000)} {' '.join(map(str, [*others, 0][:4]))}\n" for time, *others in frames)
    said = subprocess.run(
        [str(program), str(folder / "ways")],
        input=given,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    ).stdout
    rows = [tuple(map(int, line.split())) for line in said.splitlines()]
    rows.sort(key=itemgetter(2, 0))
    return [(number, port, time / 1000, sequence) for number, port, time, sequence in rows]


def switch(*rates_mbit: float, latency_us: float = 0.0, queue_bytes: float = 0.0, medium: str = "") -> list[Way]:
    """Return the ways of a switch with ports of these rates."""
    return [
        Way(*ends, rate, latency_us, queue_bytes, medium=medium and f"{medium}{number}")
        for number, rate in enumerate(rates_mbit)
        for ends in both(f"1:port{number}", "switch")
    ]


def both(here: str, there: str) -> list[tuple[str, str]]:
    return [(here, there), (there, here)]


def two_switches(trunk_mbit: float, *rates_mbit: float) -> list[Way]:
    """Return the ways of two switches, a and b, joined by a trunk; ports of these rates are on them in turn."""
    ports = [
        Way(*ends, rate)
        for number, rate in enumerate(rates_mbit)
        for ends in both(f"1:port{number}", "ab"[number % 2])
    ]
    return [*ports, Way("a", "b", trunk_mbit, counted="a-b"), Way("b", "a", trunk_mbit)]


def bus(hosts: int, queue_bytes: float = 0.0) -> list[Way]:
    """Return the ways of a bus of 10 Mbit/s."""
    return [
        way
        for port in (f"1:port{number}" for number in range(hosts))
        for way in (Way(port, "bus", 10, queue_bytes=queue_bytes, medium="bus"), Way("bus", port))
    ]


def link(switch_name: str, mbit: float) -> list[Way]:
    """Return both directions of a third port, on this switch."""
    return [Way(*ends, mbit) for ends in both("1:port2", switch_name)]


def burst(start: int, end: int, count: int) -> list[tuple[float, int, int, int]]:
    return [(0, start, end, 1514)] * count


@pytest.mark.parametrize(
    ("ways", "frames", "expected"),
    [
        # A switch receives a frame whole before it sends it on; the frames of a message follow each other.
        (switch(100, 100), burst(0, 1, 1), [(1, 1, 2 * FULL_US)]),
        (switch(100, 100), burst(0, 1, 3), [(1, 1, 2 * FULL_US), (2, 1, 3 * FULL_US), (3, 1, 4 * FULL_US)]),
        (switch(1000, 100), burst(0, 1, 2), [(1, 1, FAST_US + FULL_US), (2, 1, FAST_US + 2 * FULL_US)]),
        (switch(100, 1000), burst(0, 1, 2), [(1, 1, FULL_US + FAST_US), (2, 1, 2 * FULL_US + FAST_US)]),
        (switch(100, 100), [(0, 0, 1, 130)], [(1, 1, 2 * 10.4)]),
        # Latency delays every frame, and keeps none from beginning.
        (
            switch(100, 100, latency_us=180),
            burst(0, 1, 2),
            [(1, 1, 2 * FULL_US + 360), (2, 1, 3 * FULL_US + 360)],
        ),
        # Two senders share the port of the receiver, and the later one waits.
        (
            switch(100, 100, 100),
            [(0, 0, 2, 1514), (5, 1, 2, 1514)],
            [(1, 2, 2 * FULL_US), (2, 2, 3 * FULL_US)],
        ),
        # Two pairs have wires of their own; so have both directions, unless the link is half duplex.
        (
            switch(100, 100, 100, 100),
            [(0, 0, 1, 1514), (0, 2, 3, 1514)],
            [(1, 1, 2 * FULL_US), (2, 3, 2 * FULL_US)],
        ),
        (
            switch(100, 100),
            [(0, 0, 1, 1514), (0, 1, 0, 1514)],
            [(1, 1, 2 * FULL_US), (2, 0, 2 * FULL_US)],
        ),
        (
            switch(100, 100, medium="link"),
            [(0, 0, 1, 1514), (FULL_US / 2, 1, 0, 1514)],
            # The second frame enters when the first has entered; then the ways out of both links are free.
            [(1, 1, 2.5 * FULL_US), (2, 0, 2.5 * FULL_US)],
        ),
        # A bus is crossed once, in turn.
        (bus(3), burst(0, 2, 1), [(1, 2, 10 * FULL_US)]),
        (
            bus(3),
            [*burst(0, 2, 2), *burst(1, 2, 2)],
            [(1, 2, 10 * FULL_US), (3, 2, 20 * FULL_US), (2, 2, 30 * FULL_US), (4, 2, 40 * FULL_US)],
        ),
        # What is for nobody in particular goes to all others.
        (switch(100, 100, 100), [(0, 0, 99, 1514)], [(1, 1, 2 * FULL_US), (1, 2, 2 * FULL_US)]),
        (
            two_switches(100, 100, 100, 100),
            [(0, 0, 99, 1514)],
            [(1, 2, 2 * FULL_US), (1, 1, 3 * FULL_US)],
        ),
        # A trunk is a further wire; who is on one switch does not cross it.
        (two_switches(100, 100, 100), burst(0, 1, 2), [(1, 1, 3 * FULL_US), (2, 1, 4 * FULL_US)]),
        (two_switches(1000, 100, 100), burst(0, 1, 1), [(1, 1, 2 * FULL_US + FAST_US)]),
        (
            two_switches(10, 100, 100, 100, 100),
            [*burst(0, 1, 1), *burst(2, 3, 1), *burst(2, 0, 1)],
            [(3, 0, 3 * FULL_US), (1, 1, 12 * FULL_US), (2, 3, 22 * FULL_US)],
        ),
        # What comes from a trunk waits for a bus like any host.
        (
            [*bus(2), Way("gate", "bus", 10, medium="bus"), Way("bus", "gate"), *link("gate", 1000)],
            [(0, 2, 1, 1514), (0, 0, 1, 1514)],
            [(2, 1, 10 * FULL_US), (1, 1, 20 * FULL_US)],
        ),
    ],
)
def test_frames_cross_the_wires_one_after_another(
    program: Path, tmp_path: Path, ways: list[Way], frames: Frames, expected: list[tuple[int, int, float]]
) -> None:
    found = delivered(program, tmp_path, ways, frames)
    assert [row[:2] for row in found] == [row[:2] for row in expected]
    assert [row[2] for row in found] == pytest.approx([row[2] for row in expected], abs=0.01)


def test_a_long_message_takes_what_its_frames_take(program: Path, tmp_path: Path) -> None:
    found = delivered(program, tmp_path, switch(100, 100), burst(0, 1, 200))
    assert [row[2] for row in found] == pytest.approx(
        [(number + 1) * FULL_US for number in range(1, 201)], abs=0.5
    )


@pytest.mark.parametrize(
    ("rates_mbit", "expected_us"),
    [
        ((100, 100), 4 * FULL_US),
        ((1000, 100), FAST_US + 3 * FULL_US),
        ((100, 1000), 3 * FULL_US + FAST_US),
    ],
)
def test_frames_that_travel_together_take_as_long_as_one_by_one(
    program: Path, tmp_path: Path, rates_mbit: tuple[float, float], expected_us: float
) -> None:
    together = (0, 0, 1, 66 + 3 * 1448, 1448)
    for frames in (burst(0, 1, 3), [together]):
        found = delivered(program, tmp_path, switch(*rates_mbit), [*frames, (expected_us, 0, 1, 130)])
        assert found[-2][2] == pytest.approx(expected_us, abs=0.01)
        apart = [(FULL_US if rate == 100 else FAST_US) * 130 / 1514 for rate in rates_mbit]
        assert found[-1][2] == pytest.approx(expected_us + sum(apart), abs=0.01), "both wires are free again"


@pytest.mark.parametrize("trunk_mbit", [10, 100, 1000])
@pytest.mark.parametrize("rates_mbit", [(100, 100), (1000, 100), (100, 1000)])
def test_frames_that_cross_a_trunk_together_take_as_long_as_one_by_one(
    program: Path, tmp_path: Path, trunk_mbit: float, rates_mbit: tuple[float, float]
) -> None:
    ways = two_switches(trunk_mbit, *rates_mbit)
    together = (0, 0, 1, 66 + 3 * 1448, 1448)
    ends = [delivered(program, tmp_path, ways, frames)[-1][2] for frames in (burst(0, 1, 3), [together])]
    assert ends[1] == pytest.approx(ends[0], abs=0.01)


@pytest.mark.parametrize(
    ("ways", "first_us", "frame_us"),
    [
        (bus(2), 10 * FULL_US, 10 * FULL_US),
        ([*switch(100), Way("switch", "1:port1", 100, largest_packet_bytes=1500)], 2 * FULL_US, FULL_US),
    ],
    ids=["bus", "fault"],
)
def test_frames_that_travel_together_are_cut_where_each_counts(
    program: Path, tmp_path: Path, ways: list[Way], first_us: float, frame_us: float
) -> None:
    found = delivered(program, tmp_path, ways, [(0, 0, 1, 66 + 3 * 1448, 1448)])
    assert [row[2] for row in found] == pytest.approx([first_us + frame_us * n for n in range(3)], abs=0.01)
    assert [row[3] for row in found] == [0, 1448, 2896]


def test_what_crosses_a_trunk_is_counted_in_both_directions(program: Path, tmp_path: Path) -> None:
    ways = two_switches(100, 100, 100)
    (tmp_path / "ways").write_text("".join(f"{way.line()}\n" for way in ways))
    given = f"0 0 1 {66 + 3 * 1448} 1448\n0 1 0 130 0\n0 1 1 99 0\n"
    words = [str(program), str(tmp_path / "ways")]
    said = subprocess.run(words, input=given, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    assert said.stderr.split() == ["a-b:", "130", *["0"] * 7, f"{3 * 1514}"], "received, then sent"


def test_the_last_frame_of_several_may_be_short(program: Path, tmp_path: Path) -> None:
    found = delivered(program, tmp_path, switch(100, 100), [(0, 0, 1, 66 + 1448 + 64, 1448)])
    assert [row[2] for row in found] == [pytest.approx(2 * FULL_US + 130 * 0.08, abs=0.01)]


def test_what_does_not_fit_into_the_queue_is_dropped(program: Path, tmp_path: Path) -> None:
    short = switch(100, 100, queue_bytes=3000)
    found = delivered(program, tmp_path, short, [*burst(0, 1, 5), (10_000, 0, 1, 1514)])
    assert [number for number, *_ in found] == [1, 2, 6], "before the third frame are 3028 bytes"
    crowded = [*burst(0, 2, 5), *burst(1, 2, 5)]
    limited = switch(1000, 1000, 100)
    limited[4:] = [replace(way, queue_bytes=3000) for way in limited[4:]]
    assert len(delivered(program, tmp_path, limited, crowded)) == 3, "before the port of the receiver"


def test_the_queue_of_a_host_on_a_bus_is_dropped_when_it_is_full(program: Path, tmp_path: Path) -> None:
    found = delivered(program, tmp_path, bus(2, queue_bytes=3000), burst(0, 1, 9))
    assert [number for number, *_ in found] == [1, 2, 3], "one is on the bus, two fit into the queue"


def test_a_dead_way_loses_all(program: Path, tmp_path: Path) -> None:
    sound = switch(100, 100)
    dead = [replace(sound[0], loss=1), *sound[1:]]
    assert delivered(program, tmp_path, dead, [(0, 0, 1, 1514), (0, 1, 0, 1514)]) == [(2, 0, 2 * FULL_US, 0)]
