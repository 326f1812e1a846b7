"""The hosts of a lab for real: what they have of their own, and what stops them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hpcscope.lab import faults
from hpcscope.lab.entry import Emulation
from tests.patience import PATIENCE_S, until


def test_hosts_have_their_own_name_network_and_memory(small: Emulation) -> None:
    look = "hostname; ip -brief address show eth0; ls /dev/shm | wc -l; getent hosts b1"
    said = small.run("a2", ["sh", "-c", look]).stdout.split("\n")
    assert said[0] == "a2"
    assert "10.77.1.2/16" in said[1]
    assert said[2] == "0"
    assert said[3].split() == ["10.78.2.1", "b1"]
    assert small.run("a1", ["pwd"]).stdout.strip() == str(Path.cwd())


@contextmanager
def sleeper(lab: Emulation) -> Iterator[Callable[[], str]]:
    """Start a process on the first host that sleeps; the value tells its state."""
    process = lab.started("a1", ["sh", "-c", "sleep 600 & echo $!; wait"])
    assert process.stdout is not None
    pid = process.stdout.readline().strip()
    yield lambda: lab.run(None, ["cut", "-d", " ", "-f", "3", f"/proc/{pid}/stat"]).stdout.strip()
    lab.run(None, ["kill", pid])
    process.wait(PATIENCE_S)


def test_a_stopped_host_stands_still_until_it_is_mended(healthy: Emulation) -> None:
    with sleeper(healthy) as state:
        until(lambda: state() == "S", "it sleeps")
        lab = faults.slow_host(healthy, "a1", 1.0)
        until(lambda: state() == "T", "it is stopped")
        faults.clear(lab)
        until(lambda: state() == "S", "it sleeps again")


def test_a_slow_host_stands_still_now_and_then(healthy: Emulation) -> None:
    with sleeper(healthy) as state:
        lab = faults.slow_host(healthy, "a1", 0.5)
        for _turn in ("first", "second"):
            until(lambda: state() == "T", "it is stopped")
            until(lambda: state() == "S", "it goes on")
        faults.clear(lab)
