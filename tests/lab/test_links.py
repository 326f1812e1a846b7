"""A lab for real: namespaces, shaped wires, faults, MPI over the wire, and nothing left when it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scope.engine import lab as labs
from scope.errors import ScopeError, UsageError
from scope.lab import emulation, faults, fidelity, folder
from scope.lab.description import Lab
from scope.lab.entry import Emulation
from scope.machine.machine import MpiInstallation, NativeBuild
from scope.models.communication.panel_traffic import product_of, sent_bytes
from tests import monitored_ring
from tests.cli.scope_command import SCOPE, Answer, samples, scope, start
from tests.installed_mpi import compile_quickly
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
MEANWHILE_S = 20.0
STUCK_S, STUCK, ATTEMPTS = 120, (124, 137), 3
"""After so long `timeout` ends a launch, with one of these codes: the launcher of Open MPI 5 and its daemon on
another host, though connected, sometimes both wait before any rank starts."""
WITHOUT_RIGHTS = ["setpriv", "--inh-caps=-all", "--bounding-set=-all,+setfcap"]
"""As root of an ordinary container, or (without that last right) as any user."""

Harm = Callable[[Emulation], Emulation]


def refuse_without_namespaces() -> None:
    if reason := emulation.refusal():
        pytest.skip(reason)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulation]:
    from scope.lab import description

    refuse_without_namespaces()
    file = tmp_path_factory.mktemp("lab") / "small.toml"
    file.write_text(SMALL)
    with emulation.temporary(*description.read(str(file))) as lab:
        yield lab


@pytest.fixture
def healthy(small: Emulation) -> Iterator[Emulation]:
    """The lab, mended after the test."""
    yield small
    faults.clear(Emulation(small.folder, emulation.find(small.state.name).state))  # type: ignore[union-attr]


def probe(lab: Emulation, link: str) -> fidelity.Probe:
    return next(one for one in fidelity.probes(lab.state.description) if one.link == link)


def test_hosts_have_their_own_name_network_and_memory(small: Emulation) -> None:
    look = "hostname; ip -brief address show eth0; ls /dev/shm | wc -l; getent hosts b1"
    said = small.run("a2", ["sh", "-c", look]).stdout.split("\n")
    assert said[0] == "a2"
    assert "10.77.1.2/16" in said[1]
    assert said[2] == "0"
    assert said[3].split() == ["10.78.2.1", "b1"]
    assert small.run("a1", ["pwd"]).stdout.strip() == str(Path.cwd())


def test_declared_rates_are_what_is_measured(small: Emulation) -> None:
    """Wrong words to the kernel show here as factors; how exact a rate is, is the lab's own check on each `up`."""
    for one in fidelity.probes(small.state.description):
        found = fidelity.check(small, one)
        assert abs(found.deviation) < 0.3, found


def test_latency_is_added_to_a_trunk(small: Emulation) -> None:
    # A refusal comes back from the other end.
    ask = (
        "import socket, time; s = socket.socket(); start = time.monotonic(); s.connect_ex(('10.77.2.1', 9));"
        "print(time.monotonic() - start)"
    )
    assert float(small.run("a1", [sys.executable, "-c", ask]).stdout) >= 1e-3, "0.5 ms each way"
    (relayed,) = small.state.facts().relayed
    assert relayed.link == "trunk a-b"

    def counted() -> int:
        return small.state.facts().relayed[0].frames

    deadline = time.monotonic() + MEANWHILE_S
    while counted() == 0 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert counted() > 0, "the relay tells what it carried"


def test_a_slow_port_shows_in_one_direction(healthy: Emulation) -> None:
    lab = faults.slow_port(healthy, "a1", 5, "out")
    assert [fault.words() for fault in lab.state.faults] == ["a1 slow out (5 Mbit/s)"]
    slow = fidelity.check(lab, probe(lab, "ports of a"))  # a1 sends
    assert slow.deviation < -0.7
    assert not fidelity.faithful(slow)
    other = fidelity.Probe(
        "back", *reversed((probe(lab, "ports of a").sender, probe(lab, "ports of a").receiver)), 50
    )
    assert fidelity.check(lab, other).deviation > -0.3
    mended = faults.clear(lab)
    assert mended.state.faults == []
    assert fidelity.check(mended, probe(mended, "ports of a")).deviation > -0.3


