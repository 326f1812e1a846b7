"""Two network namespaces that a link joins, and processes in them that exchange active messages.

The namespaces have no names: they end with the processes that hold them, whatever happens.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from hpcscope.build import cmake
from hpcscope.lab import emulation
from hpcscope.lab.wiring import Way
from tests import native_tests
from tests.patience import PATIENCE_S, until

INTERFACE = "eth0"
SUM_HERE = """
import array, fcntl, socket, struct, sys
off = array.array("B", struct.pack("II", 0x17, 0))  # ETHTOOL_STXCSUM
request = struct.pack("16sP", sys.argv[1].encode(), off.buffer_info()[0])
fcntl.ioctl(socket.socket(), 0x8946, request)  # SIOCETHTOOL
"""


def exchange_program() -> Path:
    """Return the program whose processes exchange active messages, compiled if it is not in the cache."""
    name = "scope-exchange"
    project = native_tests.without_provider(name)
    source = project.sources / "tests" / "programs" / "exchange.cpp"
    asked = replace(project, facts=(source.read_text(),))
    return cmake.compiled(asked, (name,)) / name


@dataclass(frozen=True)
class Ended:
    """How a process ended."""

    code: int
    output: str
    errors: str

    @property
    def result(self) -> dict[str, Any]:
        """What it wrote at its end."""
        assert self.code == 0, self.errors
        return json.loads(self.output.splitlines()[-1])


@contextmanager
def running(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Start a process with pipes; end it in any case."""
    pipes: dict[str, int] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(list(command), text=True, errors="replace", **pipes, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def written(stream: IO[str] | None) -> IO[str]:
    """Return the pipe of a process that was started with pipes."""
    assert stream is not None
    return stream


def run(*command: str) -> None:
    """Run a command that must succeed."""
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S)


class TwoHosts:
    """Two namespaces and the program that exchanges messages."""

    def __init__(self, program: Path, pids: Sequence[int]) -> None:
        self.program = program
        self.pids = pids

    def inside(self, host: int, *command: str) -> list[str]:
        """Return a command that runs on a host."""
        return ["nsenter", "--target", str(self.pids[host]), "--net", *command]

    def shape(self, discipline: str) -> None:
        """Give the ports of both hosts a queue discipline."""
        for host in (0, 1):
            run(*self.inside(host, "tc", "qdisc", "replace", "dev", INTERFACE, "root", *discipline.split()))

    def send_single_frames(self) -> None:
        """Let the kernel cut what is handed over together, of TCP and of active messages, into frames."""
        cut = ["gso_max_segs", "1", "gso_max_size", "1500"]
        for host in (0, 1):
            run(*self.inside(host, "ip", "link", "set", INTERFACE, *cut))

    def drop_ip(self, host: int) -> None:
        """Let a host send no IP packets: into an interface that is down, for which no kernel needs a module."""
        dropped = "protocol ip u32 match u32 0 0 action mirred egress redirect dev lo"
        for words in ("qdisc add dev eth0 clsact", f"filter add dev eth0 egress {dropped}"):
            run(*self.inside(host, "tc", *words.split()))

    def dropped_ip_bytes(self, host: int) -> int:
        """Return how many bytes of IP packets a host would have sent."""
        shown = self.said(host, "tc", "-stats", "-json", "filter", "show", "dev", INTERFACE, "egress")
        filters = [one["options"] for one in json.loads(shown) if "actions" in one.get("options", {})]
        return sum(action["stats"]["bytes"] for one in filters for action in one["actions"])

    def sum_packets_here(self, host: int) -> None:
        """Let the kernel of a host finish the checksums of its packets, which it leaves to the card."""
        run(*self.inside(host, sys.executable, "-c", SUM_HERE, INTERFACE))

    def packets_sent(self, host: int) -> int:
        """Return how many packets a host's interface has sent; frames that travel together are one."""
        shown = self.said(host, "ip", "-json", "-stats", "link", "show", INTERFACE)
        return int(json.loads(shown)[0]["stats64"]["tx"]["packets"])

    def said(self, host: int, *command: str) -> str:
        """Return the output of a command on a host."""
        return subprocess.run(
            self.inside(host, *command), capture_output=True, text=True, check=True, timeout=PATIENCE_S
        ).stdout

    def exchange(
        self, action: str, size: int, count: int, wire: str = "automatic", flow_control: bool = True, **other: Any
    ) -> tuple[Ended, Ended]:
        """Let host 1 ask and host 0 answer; return how both ended.

        `other`: another action than `answer` for the first (`answering`); a `key` or `second_wire` with which the
        second differs; `patience_s` until silence is death; `kill_first`, when both have exchanged packets;
        `before`, words before the program's name; `meanwhile`, a command on host 1 that is given the address of
        the first, writes a line when it is ready, and ends with its input.
        """
        flow = "on" if flow_control else "off"
        key = secrets.token_hex(16)
        before = [self.packets_sent(host) for host in (0, 1)]
        patience = ["env", f"SCOPE_EXCHANGE_PATIENCE_S={other.get('patience_s', PATIENCE_S)}"]
        words = [
            [wire, flow, other.get("answering", "answer")],
            [other.get("second_wire", wire), flow, action, str(size), str(count)],
        ]
        with ExitStack() as stack:
            both = [
                stack.enter_context(
                    running(
                        self.inside(
                            host, *other.get("before", ()), *patience, str(self.program), INTERFACE, *words[host]
                        )
                    )
                )
                for host in (0, 1)
            ]
            addresses = [_address(each, its) for each, its in zip(both, (key, other.get("key", key)), strict=True)]
            if "meanwhile" in other:
                beside = stack.enter_context(running(self.inside(1, *other["meanwhile"], addresses[0])))
                assert written(beside.stdout).readline() == "ready\n", written(beside.stderr).read()
            for each, address in zip(both, reversed(addresses), strict=True):
                print(address, file=written(each.stdin), flush=True)
            if other.get("kill_first"):
                until(lambda: all(self.packets_sent(host) > before[host] + 100 for host in (0, 1)), "both send")
                both[0].kill()
            # The pipes hold what little is written.
            texts = [each.communicate(timeout=PATIENCE_S) for each in both]
            return Ended(both[0].returncode, *texts[0]), Ended(both[1].returncode, *texts[1])

    def alone(self, interface: str, wire: str, *before: str) -> Ended:
        """Start one process on host 0 that is expected to refuse."""
        command = self.inside(0, *before, str(self.program), interface, wire, "on", "answer")
        with running(command) as process:
            texts = process.communicate("00" * 15 + "01\n", timeout=PATIENCE_S)
            return Ended(process.returncode, *texts)

    @contextmanager
    def waiting(self, wire: str) -> Iterator[str]:
        """Keep a process on host 0 that has its wire and waits for an address; the value is its own."""
        with running(self.inside(0, str(self.program), INTERFACE, wire, "on", "answer")) as process:
            yield _address(process, secrets.token_hex(16))


