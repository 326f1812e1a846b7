"""Platforms for SimGrid: every way is made of links that are there, and adds up to what was measured."""

from __future__ import annotations

import shutil
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from hpcscope.engine.export import exported
from hpcscope.errors import UsageError
from hpcscope.findings.results import Run
from hpcscope.machine.machine import Machine
from hpcscope.models.measurements import Measurements
from hpcscope.rundirectory import CHECKSUMS, RunDirectory, read_json, write_json
from hpcscope.simulation.platform import NOMINAL_SPEED, platform
from hpcscope.statistics.summarise import read_summaries
from hpcscope.statistics.summary import headlines
from hpcscope.topology.topology import Group, HostException, Topology, write
from tests.messages import mentions

NAMES = ["node1", "node2", "node3", "node4"]
GROUPS = [
    Group(name="all", level="lan", latency_s=60e-6, bandwidth_bytes_per_s=6e6),
    Group(
        **{"name": "fast", "level": "cluster", "parent": "all", "hosts": NAMES[:2], "latency_s": 20e-6},
        **{"bandwidth_bytes_per_s": 1e8, "uplink_bytes_per_s": 6e6},
    ),
    Group(
        **{"name": "bus", "level": "cluster", "parent": "all", "hosts": NAMES[2:], "latency_s": 40e-6},
        **{"bandwidth_bytes_per_s": 1e7, "medium": "shared", "uplink_bytes_per_s": 7e6, "uplink_duplex": "half"},
    ),
]
SLOW = HostException(host="node2", bandwidth_bytes_per_s=2e7, latency_s=30e-6)


@pytest.fixture
def four_hosts(golden_run: Path, tmp_path: Path) -> Path:
    """The golden run on four hosts of a known topology."""
    directory = RunDirectory(Path(shutil.copytree(golden_run, tmp_path / "run")))
    machine = read_json(directory.machine, Machine)
    hosts = [machine.hosts[0].model_copy(update={"name": name}) for name in NAMES]
    (directory.path / CHECKSUMS).unlink(missing_ok=True)
    write_json(directory.machine, machine.model_copy(update={"hosts": hosts}))
    directory.topology.write_text(write(Topology(origin="measured", group=GROUPS, exception=[SLOW])))
    return directory.path


def number(text: str) -> float:
    return float(text.rstrip("Bpsf"))


def ways(root: Element) -> dict[tuple[str, str], list[str]]:
    """Return the links of the way between each two hosts, as the reference of SimGrid's XML composes them."""
    found, zones = {}, {}
    for zone in root.iter("zone"):
        bus = [one.attrib["id"] for one in zone.findall("backbone")]
        ends = {one.attrib["id"]: (one.attrib["up"], one.attrib["down"]) for one in zone.findall("host_link")}
        zones |= {host: (zone.attrib["id"], [up, *bus], [*bus, down]) for host, (up, down) in ends.items()}
        for one, (up, _) in ends.items():
            found |= {(one, other): [up, *bus, down] for other, (_, down) in ends.items() if one != other}
        for loop in zone.findall("bypassRoute"):
            found[loop.attrib["src"], loop.attrib["dst"]] = [one.attrib["id"] for one in loop]
    for route in root.iter("zoneRoute"):
        names = [(one.attrib["id"], one.attrib.get("direction")) for one in route]
        middle = [f"{name}_{direction}" if direction else name for name, direction in names]
        for one, (zone, up, _) in zones.items():
            for other, (there, _, down) in zones.items():
                if (zone, there) == (route.attrib["src"], route.attrib["dst"]):
                    found[one, other] = [*up, *middle, *down]
    return found


def test_ways_add_up_to_the_topology(four_hosts: Path) -> None:
    root = ElementTree.fromstring(exported("simgrid", [four_hosts]))
    links = {}
    for one in (*root.iter("link"), *root.iter("backbone")):
        figures = number(one.attrib["latency"]), number(one.attrib["bandwidth"])
        split = one.attrib.get("sharing_policy") == "SPLITDUPLEX"
        links |= {f"{one.attrib['id']}{end}": figures for end in (("_UP", "_DOWN") if split else ("",))}
    found = ways(root)
    assert len(found) == 4 * 4
    told = {}
    for ends, names in found.items():
        told[ends] = sum(links[name][0] for name in names), min(links[name][1] for name in names)
    assert told["node3", "node4"] == pytest.approx((40e-6, 1e7))
    assert told["node1", "node3"] == pytest.approx((60e-6, 6e6))
    assert told["node3", "node1"] == pytest.approx((60e-6, 6e6))
    assert told["node1", "node2"] == pytest.approx((25e-6, 2e7))
    assert told["node1", "node1"] == pytest.approx((0.4e-6, 4194304 / (3e-6 + 4194304 / 12e9)), rel=0.05)
    assert found["node1", "node3"].count("bus_bus") == found["node3", "node4"].count("bus_bus") == 1


def test_speeds_and_their_cases(four_hosts: Path) -> None:
    text = exported("simgrid", [four_hosts])
    root = ElementTree.fromstring(text)
    assert [one.attrib["id"] for one in root.iter("host")] == NAMES
    (speed,) = {number(one.attrib["speed"]) for one in root.iter("host")}
    alone = [one for one in headlines(read_summaries(four_hosts)) if (one.ranks, one.unit) == (1, "flop/s")]
    largest = [one.median for one in alone if one.parameters.get("n") == 512]
    assert speed == pytest.approx(max(largest), rel=1e-5)
    assert "N = 512" in text
    assert mentions(text, "topology.toml ... (measured)")


def test_what_was_not_measured_is_refused(four_hosts: Path) -> None:
    run = Run(four_hosts)
    with pytest.raises(UsageError, match="ping-pong"):
        platform(run.measurements)
    with pytest.raises(UsageError, match="node1"):
        platform(
            run.measurements, Topology(origin="measured", group=[GROUPS[0].model_copy(update={"hosts": ["x"]})])
        )
    nothing = Measurements([], run.machine, run.raw_samples.launches, run.benchmarks)
    with pytest.raises(UsageError, match=r"node\.matrix_multiply"):
        platform(nothing)


def test_equal_hosts_need_no_speed_where_only_comparisons_count(four_hosts: Path) -> None:
    run = Run(four_hosts)
    silent = [
        one for one in run.measurements.headlines if one.unit != "flop/s" and one.benchmark.startswith("mpi.")
    ]
    measurements = Measurements(silent, run.machine, run.raw_samples.launches, run.benchmarks)
    with pytest.raises(UsageError, match=r"node\.matrix_multiply"):
        platform(measurements, Topology(origin="measured", group=GROUPS))
    made = platform(measurements, Topology(origin="measured", group=GROUPS), nominal_speed=True)
    assert {one.flops_per_s for one in made.nodes} == {NOMINAL_SPEED}
    first, *others = run.machine.hosts
    other = first.model_copy(
        update={"processor": first.processor.model_copy(update={"model": "another processor"})}
    )
    mixed = run.machine.model_copy(update={"hosts": [other, *others]})
    with pytest.raises(UsageError, match=r"node\.matrix_multiply"):
        platform(Measurements(silent, mixed, run.raw_samples.launches, run.benchmarks), nominal_speed=True)
