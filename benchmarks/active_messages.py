"""Active messages against TCP that polls, and against the bare wires, on a veth pair of two network namespaces.

Interleaved launches, each process on a processor of its own; the ratio of the medians over launches, with the
quartiles of the ratios of neighbors. Needs root. Between machines a switch adds its time; a veth pair shows the
processors' share alone.
usage: python benchmarks/active_messages.py [--launches N] [--only ROW] [--frames N]
"""

from __future__ import annotations

import argparse
import json
import secrets
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from quartiles import quartiles

from hpcscope.build import active_messages
from hpcscope.build.compiler import system_compiler
from tests.active_messages.two_hosts import INTERFACE, TwoHosts, exchange_program, run, running, two_hosts, written

HERE = Path(__file__).resolve().parent
SHAPED = "tbf rate 1gbit burst 125000 limit 2000000"
GIGABIT_BYTES_PER_S = 1e9 / 8 * 1500 / 1514
"""What the token bucket lets through of frames of 1500 bytes, which it counts with their Ethernet headers."""


@dataclass(frozen=True)
class Row:
    """One comparison: seconds of active messages over seconds of the other, at most `limit`."""

    name: str
    ours: Callable[[Bench], float]
    other: Callable[[Bench], float]
    limit: float
    shaped: bool = False
    mtu: int = 1500
    offload: bool = True
    """Whether TCP hands over segments of up to 64 KiB, which never become frames on a veth pair."""


class Bench:
    """Two hosts, the program of the active messages, and the plain loops."""

    def __init__(self, hosts: TwoHosts, plain: Path) -> None:
        self.hosts = hosts
        self.plain = plain
        self.ethernet = [self._ethernet_of(host) for host in (0, 1)]

    def _ethernet_of(self, host: int) -> str:
        command = self.hosts.inside(host, "ip", "-brief", "link", "show", INTERFACE)
        return subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=True
        ).stdout.split()[2]

    def active(self, action: str, size: int, count: int, wire: str) -> float:
        """Return the median seconds of one round trip, put or stream."""
        key = secrets.token_hex(16)
        words = [[wire, "on", "answer"], [wire, "on", action, str(size), str(count)]]
        with ExitStack() as stack:
            both = [
                stack.enter_context(running(self._pinned(host, str(self.hosts.program), INTERFACE, *words[host])))
                for host in (0, 1)
            ]
            for each in both:
                print(key, file=written(each.stdin), flush=True)
            addresses = [written(each.stdout).readline().strip() for each in both]
            assert all(addresses), [written(each.stderr).read() for each in both]
            for each, address in zip(both, reversed(addresses), strict=True):
                print(address, file=written(each.stdin), flush=True)
            text, errors = both[1].communicate(timeout=120)
            both[0].communicate(timeout=120)
        assert both[1].returncode == 0, errors
        return statistics.median(json.loads(text.splitlines()[-1])["elapsed_s"])

    def bare(self, way: str, action: str, size: int, count: int) -> float:
        """Return the same of a plain loop: `tcp`, `packet` or `xdp`."""
        places = ["10.9.8.1", "10.9.8.2"] if way == "tcp" else self.ethernet
        with ExitStack() as stack:
            both = []
            for host, role in enumerate(("serve", "ask")):
                words = [way, role, action, str(size), str(count), places[host], places[1 - host]]
                both.append(stack.enter_context(running(self._pinned(host, str(self.plain), *words))))
            if way != "tcp":
                for each in both:
                    assert written(each.stdout).readline() == "ready\n", written(each.stderr).read()
                for each in both:
                    print(file=written(each.stdin), flush=True)
            text, errors = both[1].communicate(timeout=120)
        assert both[1].returncode == 0, errors
        return statistics.median(float(line) for line in text.split())

    def _pinned(self, host: int, *command: str) -> list[str]:
        return self.hosts.inside(host, "taskset", "-c", str(host), *command)