def on_the_wire(lab: Emulation, host: str, way: str) -> int:
    """Return the bytes that a host sent (`tx`) or received (`rx`) so far."""
    said = lab.run(host, ["ip", "-json", "-statistics", "link", "show", "eth0"]).stdout
    return int(json.loads(said)[0]["stats64"][way]["bytes"])


def expect_nothing(lab: Emulation, link: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link carries nothing: a check of it says so, and no frame of data arrives."""
    asked = probe(lab, link)
    before = on_the_wire(lab, asked.receiver.name, "rx")
    with monkeypatch.context() as patch:
        patch.setattr(fidelity, "TIMEOUT_S", 2.0)
        with pytest.raises(ScopeError, match=f"{link} carries nothing"):
            fidelity.check(lab, asked)
    carried = on_the_wire(lab, asked.receiver.name, "rx") - before
    assert carried < 20_000, "a healthy link, even a busy one, moves megabytes"


def test_a_dead_port_carries_nothing_until_it_is_mended(
    healthy: Emulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = faults.dead_port(healthy, "a2")
    assert [fault.words() for fault in lab.state.faults] == ["a2 dead"]
    expect_nothing(lab, "ports of a", monkeypatch)
    mended = faults.clear(lab)
    assert fidelity.check(mended, probe(mended, "ports of a")).measured_bytes_per_s > 0


def came_through(lab: Emulation, sender: str, receiver: str, address: str) -> int:
    """Return how many of 400 datagrams arrived."""
    count = (
        f"import socket; s=socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('{address}', 7000));"
        # SO_RCVBUFFORCE (no name in Python): room for all of them where the receiver gets no processor meanwhile.
        "s.setsockopt(socket.SOL_SOCKET, 33, 1 << 22); s.settimeout(60.0); print('ready', flush=True); n=0\n"
        "try:\n while True: s.recv(100); n+=1; s.settimeout(5.0)\n"
        "except TimeoutError: print(n)"
    )
    send = (
        "import errno,socket,time; s=socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        # The neighbor's address may take several questions to find.
        f"while socket.socket().connect_ex(('{address}', 9)) != errno.ECONNREFUSED: pass\n"
        f"for i in range(400): s.sendto(b'x', ('{address}', 7000)); time.sleep(0.0005)"
    )
    counting = lab.started(receiver, [sys.executable, "-c", count])
    assert counting.stdout is not None
    assert counting.stdout.readline() == "ready\n"
    lab.run(sender, [sys.executable, "-c", send])
    return int(counting.communicate(timeout=MEANWHILE_S)[0])


@pytest.mark.parametrize(
    ("harm", "sender", "receiver", "address", "link"),
    [
        (lambda lab: faults.impaired_port(lab, "a2", "lossy", 0.2), "a1", "a2", "10.77.1.2", "ports of a"),
        (lambda lab: faults.impaired_trunk(lab, "a-c", "lossy", 0.2), "a1", "c1", "10.77.3.1", "trunk a-c"),
    ],
    ids=["port", "trunk"],
)
def test_frames_are_lost_where_they_are_to_be(
    healthy: Emulation, harm: Harm, sender: str, receiver: str, address: str, link: str
) -> None:
    lab = harm(healthy)
    assert 256 < came_through(lab, sender, receiver, address) < 384, "four fifths of 400, within 8 deviations"
    mended = faults.clear(lab)
    assert [one.link for one in mended.state.relays] == ["trunk a-b"], "the relay of the loss has gone"
    assert came_through(mended, sender, receiver, address) == 400
    assert fidelity.check(mended, probe(mended, link)).deviation > -0.3


def test_frames_arrive_twice(healthy: Emulation) -> None:
    twice = faults.impaired_port(healthy, "a2", "duplicating", 0.5)
    assert 512 < came_through(twice, "a1", "a2", "10.77.1.2") < 688, "half of 400 twice, within 8 deviations"


def test_over_a_lossy_port_nothing_is_lost_and_what_is_repeated_is_counted(
    healthy: Emulation, embedded: MpiInstallation, tmp_path: Path
) -> None:
    lossy = faults.impaired_port(healthy, "a2", "lossy", 0.02)
    where = "ranks=2 placement=node protocol=active_messages flow=credits,none"
    cases = f"network.bandwidth {where} window=4 message_bytes=20000"
    fixed = ["--mpi", embedded.compiler, "--launches", "1", "--budget", "0.1", "--seed", "3", "--hosts", "a1,a2"]
    answer = in_lab(lossy, tmp_path, "run", *fixed, "-o", "run", "--case", cases)
    assert answer.code == 0, answer.errors
    measured = [line for line in samples(tmp_path / "run") if line["record"] == "case"]
    assert [case["status"] for case in measured] == ["ok", "ok"]
    for case in measured:
        assert max(case["series"][0]["observed"]["retransmitted_packets"][0]) > 0, "rank 0 sends"
    machine = json.loads((tmp_path / "run" / "machine.json").read_text())
    assert machine["lab"]["faults"] == ["a2 lossy (2.00 % of frames)"]
    port = next(link for link in machine["hosts"][0]["links"] if link["name"] == "eth0")
    assert (port["rate_bits_per_s"], len(machine["hosts"][0]["links"])) == (50e6, 2)


def test_a_trunk_is_slowed_and_cut(healthy: Emulation, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = faults.slow_trunk(healthy, "a-c", 2)
    assert fidelity.check(slow, probe(slow, "trunk a-c")).deviation < -0.7
    assert fidelity.check(slow, probe(slow, "ports of a")).deviation > -0.3, "others are not harmed"
    mended = faults.clear(slow)
    assert fidelity.check(mended, probe(mended, "trunk a-c")).deviation > -0.3
    dead = faults.dead_trunk(mended, "a-c")
    expect_nothing(dead, "trunk a-c", monkeypatch)
    mended = faults.clear(dead)
    assert fidelity.check(mended, probe(mended, "trunk a-c")).measured_bytes_per_s > 0


def test_a_trunk_with_latency_is_slowed_twice_and_mended(healthy: Emulation) -> None:
    slow = faults.slow_trunk(faults.slow_trunk(healthy, "a-b", 5), "a-b", 2)
    assert fidelity.check(slow, probe(slow, "trunk a-b")).deviation < -0.7
    with pytest.raises(UsageError, match="a-b: uses a relay"):
        faults.impaired_trunk(slow, "a-b", "lossy", 0.2)
    mended = faults.clear(slow)
    assert [one.link for one in mended.state.relays] == ["trunk a-b"]
    assert fidelity.check(mended, probe(mended, "trunk a-b")).deviation > -0.3


def test_a_link_with_a_fault_of_its_relay_is_not_slowed(healthy: Emulation) -> None:
    lossy = faults.impaired_port(healthy, "a2", "lossy", 0.02)
    with pytest.raises(UsageError, match="a2: uses a relay"):
        faults.slow_port(lossy, "a2", 5)


def test_a_link_that_drops_large_packets_is_told(
    healthy: Emulation, embedded: MpiInstallation, tmp_path: Path
) -> None:
    hole = faults.impaired_trunk(healthy, "a-c", "black-hole", 1200)
    # Long messages of MPI, by which its path is verified, would hang there.
    hole = hole.kept(hole.state.model_copy(update={"verified": [embedded.compiler]}))
    fixed = ["--mpi", embedded.compiler, "--launches", "1", "--budget", "0.3", "--seed", "3", "--hosts", "a1,c1"]
    case = "network.largest_packet ranks=2 placement=node"
    answer = in_lab(hole, tmp_path, "run", *fixed, "-o", "run", "--case", case)
    assert answer.code == 0, answer.errors
    found = json.loads((tmp_path / "run" / "findings.json").read_text())["findings"]
    (finding,) = [one for one in found if one["code"] == "mtu-black-hole"]
    assert "above 1200 B silently disappear between a1 and c1, in both directions" in finding["title"]
    machine = json.loads((tmp_path / "run" / "machine.json").read_text())
    assert machine["lab"]["faults"] == ["a-c black-hole (packets above 1200 B)"]


BRIEF = """
[sampling]
minimum_repetitions = 1
maximum_repetitions = 2
"""
DIRECTIONS = """
[[case]]
benchmark = "network.directions"
ranks = 2
placement = "node"
load_ms = 60
"""
PAUSES = """
[[case]]
benchmark = "network.pauses"
ranks = 2
placement = "node"
train_ms = 100
"""
LOADED = """
[[case]]
benchmark = "network.congestion"
ranks = 2
placement = "node"
load_ms = 50
"""


@pytest.mark.parametrize(
    ("harm", "cases", "codes"),
    [
        (lambda lab: faults.impaired_trunk(lab, "a-c", "half-duplex", 1), DIRECTIONS, {"half-duplex"}),
        (lambda lab: faults.slow_trunk(lab, "a-c", 4, "out"), DIRECTIONS, {"asymmetric-rates"}),
        (lambda lab: faults.impaired_trunk(lab, "a-c", "pausing", 20), PAUSES, {"path-stops"}),
        (lambda lab: faults.impaired_trunk(lab, "a-c", "policing", 2), LOADED, {"unfair-streams"}),
        (lambda lab: lab, DIRECTIONS + PAUSES + LOADED, set()),
    ],
    ids=["half duplex", "asymmetric", "pauses", "policer", "healthy"],
)
def test_faults_of_a_path_are_found_and_a_healthy_path_has_none(
    healthy: Emulation, embedded: MpiInstallation, tmp_path: Path, harm: Harm, cases: str, codes: set[str]
) -> None:
    lab = harm(healthy)
    lab = lab.kept(lab.state.model_copy(update={"verified": [embedded.compiler]}))
    (tmp_path / "brief.toml").write_text(BRIEF + cases)
    fixed = ["--mpi", embedded.compiler, "--launches", "6", "--budget", "0.05", "--seed", "3", "--hosts", "a1,c1"]
    answer = in_lab(lab, tmp_path, "run", "brief.toml", *fixed, "-o", "run")
    assert answer.code == 0, answer.errors
    found = json.loads((tmp_path / "run" / "findings.json").read_text())["findings"]
    of_paths = {"half-duplex", "asymmetric-rates", "path-stops", "lossy-path", "unfair-streams", "lost-under-load"}
    assert codes <= {one["code"] for one in found}, [one["title"] for one in found]
    if not codes:
        assert not of_paths & {one["code"] for one in found}, [one["title"] for one in found]


def test_a_stopped_host_stands_still_until_it_is_mended(healthy: Emulation) -> None:
    sleeper = healthy.started("a1", ["sh", "-c", "sleep 60 & echo $!; wait"])
    assert sleeper.stdout is not None
    pid = sleeper.stdout.readline().strip()

    def state() -> str:
        return healthy.run(None, ["cut", "-d", " ", "-f", "3", f"/proc/{pid}/stat"]).stdout.strip()

    def becomes(wanted: str) -> bool:
        deadline = time.monotonic() + MEANWHILE_S
        while state() != wanted and time.monotonic() < deadline:
            time.sleep(0.02)
        return state() == wanted

    assert becomes("S")
    lab = faults.slow_host(healthy, "a1", 1.0)
    assert becomes("T")
    faults.clear(lab)
    assert becomes("S")
    healthy.run(None, ["kill", pid])
    sleeper.wait(MEANWHILE_S)


def test_a_slow_host_stands_still_now_and_then(healthy: Emulation) -> None:
    sleeper = healthy.started("a1", ["sh", "-c", "sleep 60 & echo $!; wait"])
    assert sleeper.stdout is not None
    pid = sleeper.stdout.readline().strip()
    lab = faults.slow_host(healthy, "a1", 0.5)
    watch = f"for i in $(seq 200); do cut -d ' ' -f 3 /proc/{pid}/stat; sleep 0.005; done"
    seen = lab.run(None, ["sh", "-c", watch]).stdout.split()
    assert 20 < seen.count("T") < 180, "stopped and going on, in turn"
    mended = faults.clear(lab)
    mended.run(None, ["kill", pid])
    sleeper.wait(MEANWHILE_S)


def test_faults_that_cannot_be_made_are_refused(small: Emulation) -> None:
    with pytest.raises(UsageError, match="host d1: must be one of a1, a2, b1, c1"):
        faults.slow_port(small, "d1", 5)
    with pytest.raises(UsageError, match="trunk a-d: must be one of a-b, a-c"):
        faults.slow_trunk(small, "a-d", 5)
    with pytest.raises(UsageError, match="a-b: uses a relay"):
        faults.queued_trunk(small, "a-b", 20_000)
    with pytest.raises(UsageError, match="a-b: --direction out: must be both"):
        faults.slow_trunk(small, "a-b", 5, "out")
    with pytest.raises(UsageError, match="--queue 9000: must be from 10000 to"):
        faults.queued_trunk(small, "a-c", 9000)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"largest_packet_bytes": 1500.0}, r"--mtu 1500: must be more than 67 and less than 1500 B"),
        ({"paused_ms": float("nan")}, r"--pause nan: must be more than 0 and less than 100 ms"),
        ({"loss": 1.0}, r"--loss 1: must be more than 0 and less than 1$"),
        ({"half_duplex": True, "policed_mbit_per_s": 3.0}, r"exactly one of --loss, .*--half-duplex, --slow"),
    ],
)
def test_amounts_of_faults_are_checked(asked: dict[str, float], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        labs.Disturbance(trunk="a-c", **asked).checked()  # type: ignore[arg-type]


def test_a_lab_ends_with_the_process_that_holds_it(tmp_path: Path) -> None:
    refuse_without_namespaces()
    script = (
        "import sys, time; from pathlib import Path; from scope.lab import emulation, description\n"
        "with emulation.temporary('held', description.Lab.model_validate_json(sys.argv[1])) as lab:\n"
        "    lab.started('a1', ['sleep', '3600'])\n"
        "    print(lab.state.holder, lab.state.name, flush=True); time.sleep(3600)"
    )
    group = {"name": "a", "hosts": 2, "rate_mbit_per_s": 50}
    holder = subprocess.Popen(
        [sys.executable, "-c", script, Lab.model_validate({"group": [group]}).model_dump_json()],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    outside, name = holder.stdout.readline().split()
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    deadline = time.monotonic() + MEANWHILE_S
    while Path(f"/proc/{outside}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{outside}").exists(), "the kernel ends everything inside with it"
    assert folder.folder_of(name).exists()
    assert emulation.find(name) is None
    assert not folder.folder_of(name).exists(), "what a dead lab left is removed"


def test_up_is_used_and_down_leaves_nothing(tmp_path: Path) -> None:
    refuse_without_namespaces()
    file = tmp_path / f"t{os.getpid()}.toml"
    file.write_text('[[group]]\nname = "a"\nhosts = 2\nrate_mbit_per_s = 50\n')
    up = scope(tmp_path, "lab", "up", str(file), "--no-check")
    assert up.code == 0, up
    try:
        assert f"lab {file.stem}: is up already" in scope(tmp_path, "lab", "up", str(file)).refusal()
        listed = json.loads(scope(tmp_path, "lab", "list", "--json").output)
        assert {"name": file.stem, "title": "", "hosts": 2, "up": True} in listed
        inside = scope(tmp_path, "lab", "exec", str(file), "a2", "--", "sh", "-c", "hostname; exit 7")
        assert (inside.output, inside.code) == ("a2\n", 7)
        temporary = scope(tmp_path, "lab", "exec", str(file), "a2", "--", "mktemp").output
        assert Path(temporary.strip()).is_relative_to(folder.folder_of(file.stem)), "gone with the lab"
        ended = start(tmp_path, "lab", "exec", str(file), "a2", "--", "sh", "-c", "echo ready; exec sleep 60")
        assert ended.stdout is not None
        assert ended.stdout.readline() == "ready\n"
        ended.terminate()
        said = ended.communicate(timeout=MEANWHILE_S)[1]
        assert (ended.returncode, said) == (128 + signal.SIGTERM, ""), "a request to end reaches the command"
        holder = json.loads(scope(tmp_path, "lab", "status", str(file), "--json").output)["holder"]
        assert "--slow, --stop" in scope(tmp_path, "lab", "fault", str(file), "--trunk", "x", "--stop").refusal()
        assert "must have exactly one of" in scope(tmp_path, "lab", "fault", str(file), "--host", "a1").refusal()
    finally:
        down = scope(tmp_path, "lab", "down", str(file))
    assert (down.code, down.output, down.errors) == (0, "", "")
    assert not Path(f"/proc/{holder}").exists()
    assert not folder.folder_of(file.stem).exists()
    assert "is not up" in scope(tmp_path, "lab", "down", str(file)).refusal()


def test_a_request_to_end_that_comes_with_the_start_reaches_the_command(
    small: Emulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested: list[int] = []

    class Interrupted(subprocess.Popen[bytes]):
        """A command whose starter is asked to end before it knows that the command runs."""

        def __init__(self, *words: Any, **options: Any) -> None:
            super().__init__(*words, **options)
            requested.append(signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("scope.engine.lab.subprocess.Popen", Interrupted)
    before = signal.signal(signal.SIGTERM, lambda number, _frame: requested.append(-number))
    try:
        assert labs.run_on_host(small, "a1", ["sleep", "60"]) == 128 + signal.SIGTERM
    finally:
        signal.signal(signal.SIGTERM, before)
    assert requested == [signal.SIGTERM], "answered by the command alone"


def test_ctrl_c_of_a_terminal_is_not_ignored_by_the_command(
    small: Emulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scope.engine.lab.os.isatty", lambda _file: True)
    assert labs.run_on_host(small, "a1", ["sh", "-c", "kill -INT $$; exit 3"]) == 128 + signal.SIGINT


def in_lab(lab: Emulation, folder: Path, *words: str) -> Answer:
    """Run scope inside, on the first host."""
    command = ["sh", "-c", 'cd "$0" && exec "$@"', str(folder), sys.executable, "-m", "scope", *words]
    done = lab.run("a1", command, timeout=PATIENCE_S)
    return Answer(done.returncode, done.stdout, done.stderr)


def test_ranks_talk_over_the_emulated_wire(
    small: Emulation,
    build: NativeBuild,
    mpi: MpiInstallation,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compile_quickly(mpi, monkeypatch)
    fixed = ["--mpi", mpi.compiler, "--launches", "1", "--budget", "0.2", "--seed", "3", "-o", "run"]
    product = ["--case", "algorithm.summa ranks=3 n=120 block=20 grid_rows=3"]
    answer = in_lab(small, tmp_path, "run", *fixed, "--case", "mpi.barrier ranks=3", *product)
    assert answer.code == 0, answer.errors
    launch = samples(tmp_path / "run")[0]
    assert launch["origin"] == "emulated"
    assert [process["host"] for process in launch["processes"]] == ["a1", "a2", "b1"]
    machine = json.loads((tmp_path / "run" / "machine.json").read_text())
    assert machine["lab"]["name"] == small.state.name
    findings = json.loads((tmp_path / "run" / "findings.json").read_text())["findings"]
    assert not {"no-pinning", "shared-processor"} & {found["code"] for found in findings}, "nothing is to be bound"
    assert mpi.compiler in json.loads((small.folder / "state.json").read_text())["verified"], "seen on the wire"
    (case,) = (one for one in samples(tmp_path / "run") if one.get("benchmark") == "algorithm.summa")
    sent = sent_bytes(product_of(case["benchmark"], case["parameters"], 3))
    counts = case["series"][0]["observed"]
    assert min(counts["a>b_bytes"][0]) >= sent[:2, 2].sum() > 0, "what b1 got over its trunk"
    assert min(counts["b>a_bytes"][0]) >= sent[2, :2].sum() > 0
    assert max(counts["a>c_bytes"][0]) < sent[:2, 2].sum(), "nobody is there"


def test_a_users_own_launch_crosses_the_wire_and_is_monitored(
    small: Emulation, ending_mpi: MpiInstallation, tmp_path: Path
) -> None:
    mpi = ending_mpi
    program = monitored_ring.compiled(mpi, tmp_path)
    before = on_the_wire(small, "b1", "tx")
    chosen = "-hosts" if mpi.name == "mpich" else "--host"
    launch = [str(mpi.launcher), "-n", "3", chosen, "a1,a2,b1", str(program)]
    variables = [f"{name}={value}" for name, value in monitored_ring.AS_ROOT.items()]
    words = ["env", *variables, str(SCOPE), "monitor", "-o", str(tmp_path / "run"), "--", *launch]
    done = small.run("a1", words, timeout=PATIENCE_S, given="word\n")
    assert (done.returncode, done.stdout) == (0, "read word\n"), done.stderr
    monitored_ring.check_profiles(tmp_path / "run", ["a1", "a2", "b1"])
    assert on_the_wire(small, "b1", "tx") - before > monitored_ring.ROUNDS * 4096


def test_a_command_in_a_lab_takes_a_transport(
    small: Emulation,
    embedded: MpiInstallation,
    capfd: pytest.CaptureFixture[str],
) -> None:
    variables = [f"{name}={value}" for name, value in monitored_ring.AS_ROOT.items()]
    ranks = [str(embedded.launcher), "--host", "a1,b1", "-n", "2"]
    words = ["env", *variables, *ranks, "sh", "-c", "echo $FI_PROVIDER $FI_SCOPE_IFACE"]
    lab, host, told, messages = labs.over_transport(small, "a1", words, "active-messages")
    for _ in range(ATTEMPTS):
        code = labs.run_on_host(lab, host, ["timeout", "--kill-after=10", str(STUCK_S), *told], messages)
        said = capfd.readouterr().out.split()
        if code not in STUCK:
            break
    assert (code, said) == (0, ["scope", "eth0"] * 2)
    over_tcp = labs.over_transport(small, "a1", words, "tcp")[-1]
    assert (over_tcp["OMPI_MCA_btl"], over_tcp["OMPI_MCA_btl_tcp_if_include"]) == ("tcp,self", "eth0")
    with pytest.raises(UsageError, match="--transport udp: must be one of default, tcp, active-messages, "):
        labs.over_transport(small, "a1", words, "udp")


def test_an_mpi_that_goes_around_the_wire_is_refused(small: Emulation, embedded: MpiInstallation) -> None:
    """Told to use the launchers' network, as it would by itself, it is found out."""
    script = (
        "from scope.launch import wire; from scope.launch.site import site_of\n"
        "from scope.build import installations; from scope.plan import experiment\n"
        "mpi = installations.find('embedded'); site = site_of(mpi, experiment.LauncherSettings(), 'the test')\n"
        "from scope.launch.cluster import start_once_per_host; from scope.mpi.openmpi import OpenMpiFamily\n"
        "settings = {'pml': 'ob1', 'btl': 'tcp,self', 'btl_tcp_if_include': 'eth1'}\n"
        "variables = {f'OMPI_MCA_{name}': value for name, value in settings.items()}\n"
        "OpenMpiFamily.environment = lambda self, conditions: variables\n"
        "wire.verify(site, start_once_per_host)"
    )
    state = small.folder / "state.json"
    kept = state.read_text()
    state.write_text(json.dumps({**json.loads(kept), "verified": []}))
    try:
        done = small.run("a1", [sys.executable, "-c", script], timeout=PATIENCE_S)
    finally:
        state.write_text(kept)
    assert re.search(r"ScopeError: openmpi \S+ bypasses the network of lab .*eth1 2\d{5} B", done.stderr), (
        done.stderr
    )


def test_what_is_missing_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "pair.toml"
    file.write_text('[[group]]\nname = "a"\nhosts = 2\nrate_mbit_per_s = 50\n')
    monkeypatch.setenv("PATH", "/nowhere")
    assert scope(tmp_path, "lab", "up", str(file)).refusal() == (
        "scope lab: ip: not found; a lab needs it (Debian package iproute2)"
    )
    # As where the kernel allows nobody a namespace.
    (tmp_path / "unshare").write_text(
        "#!/bin/sh\necho 'unshare: unshare failed: Operation not permitted' >&2\nexit 1\n"
    )
    (tmp_path / "unshare").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/sbin:/usr/bin:/sbin:/bin")
    refused = scope(tmp_path, "lab", "up", str(file)).refusal()
    assert (
        refused == "scope lab: namespaces are not allowed here: unshare: unshare failed: Operation not permitted"
    )
    assert not folder.folder_of("pair").exists()


def test_without_rights_a_user_namespace_holds_the_lab(tmp_path: Path) -> None:
    refuse_without_namespaces()
    rights = WITHOUT_RIGHTS if os.geteuid() == 0 else []
    file = tmp_path / f"u{os.getpid()}.toml"
    file.write_text('[[group]]\nname = "a"\nhosts = 2\nrate_mbit_per_s = 50\n')

    def lab(*words: str) -> Answer:
        command = [*rights, str(SCOPE), "lab", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=MEANWHILE_S)
        return Answer(done.returncode, done.stdout, done.stderr)

    up = lab("up", str(file))
    assert up.code in (0, 1), up  # 1: the check found a busy machine
    try:
        assert "measured  ports of a: " in up.output
        assert json.loads(lab("status", str(file), "--json").output)["rootless"]
        assert lab("exec", str(file), "a2", "--", "sh", "-c", "hostname; ip link show eth1 >&2").output == "a2\n"
    finally:
        assert lab("down", str(file)).code == 0
    assert not folder.folder_of(file.stem).exists()
