"""What the native program refuses, with which exit code and words; a case as a program of its own."""

from __future__ import annotations

import re

import pytest

from hpcscope.launch.diagnosis import diagnose
from hpcscope.machine.machine import MpiInstallation, NativeBuild
from tests.measure.conftest import Measure, start
from tests.messages import mentions


@pytest.mark.parametrize(
    ("ranks", "line", "message"),
    [
        (
            2,
            "mpi.telepathy",
            "plan.txt:1: ... mpi.telepathy: ... algorithm.linpack",
        ),
        (2, "mpi.latency message_bytes=-1", "message_bytes=-1: ... 0 ... 68719476736"),
        (2, "mpi.latency mode=fast", "mode=fast: ... standard, buffered, synchronous, ready"),
        (2, "mpi.latency color=red", "color=red: ... mode, completion"),
        (2, "mpi.latency message_bytes", "message_bytes: ... key=value"),
        (2, "mpi.latency sampling.precision=2", "sampling.precision=2: ... 0 ... 1"),
        (2, "mpi.latency sampling.mood=1", "sampling.mood=1: ... case.position"),
        (3, "mpi.latency", "mpi.latency on ranks=3: ... 2"),
        (3, "mpi.message_rate", "ranks=3: ... even ... 2"),
        (1, "# nothing", "plan.txt: "),
    ],
)
def test_a_bad_plan_is_refused_in_one_line(ranks: int, line: str, message: str, measure: Measure) -> None:
    ended = measure(ranks, [line])
    assert ended.code == 2
    said = [text for text in ended.errors.splitlines() if text.startswith("scope-measure:")]
    assert len(said) == 1
    assert mentions(said[0], message)
    assert ended.records == []


def test_an_unknown_fault_is_refused(measure: Measure) -> None:
    ended = measure(1, ["node.timer"], SCOPE_FAULT="bad-mood")
    assert ended.code == 2
    assert mentions(ended.errors, "SCOPE_FAULT=bad-mood: ... corrupt-payload")


def test_memory_that_is_not_there_is_refused_before_it_is_touched(measure: Measure) -> None:
    cases = [f"node.stream array_bytes={2**40}", f"node.memory_copy array_bytes={2**38}", "node.timer"]
    ended = measure(1, cases)
    assert ended.code == 0, ended.errors
    assert [case.status for case in ended.cases] == ["unavailable", "unavailable", "ok"]
    for case in ended.cases[:2]:
        assert re.search(r"\d+ MB of memory .* \d+ MB", case.reason), "what it needs, and what there is"


def test_a_full_disk_ends_with_its_own_code(measure: Measure) -> None:
    # /dev/full refuses every write as a full disk does.
    ended = measure(2, ["mpi.barrier"], "--output=/dev/full")
    assert ended.code == 3
    assert mentions(ended.errors, "/dev/full: ... No space left on device")


def test_a_rank_without_its_file_names_itself_and_not_the_samples(measure: Measure) -> None:
    ended = measure(2, ["mpi.barrier"], "--progress=/nowhere/progress")
    assert ended.code == 4
    died = diagnose(ended.errors)
    (rank,) = died.ranks
    assert rank in (0, 1)
    assert died.text == f"rank {rank} on {died.host}: /nowhere/progress: No such file or directory"


@pytest.mark.parametrize(
    ("case", "code", "said"),
    [
        ("application.npb_ep class=S", 0, ""),
        ("application.npb_lu class=Q", 2, "class=Q: ... S, W, A, B, C"),
        ("mpi.barriers", 2, "mpi.barriers: ... mpi.barrier, "),
        ("mpi.pairs load=together now", 2, "now: ... name=value"),
        ("algorithm.matmul_strassen n=8", 2, "2 ranks: ... 1 ... 7"),
    ],
)
def test_a_case_as_a_program_of_its_own(
    case: str, code: int, said: str, embedded: MpiInstallation, embedded_build: NativeBuild
) -> None:
    ended, errors = start(embedded_build.program, embedded, 2, ["--action=alone", f"--case={case}"])
    own = [line for line in errors.splitlines() if line.startswith("scope-measure:")]
    assert (ended, len(own)) == (code, 1 if said else 0), errors
    assert mentions("".join(own), said)


def test_a_case_as_a_program_tells_a_wrong_result(embedded: MpiInstallation, embedded_build: NativeBuild) -> None:
    words = ["--action=alone", "--case=application.npb_ep class=S"]
    fault = "wrong-result:application.npb_ep"
    ended, errors = start(embedded_build.program, embedded, 2, words, SCOPE_FAULT=fault)
    assert (ended, "rank 0: " in errors) == (1, True), errors