def _address(process: subprocess.Popen[str], key: str) -> str:
    print(key, file=written(process.stdin), flush=True)
    address = written(process.stdout).readline().strip()
    assert address, written(process.stderr).read()
    return address


@contextmanager
def two_hosts(program: Path, mtu: int = 1500, relay: tuple[Way, Path] | None = None) -> Iterator[TwoHosts]:
    """Join two namespaces by a veth pair, or by a relay: how each direction is, and where its files are."""
    with ExitStack() as stack:
        # `cat` holds a namespace until its input ends. Its first answer says that the namespace is there.
        holders = [stack.enter_context(running(["unshare", "--net", "cat"])) for _ in (0, 1)]
        for holder in holders:
            print(file=written(holder.stdin), flush=True)
            written(holder.stdout).readline()
        hosts = TwoHosts(program, [holder.pid for holder in holders])
        if relay:
            way, folder = relay
            ports = [f"{pid}:{INTERFACE}" for pid in hosts.pids]
            ways = [each for port in ports for each in (replace(way, source=port), Way(way.target, port))]
            (folder / "ways").write_text("".join(f"{one.line()}\n" for one in ways))
            words = [emulation.relay(), *(str(folder / name) for name in ("ways", "late", "traffic"))]
            link = stack.enter_context(running(words))
            assert written(link.stdout).readline() == "ready\n", written(link.stderr).read()
        else:
            ends = [f"{INTERFACE} netns {pid} mtu {mtu}" for pid in hosts.pids]
            run(*hosts.inside(0, *f"ip link add {ends[0]} type veth peer name {ends[1]}".split()))
        for host in (0, 1):
            run(*hosts.inside(host, "ip", "address", "add", f"10.9.8.{host + 1}/24", "dev", INTERFACE))
            run(*hosts.inside(host, "ip", "link", "set", INTERFACE, "up"))
        yield hosts
