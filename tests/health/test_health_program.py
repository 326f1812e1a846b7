"""The native program of a visit: what it reads of recorded hosts, measures on this one, and leaves behind."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from hpcscope.engine import health as engine
from hpcscope.health import answer, reach
from hpcscope.health.checks import BY_NAME, CHECKS
from hpcscope.health.facts import differences
from hpcscope.health.program import HEADERS, PARTS, program
from hpcscope.health.reach import Reach
from hpcscope.health.records import Visit
from hpcscope.settings.health import HealthSettings
from tests.health.recorded_host import MACHINES, recorded, written
from tests.patience import PATIENCE_S, until

QUICK = ["--seconds=0.1", "--memory-mb=48"]


@pytest.fixture(scope="module")
def binary() -> Path:
    return program()


def test_every_header_makes_another_program() -> None:
    root = Path(__file__).parents[2]
    sources = [root / "measure/health/main.cpp", *(root / part for part in PARTS)]
    include = ["-I", root / "measure/src", "-I", root]
    words = ["c++", "-std=c++20", "-MM", *include, *sources]
    made = subprocess.run(words, capture_output=True, text=True, check=True).stdout.replace("\\\n", " ")
    read = {Path(word).resolve() for word in made.split() if not word.endswith(":")} - set(sources)
    assert {str(path.relative_to(root)) for path in read} == set(HEADERS)


def said(binary: Path, *words: str) -> dict[str, dict[str, str]]:
    done = subprocess.run([binary, *words], capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    return {key: value for line in done.stdout.splitlines() for key, value in json.loads(line).items()}


def test_facts_and_counters_of_a_recorded_host(binary: Path, tmp_path: Path) -> None:
    found = said(binary, f"--root={written(tmp_path, governor='powersave')}", "--facts")
    facts = {"architecture": os.uname().machine}
    assert found["facts"] == facts | {
        "processor": "Example CPU @ 2.40GHz",
        "sockets": "2",
        "cores": "4",
        "hardware threads": "8",
        "NUMA nodes": "2",
        "memory": "64000 MiB",
        "swap": "0 MiB",
        "BIOS": "1.2.3",
        "microcode": "0x1",
        "kernel": "6.1.0-test",
        "operating system": "Example Linux 1",
        "governor": "performance, powersave",
        "SMT": "on",
        "clock source": "tsc",
        "transparent huge pages": "madvise",
        "mitigation meltdown": "Mitigation: PTI",
        "interface eth0 MTU": "9000",
        "interface eth0 state": "up",
        "interface eth0 speed": "100000 Mbit/s",
        "interface eth0 duplex": "full",
        "InfiniBand mlx5_0/1 rate": "100 Gb/sec (4X EDR)",
        "InfiniBand mlx5_0/1 state": "4: ACTIVE",
        "InfiniBand mlx5_0/1 firmware": "20.1",
    }
    assert found["before"] == {
        "interface eth0 receive errors": 7,
        "interface eth0 send errors": 6,
        "InfiniBand mlx5_0/1 symbol_error": 6,
        "memory corrected errors": 4,
        "memory uncorrected errors": 0,
        "thermal throttling": 16,
        "processes killed for memory": 2,
        "processor time": 1000,
        "processor time stolen": 50,
    }


@pytest.mark.parametrize("name", MACHINES)
def test_facts_and_counters_of_real_machines(binary: Path, tmp_path: Path, name: str) -> None:
    found = said(binary, f"--root={recorded(tmp_path, name)}", "--facts")
    assert found["facts"] == {**MACHINES[name]["facts"], "architecture": os.uname().machine}
    assert found["before"] == MACHINES[name]["counters"]


def test_the_odd_one_of_a_recorded_fleet(binary: Path, tmp_path: Path) -> None:
    def facts(number: int) -> dict[str, str]:
        root = written(tmp_path / str(number), governor="powersave" if number == 3 else "performance")
        return said(binary, f"--root={root}", "--facts")["facts"]

    (difference,) = differences({f"n{number}": facts(number) for number in range(1, 6)})
    assert difference.fact == "governor"
    assert difference.odd == {"performance, powersave": ("n3",)}


def test_a_visit_measures_everything_and_leaves_nothing(
    binary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    site = Reach(("here",), reach.here, 1)
    visit = reach.visit(site, "here", 1, binary.read_bytes(), QUICK, PATIENCE_S)
    assert visit.error == ""
    assert {value.check for value in visit.values} == set(BY_NAME)
    assert len(BY_NAME) == len(CHECKS)
    assert visit.facts["kernel"] == os.uname().release
    assert visit.started_unix_s <= visit.begun_there_unix_s + 0.001
    assert visit.ended_there_unix_s <= visit.ended_unix_s + 0.001
    assert list(tmp_path.iterdir()) == []


def test_a_host_that_hangs_is_left(binary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "ANSWER_S", 0.0)
    hangs = Reach(("n1",), lambda _host, _words: ["sleep", str(PATIENCE_S)], 1)
    visit = reach.visit(hangs, "n1", 1, binary.read_bytes(), QUICK, 1)
    assert (visit.answered, visit.error) == (False, "no answer within 1 s")


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("echo no route to host >&2; exit 255", "no route to host"),
        ('echo \'{"check": "arithmetic", "place": "", "value": 3}\'', "the check did not finish"),
        ("echo '{\"ended\": -7}'", "its answer is damaged: ended_there_unix_s"),
    ],
)
def test_hosts_that_fail(binary: Path, script: str, error: str) -> None:
    site = Reach(("n1",), lambda _host, _words: ["sh", "-c", f"cat >/dev/null; {script}"], 1)
    visit = reach.visit(site, "n1", 1, binary.read_bytes(), QUICK, 60)
    assert visit.error == error


def test_a_link_is_measured_in_both_directions(binary: Path) -> None:
    site = Reach(("a", "b"), reach.here, 1)
    made = reach.link(site, "a", "b", 1, binary.read_bytes(), ["--seconds=0.2"], PATIENCE_S)
    assert made.error == ""
    for values in (made.latency_s, made.forward, made.backward, made.forward_at_once, made.backward_at_once):
        assert len(values) == 6
    made = reach.link(site, "a", "b", 1, binary.read_bytes(), ["--interface=none"], PATIENCE_S)
    assert made.error == "b: no interface with an address that others can reach"


def test_a_stranger_is_not_measured(binary: Path) -> None:
    token = "a" * 64

    def ends(*words: str, own: str = token) -> subprocess.Popen[str]:
        environment = {**os.environ, reach.TOKEN: own}
        pipe = subprocess.PIPE
        return subprocess.Popen([binary, *words], env=environment, stdout=pipe, stderr=pipe, text=True)

    listener = ends("--listen", f"--limit={PATIENCE_S}")
    assert listener.stdout is not None
    where = answer.place(listener.stdout.readline())
    assert where is not None
    connect = (f"--connect={where.addresses[0]}", f"--port={where.port}", "--seconds=0.1")
    stranger = ends(*connect, own="b" * 64)
    assert stranger.communicate()[1].startswith("the connection broke")
    known = ends(*connect)
    assert '"link"' in known.communicate()[0]
    assert listener.wait() == 0
    assert ends("--listen", own="short").communicate()[1] == "no token\n"


@pytest.mark.parametrize("waiting", [0, 5])
def test_an_interrupted_tour_keeps_what_it_has_and_ends_what_runs(waiting: int) -> None:
    """`waiting`: visits for which there is no thread yet."""
    hangs = Reach(("n1",), lambda _host, _words: ["sleep", str(PATIENCE_S)], 2)
    kept: list[object] = []

    def interrupts() -> None:
        running = 1 + min(waiting, 1)
        until(lambda: len(kept) == 1 and len(reach._running) == running, "the first result, and hosts that hang")
        raise KeyboardInterrupt

    def visits() -> Visit:
        return reach.visit(hangs, "n1", 1, b"", [], PATIENCE_S)

    with pytest.raises(KeyboardInterrupt):
        engine._Tour._together([lambda: "first", visits, interrupts, *[visits] * waiting], 3, kept)
    assert kept == ["first"]
    assert reach._running == set()


def test_busy_hosts_are_skipped_and_caught_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "WATCH_PAUSE_S", 0.0)
    monkeypatch.setattr(engine, "VISITS", (2, 0))
    says = {
        "idle": "echo '{\"ended\": 1}'",
        "busy": "echo busy: 3 other threads run; exit 1",
        "later": f"mkdir {tmp_path}/seen || {{ echo '{{\"ended\": 1}}'; exit 0; }}; echo nodes are busy; exit 1",
    }
    site = Reach(tuple(says), lambda host, _words: ["sh", "-c", f"cat >/dev/null; {says[host]}"], 3)
    tour = engine._Tour(site, b"", [], PATIENCE_S, random.Random(1))
    told: list[str] = []

    def tell(stage: str) -> None:
        told.append(stage)
        if "2 of 3" in stage:  # all but the host that is busy for good
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tour.watch(time.monotonic() + PATIENCE_S, PATIENCE_S, says, 1, tell)
    assert sorted(one.host for one in tour.visits) == ["idle", "idle", "later", "later"]
    before = len(tour.visits)
    tour.watch(time.monotonic() + PATIENCE_S, 0.0, says, 1, tell)
    tour.watch(time.monotonic(), PATIENCE_S, says, 1, tell)
    assert len(tour.visits) == before


def test_the_program_ends_itself(binary: Path) -> None:
    visit = reach.visit(Reach(("n1",), reach.here, 1), "n1", 1, binary.read_bytes(), ["--seconds=1000"], 1)
    assert (visit.answered, visit.error) == (False, "the measurement did not end within its time limit")


def test_this_host_is_visited_before_a_job(binary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert binary.is_file()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(engine, "VISITS", (3, 0))
    end_s = time.monotonic() + PATIENCE_S
    made = engine.of_this_host(HealthSettings(memory_bytes=48 << 20), {}, end_s, Path("run"))
    assert [visit.error for visit in made.visits] == ["", "", ""]
    assert engine.read(tmp_path / "run") == made
    assert engine.of_this_host(HealthSettings(), {}, time.monotonic()).visits == []
