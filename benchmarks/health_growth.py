"""What `scope health` costs the host on which it runs, from 10 to 10,000 nodes (simulated).

Hosts are not started: a function answers in their place with what a visit of a node with two sockets holds. All
else is the command's own: rounds, threads, the record, verdicts, lines and the page. Three nodes are slow, one is
dead, and one in a hundred has another kernel. Each size is a process of its own. Prints a Markdown table for
docs/validation/health.md.
usage: python benchmarks/health_growth.py [--nodes N,...]
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hpcscope.engine import health as engine
from hpcscope.health import reach
from hpcscope.health.reach import Reach
from hpcscope.health.records import FILE, LinkVisit, Value, Visit
from hpcscope.report import health as page
from hpcscope.report.terminal import health as terminal
from hpcscope.settings.health import HealthSettings

NODES = (10, 100, 1000, 10_000)
AT_ONCE = 64
RATES = {
    **{
        (check, f"node{k}"): rate
        for k in (0, 1)
        for check, rate in (("memory_bandwidth", 2e11), ("memory_latency", 9e-8))
    },
    **{
        ("core_arithmetic", ""): 5e10,
        ("arithmetic", ""): 4e12,
        ("slowest_core", ""): 4e10,
        ("undisturbed", ""): 0.99,
    },
    **{("clock_cost", ""): 2e-8, ("disk_write", ""): 4e8, ("disk_read", ""): 2e9},
}
FACTS = {
    **{"architecture": "x86_64", "processor": "AMD EPYC 7763 64-Core Processor", "sockets": "2", "cores": "128"},
    **{"hardware threads": "256", "NUMA nodes": "2", "memory": "515000 MiB", "swap": "0 MiB", "SMT": "on"},
    **{"product": "R282", "BIOS": "M07", "microcode": "0xa0011d1", "operating system": "Rocky Linux 9.4"},
    **{"governor": "performance", "highest frequency": "2450000", "turbo": "1", "clock source": "tsc"},
    **{f"mitigation {name}": "Mitigation: " + name for name in "abcdefghijklmnop"},
    **{f"interface eth{k} {what}": "1" for k in (0, 1) for what in ("MTU", "state", "speed", "duplex")},
    **{f"InfiniBand mlx5_0/1 {what}": "4X" for what in ("rate", "state", "firmware")},
}
COUNTERS = {f"interface eth{k} {way} errors": 0 for k in (0, 1) for way in ("receive", "send")} | {
    "thermal throttling": 12,
    "processor time": 10**9,
    "processor time stolen": 0,
    **{f"InfiniBand mlx5_0/1 {name}": 0 for name in ("symbol_error", "link_downed", "port_rcv_errors")},
}
SLOW = ("n3", "n5", "n7")


def visited(_reach: Reach, host: str, stage: int, *_: object) -> Visit:
    """Answer for a host."""
    now = time.time()
    times = {"started_unix_s": now, "ended_unix_s": now + 0.7}
    if host == "n9":
        return Visit(host=host, stage=stage, **times, error="no route to host")
    rates = {place: rate * random.lognormvariate(0, 0.01) for place, rate in RATES.items()}
    if host in SLOW:
        rates["arithmetic", ""] /= 1.3
    kernel = "5.14.0-427" if int(host[1:]) % 100 else "5.14.0-362"
    return Visit(
        host=host,
        stage=1 if stage == 1 else 2,
        **times,
        begun_there_unix_s=now,
        ended_there_unix_s=now + 0.7,
        values=[Value(check=check, place=place, value=rate) for (check, place), rate in rates.items()],
        facts={**FACTS, "kernel": kernel},
        before=COUNTERS,
        after=COUNTERS,
    )


def paired(_reach: Reach, first: str, second: str, stage: int, *_: object) -> LinkVisit:
    """Answer for two hosts."""
    now, own = time.time(), random.lognormvariate(0, 0.01)

    def six(value: float) -> list[float]:
        return [value * own * random.lognormvariate(0, 0.005) for _ in range(6)]

    rates = {name: six(1.2e9) for name in ("forward", "backward", "forward_at_once", "backward_at_once")}
    times = {"started_unix_s": now, "ended_unix_s": now + 1.0}
    return LinkVisit(
        first=first, second=second, stage=1 if stage == 1 else 2, latency_s=six(2e-5), **times, **rates
    )


def measured(nodes: int, folder: Path) -> dict[str, float]:
    """Check a simulated fleet and return what each step took."""
    random.seed(1)
    found: dict[str, float] = {"nodes": nodes}

    @contextmanager
    def timed(name: str) -> Iterator[None]:
        begun = time.process_time()
        yield
        found[name] = time.process_time() - begun

    site = Reach(tuple(f"n{number}" for number in range(1, nodes + 1)), reach.here, AT_ONCE)
    costs: list[engine.Cost] = []
    with (
        mock.patch.object(engine, "visit", visited),
        mock.patch.object(reach, "link", paired),
        mock.patch.object(engine, "_reach", return_value=site),
        timed("fan-out and record"),
    ):
        engine.check(HealthSettings(), {}, folder / "now", folder, announce=costs.append)
    found["minutes"] = costs[0].duration_s / 60
    found["copied"] = costs[0].program_bytes * nodes * engine.VISITS[0]
    found["record"] = (folder / "now" / FILE).stat().st_size
    with timed("reading"):
        record = engine.read(folder / "now")
    with timed("verdicts"):
        judged = engine.judged(record, {})
    with timed("terminal"):
        found["lines"] = len(terminal.lines(record, judged))
    with timed("page"):
        found["page bytes"] = len(page.render(record, judged, {}).encode())
    found["named"] = len([node for node in judged.nodes if node.verdict != "healthy"])
    found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return found


def main() -> None:
    """Print a row for each size; each is measured in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default=",".join(map(str, NODES)))
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(measured(options.one, Path(folder))))
        return
    print(
        "| nodes | duration | copied | CPU: fan-out, record | reading | verdicts | terminal | page | memory"
        " | health.json | page | lines | named |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    )
    for nodes in options.nodes.split(","):
        words = [sys.executable, __file__, "--one", nodes]
        one = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
        times = " | ".join(
            f"{one[name]:.2f} s" for name in ("fan-out and record", "reading", "verdicts", "terminal", "page")
        )
        print(
            f"| {int(one['nodes']):,} | {one['minutes']:.1f} min | {one['copied'] / 1e9:.2f} GB | {times}"
            f" | {one['memory'] / 1e6:,.0f} MB | {one['record'] / 1e6:.1f} MB | {one['page bytes'] / 1e3:,.0f} kB"
            f" | {one['lines']} | {one['named']} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