LONG = 16 << 20
ROUNDS = 3000
STREAM = 20_032
ROWS = [
    Row(
        "round trip of 8 B, AF_XDP over TCP",
        lambda bench: bench.active("latency", 8, ROUNDS, "xdp"),
        lambda bench: bench.bare("tcp", "latency", 8, ROUNDS),
        0.45,
    ),
    Row(
        "round trip of 8 B, AF_PACKET over TCP",
        lambda bench: bench.active("latency", 8, ROUNDS, "packet"),
        lambda bench: bench.bare("tcp", "latency", 8, ROUNDS),
        0.6,
    ),
    Row(
        "round trip of 8 B, AF_XDP over the bare loop",
        lambda bench: bench.active("latency", 8, ROUNDS, "xdp"),
        lambda bench: bench.bare("xdp", "latency", 8, ROUNDS),
        1.3,
    ),
    Row(
        "round trip of 8 B, AF_PACKET over the bare loop",
        lambda bench: bench.active("latency", 8, ROUNDS, "packet"),
        lambda bench: bench.bare("packet", "latency", 8, ROUNDS),
        1.3,
    ),
    Row(
        "stream of 8 B messages, AF_XDP over the bare loop",
        lambda bench: bench.active("stream", 8, STREAM, "xdp"),
        lambda bench: bench.bare("xdp", "stream", 8, STREAM),
        1.3,
    ),
    Row(
        "stream of 8 B messages, AF_PACKET over the bare loop",
        lambda bench: bench.active("stream", 8, STREAM, "packet"),
        lambda bench: bench.bare("packet", "stream", 8, STREAM),
        1.3,
    ),
    Row(
        "16 MiB on a link of 1 Gbit/s, AF_PACKET over the wire's limit",
        lambda bench: bench.active("put", LONG, 1, "packet"),
        lambda _: LONG / GIGABIT_BYTES_PER_S,
        1 / 0.97,
        shaped=True,
    ),
    Row(
        "16 MiB on a link of 1 Gbit/s, AF_PACKET over TCP",
        lambda bench: bench.active("put", LONG, 1, "packet"),
        lambda bench: bench.bare("tcp", "stream", LONG, 1),
        1 / 0.95,
        shaped=True,
    ),
    Row(
        "16 MiB, frames of 1500 B, AF_XDP over TCP with segmentation offload",
        lambda bench: bench.active("put", LONG, 5, "xdp"),
        lambda bench: bench.bare("tcp", "stream", LONG, 5) / 5,
        1 / 0.95,
    ),
    *(
        Row(
            f"16 MiB, frames of {mtu} B, AF_PACKET over TCP {how}",
            lambda bench: bench.active("put", LONG, 5, "packet"),
            lambda bench: bench.bare("tcp", "stream", LONG, 5) / 5,
            1 / 0.95,
            mtu=mtu,
            offload=offload,
        )
        for offload, how in ((False, "in the same frames"), (True, "with segmentation offload"))
        for mtu in (1500, 9000, 65535)
    ),
]


def main() -> None:
    """Print one line per comparison; with `--frames`, attack the protocol with so many hostile frames instead."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--launches", type=int, default=7)
    arguments.add_argument("--only", default="", help="rows whose name has this in it")
    arguments.add_argument("--frames", type=int, help="hostile frames, 1,000,000 for example")
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if asked.frames:
            attack(Path(folder), asked.frames)
            return
        plain = compiled(Path(folder) / "plain_wires", HERE / "plain_wires.cpp")
        program = exchange_program()
        print(f"{asked.launches} interleaved launches of each, one processor per process")
        print(f"{'':<72}{'ours us':>11}{'other us':>11}{'ratio':>8}{'limit':>7}   quartiles of pairs")
        for row in ROWS:
            if asked.only in row.name:
                measure(row, program, plain, asked.launches)


def compiled(program: Path, source: Path) -> Path:
    """Compile a program with the library's sources."""
    library = active_messages.source_directory() / "src"
    sources = [str(source), *map(str, sorted(library.glob("*.cpp")))]
    flags = ["-std=c++20", "-O2", "-pthread", f"-I{library}"]
    run(*system_compiler("the plain loops must be compiled"), *flags, "-o", str(program), *sources)
    return program


def attack(folder: Path, frames: int) -> None:
    """Run the hostile frames of the tests, more of them, with the sanitizers."""
    source = active_messages.source_directory()
    program = folder / "frames"
    sources = [source / "tests" / "frames.cpp", *(source / "src").glob("*.cpp")]
    flags = ["-std=c++20", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-pthread"]
    words = [*system_compiler("the test must be compiled"), *flags, f"-I{source / 'src'}", "-o", str(program)]
    run(*words, *map(str, sources))
    subprocess.run([program, str(frames)], check=True)


def measure(row: Row, program: Path, plain: Path, launches: int) -> None:
    """Measure one row both ways, in turn."""
    with two_hosts(program, mtu=row.mtu) as hosts:
        if row.shaped:
            hosts.shape(SHAPED)
        if not row.offload:
            hosts.send_single_frames()
        bench = Bench(hosts, plain)
        pairs = []
        for launch in range(launches):
            both = {}
            for side in (0, 1) if launch % 2 else (1, 0):
                both[side] = (row.ours, row.other)[side](bench)
            pairs.append((both[0], both[1]))
    ours, other = (statistics.median(pair[side] for pair in pairs) for side in (0, 1))
    low, _, high = quartiles([a / b for a, b in pairs])
    verdict = "" if ours / other <= row.limit else "   above the limit"
    figures = f"{ours * 1e6:>11.2f}{other * 1e6:>11.2f}{ours / other:>8.3f}{row.limit:>7.2f}"
    print(f"{row.name:<72}{figures}   {low:.3f} to {high:.3f}{verdict}", flush=True)


if __name__ == "__main__":
    main()
