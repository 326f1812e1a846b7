"""The small lab that most tests here enter, and how the kernel and the relays of its links are asked."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from hpcscope.lab import emulation, fidelity
from hpcscope.lab.entry import Emulation
from tests.cli.scope_command import Answer
from tests.patience import PATIENCE_S

SMALL = """
[[group]]
name = "a"
hosts = 2
rate_mbit_per_s = 50
[[group]]
name = "b"
hosts = 1
rate_mbit_per_s = 50
[[group]]
name = "c"
hosts = 1
rate_mbit_per_s = 50
[[trunk]]
between = ["a", "b"]
rate_mbit_per_s = 10
latency_us = 500
[[trunk]]
between = ["a", "c"]
rate_mbit_per_s = 20
"""
WITHOUT_RIGHTS = ["setpriv", "--inh-caps=-all", "--bounding-set=-all,+setfcap"]
"""As root of an ordinary container, or (without that last right) as any user."""


def refuse_without_namespaces() -> None:
    """Skip the test where the kernel allows no lab."""
    if reason := emulation.refusal():
        pytest.skip(reason)


def probe(lab: Emulation, link: str) -> fidelity.LinkProbe:
    """Return the two hosts between which a link is the narrowest."""
    return next(one for one in fidelity.probes(lab.state.description) if one.link == link)


def shaped_mbit(lab: Emulation, host: str | None, device: str) -> float | None:
    """Return the rate to which the kernel shapes a device, of the fabric or a host; None where it does not."""
    (first, *_) = json.loads(lab.run(host, ["tc", "-json", "qdisc", "show", "dev", device]).stdout)
    return first["options"]["rate"] * 8 / 1e6 if first["kind"] == "tbf" else None


def ways(lab: Emulation) -> dict[str, dict[str, str]]:
    """Return the options of each direction of each link, as its relay was told: `a1 a`, `a a1`, `a b`."""
    names = {f"{host.pid}:eth0": host.name for host in lab.state.hosts}
    assert lab.state.relay is not None
    (_, file, *_) = lab.run(None, ["cat", f"/proc/{lab.state.relay.pid}/cmdline"]).stdout.split("\0")
    found = {}
    for line in Path(file).read_text().splitlines():
        source, target, *options = line.split()
        ends = f"{names.get(source, source)} {names.get(target, target)}"
        found[ends] = dict(option.split("=") for option in options)
    return found


def on_the_wire(lab: Emulation, host: str, way: str) -> int:
    """Return the bytes that a host sent (`tx`) or received (`rx`) so far."""
    said = lab.run(host, ["ip", "-json", "-statistics", "link", "show", "eth0"]).stdout
    return int(json.loads(said)[0]["stats64"][way]["bytes"])


def in_lab(lab: Emulation, folder: Path, *words: str) -> Answer:
    """Run scope inside, on the first host."""
    command = ["sh", "-c", 'cd "$0" && exec "$@"', str(folder), sys.executable, "-m", "hpcscope", *words]
    done = lab.run("a1", command, timeout=PATIENCE_S)
    return Answer(done.returncode, done.stdout, done.stderr)
