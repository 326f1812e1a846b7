"""A run in a lab of four hosts, simulated on more hosts, on fewer, on another network and with faster links.

The times of the run are written anew, as a network of 100 Mbit/s and 100 us has them: what follows from them
does not depend on how busy the machine was.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from hpcscope.lab import emulation
from hpcscope.machine.machine import MpiInstallation
from tests.cli.scope_command import BRIEF, answered, rewrite_times, samples, scope, start
from tests.messages import numbers
from tests.patience import PATIENCE_S, until

LAB = """
[[group]]
name = "a"
hosts = 4
rate_mbit_per_s = 100
"""
OF_THESE_SOURCES = """
import sys
from pathlib import Path
from hpcscope import cli
from hpcscope.build import native
sources = Path(sys.argv.pop(1))
native.source_directory = lambda: sources
cli.main()
"""
"""The program `scope`, with other sources of the native program, which its first argument names."""
pytestmark = pytest.mark.usefixtures("quickly")
CASES = [
    "mpi.latency ranks=2 message_bytes=8,16Ki,1Mi",
    "mpi.broadcast ranks=2,4 message_bytes=256Ki",
    "mpi.alltoall ranks=4 message_bytes=1Mi",
]


@pytest.fixture(scope="module")
def measured(simgrid: MpiInstallation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two and four ranks, each on a host of its own."""
    if reason := emulation.refusal():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("measured")
    (folder / "four.toml").write_text(LAB)
    cases = [word for case in CASES for word in ("--case", case)]
    answer = scope(folder, "run", "--lab", "four.toml", *BRIEF, *cases, "--launches", "1", "-o", "run")
    assert answer.code == 0, answer
    rewrite_times(folder / "run", time_s)
    assert answered(folder, "analyze", "run").code == 0
    return folder / "run"


def time_s(record: dict[str, Any]) -> float:
    """Return the time of an operation by messages: forth and back, down a binomial tree, or from each to each."""
    message_s = 100e-6 + record["parameters"]["message_bytes"] / 12.5e6
    return message_s * {"mpi.latency": 2, "mpi.alltoall": 3}.get(record["benchmark"], record["ranks"] / 2)


def simulated(measured: Path, folder: Path, *words: str, benchmark: str = "mpi.broadcast") -> dict[str, Any]:
    """Return what `scope simulate` says of a benchmark on another platform."""
    limit = ["--limit", str(PATIENCE_S)]
    answer = answered(folder, "simulate", str(measured), benchmark, *words, *limit, "-o", "simulated", "--json")
    assert answer.code == 0, answer
    found: dict[str, Any] = json.loads(answer.output)
    return found


def times(found: dict[str, Any], key: str = "median") -> dict[int, Any]:
    """Return the simulated time of the broadcast by the number of ranks, or what else is said of it."""
    return {one["ranks"]: one[key] for one in found["simulated"]}


@pytest.mark.slow("a simulation more; there, offers with more hosts are simulated, and refused without them")
def test_more_hosts_take_more_ranks(measured: Path, tmp_path: Path) -> None:
    found = simulated(measured, tmp_path, "--hosts", "8", "--ranks", "8")
    assert found["left_out"] == []
    assert list(times(found)) == [8]
    (four,) = [one["simulated"] for one in found["record"]["validation"] if one["ranks"] == 4]
    assert times(found)[8] > four, "one more round of a tree"
    assert times(found, "unchanged") == {8: None}, "four hosts have no room for it"


def test_a_broadcast_is_that_of_the_version_of_the_library(measured: Path, tmp_path: Path) -> None:
    # Open MPI 5 sends 256 KiB on 16 ranks down a binomial tree to all children at once, which share the sender's
    # port: 4 + 3 + 2 + 1 times the time of one message. SMPI's own broadcast for Open MPI takes half as long.
    found = simulated(measured, tmp_path, "--hosts", "16", "--ranks", "16")
    (two,) = [one["simulated"] for one in found["record"]["validation"] if one["ranks"] == 2]
    assert 7 * two < times(found)[16] < 12 * two


def test_what_has_no_room_on_fewer_hosts_is_named(measured: Path, tmp_path: Path) -> None:
    found = simulated(measured, tmp_path, "--hosts", "2")
    assert list(times(found)) == [2]
    (left_out,) = found["left_out"]
    assert numbers(left_out) == [4, 2, 2], "ranks, hosts, and the ranks they have room for"


def test_another_network_has_longer_ways(measured: Path, tmp_path: Path) -> None:
    found = simulated(measured, tmp_path, "--topology", "torus", "--hosts", "8", "--ranks", "8")
    assert sorted(times(found)) == [2, 4, 8]
    assert 'topology="TORUS"' in (tmp_path / "simulated" / "platform.xml").read_text()
    # Links are as fast as the ports were, and each way has at least one of them. A root of four ranks has several
    # links at once, where it had one port.
    assert times(found)[2] > 0.9 * times(found, "unchanged")[2]


def test_faster_links_shorten_what_is_carried(measured: Path, tmp_path: Path) -> None:
    found = simulated(measured, tmp_path, "--set", "link.port.bandwidth=125e6")
    assert sorted(times(found)) == [2, 4]
    unchanged = times(found, "unchanged")
    # 256 KiB take hundreds of times the latency of 50 us at 100 Mbit/s, and a tenth of that at ten times the rate.
    assert all(times(found)[ranks] < 0.5 * unchanged[ranks] for ranks in unchanged)
    assert all(gain > 1 for gain in times(found, "gain").values())


def test_ranks_share_memory_where_their_buffers_have_no_room(measured: Path, tmp_path: Path) -> None:
    # 2 x 4 MiB on each of 4 ranks have room, 2 x 32 MiB on each of 32 have none.
    words = ("--hosts", "32", "--ranks", "32", "--memory", "600Mi")
    found = simulated(measured, tmp_path, *words, benchmark="mpi.alltoall")
    assert found["left_out"] == []
    assert list(times(found)) == [32]
    (note,) = [one for one in found["record"]["notes"] if "no data were verified" in one]
    assert "32 ranks" in note
    assert "4 ranks" not in note
    checks = {
        folder: [one["verification"]["checks"] for one in samples(folder) if one["record"] == "case"]
        for folder in (tmp_path / "simulated", tmp_path / "simulated/unchanged")
    }
    assert checks[tmp_path / "simulated"] == [0]
    assert checks[tmp_path / "simulated/unchanged"][0] > 0


def test_an_interrupted_simulation_keeps_what_it_has_and_leaves_no_process(
    measured: Path, sources: Path, tmp_path: Path
) -> None:
    words = ("--hosts", "64", "--ranks", "16,32,64", "-o", "simulated")
    program = [sys.executable, "-c", OF_THESE_SOURCES, str(sources)]
    running = start(tmp_path, "simulate", str(measured), *words, program=program)
    made = tmp_path / "simulated"
    # The file is there before its first line.
    begun = (made / "launches").glob
    until(lambda: any(b"\n" in file.read_bytes() for file in begun("*/samples.jsonl")), "a simulated launch")
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 128 + signal.SIGINT
    assert json.loads((made / "run.json").read_text())["status"] == "interrupted"
    assert samples(made)[0]["record"] == "launch"
    assert not [
        one for one in psutil.process_iter(["cmdline"]) if str(made) in " ".join(one.info["cmdline"] or [])
    ]
