"""The journal of samples, the progress file, last words, and the judgement of who did not arrive."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from scope.errors import ScopeError, UsageError
from scope.launch import arrivals, processes
from scope.launch import progress as progress_file
from scope.launch.diagnosis import Death, diagnose
from scope.launch.supervision.journal import Journal
from scope.launch.supervision.progress import Slot, Watch
from scope.samples.records import Arrival

PRTE = """--------------------------------------------------------------------------
prterun noticed that process rank 1 with PID 12122 on node vm exited on
signal 9 (Killed).
--------------------------------------------------------------------------"""
ORTE = "mpiexec noticed that process rank 3 with PID 0 on node n7 exited on signal 11 (Segmentation fault)."
HYDRA = """=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 12241 RUNNING AT vm
=   EXIT CODE: 9
=   CLEANING UP REMAINING PROCESSES
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)"""
STACK = """Abort(1009927439) on node 0: Fatal error in internal_Init_thread: Other MPI error, error stack:
internal_Init_thread(71)..............: MPI_Init_thread(argc=0x7f, argv=0x7f, required=1) failed
MPII_Init_thread(333).................:
MPIDI_UCX_comm_addr_exchange(159).....:  ucx function returned with failed status(Destination is unreachable)"""


@pytest.mark.parametrize(
    ("output", "death"),
    [
        (PRTE, Death("rank 1 on vm (pid 12122) died of signal 9 (SIGKILL)", 1, "vm", 12122, 9)),
        (ORTE, Death("rank 3 on n7 died of signal 11 (SIGSEGV)", 3, "n7", None, 11)),
        (HYDRA, Death("a rank on vm (pid 12241) died of signal 9 (SIGKILL)", None, "vm", 12241, 9)),
        (STACK, Death("ucx function returned with failed status(Destination is unreachable)")),
        ("scope-measure: /x: No space left on device\n", Death("/x: No space left on device")),
        ("one\ntwo: cannot open shared object\n", Death("two: cannot open shared object")),
        ("", Death("it said nothing")),
    ],
)
def test_last_words_are_understood(output: str, death: Death) -> None:
    assert diagnose(output) == death


def test_a_full_disk_is_told_from_other_deaths() -> None:
    assert diagnose("scope-measure: /x: No space left on device").disk_full
    assert Death("died", signal=signal.SIGXFSZ).disk_full
    assert not diagnose(PRTE).disk_full


def slot(rank: int, repetition: int = 5, position: int = 0, stage: str = "sampling") -> Slot:
    return Slot(rank, f"h{rank}", 100 + rank, position, stage, repetition, 0.0)


def judge(
    slots: list[Slot],
    silence: dict[int, float] | None = None,
    states: dict[int, str] | None = None,
    ranks: int = 3,
    death: Death | None = None,
) -> list[int]:
    quiet = {each.rank: 0.1 for each in slots} | (silence or {})
    running = {each.rank: "running" for each in slots} | (states or {})
    judged = arrivals.judge(ranks, {each.rank: each for each in slots}, quiet, running, death)
    for each in judged:
        TypeAdapter(Arrival).validate_python(each.record())
    return [each.rank for each in judged if not each.arrived]


@pytest.mark.parametrize("state", ["stopped", "gone"])
def test_a_stopped_or_lost_rank_did_not_arrive(state: str) -> None:
    assert judge([slot(0, 6), slot(1, 6), slot(2, 9)], states={2: state}) == [2]


def test_a_rank_that_waits_for_a_stopped_one_is_not_accused() -> None:
    assert judge([slot(0, 7), slot(1, 6), slot(2, 6)], states={1: "stopped"}) == [1]
    assert judge([slot(0, 7), slot(1, 6), slot(2, 6)], death=Death("", rank=1)) == [1]


def test_a_silent_rank_did_not_arrive() -> None:
    assert judge([slot(0), slot(1), slot(2)], silence={1: 9.0}) == [1]


def test_a_rank_that_never_appeared_did_not_arrive() -> None:
    assert judge([slot(0), slot(2)]) == [1]


def test_the_ranks_behind_did_not_arrive() -> None:
    assert judge([slot(0, 6), slot(1, 5), slot(2, 6)]) == [1]
    assert judge([slot(0, 1, position=1), slot(1, 9), slot(2, 1, position=1)]) == [1]


def test_the_one_that_sleeps_while_others_spin_did_not_arrive() -> None:
    assert judge([slot(0), slot(1), slot(2)], states={2: "sleeping"}) == [2]


def test_equals_are_not_accused() -> None:
    assert judge([slot(0), slot(1), slot(2)]) == []
    assert judge([slot(0), slot(1), slot(2)], states=dict.fromkeys(range(3), "sleeping")) == []


def test_the_first_to_die_is_named_by_the_launcher() -> None:
    dead = dict.fromkeys(range(3), "gone")
    assert judge([slot(0), slot(1), slot(2)], states=dead, death=Death("", rank=1)) == [1]
    assert judge([slot(0), slot(1), slot(2)], states=dead, death=Death("", pid=102)) == [2]


def test_missing_ranks_are_named_but_not_a_thousand() -> None:
    judged = arrivals.judge(20, {0: slot(0)}, {0: 0.0}, {0: "running"})
    text = arrivals.missing(judged)
    assert text.startswith("did not arrive: rank 1 on unknown (unknown), ")
    assert text.endswith("and 11 more")


def test_slots_are_read_and_half_written_ones_left_out(tmp_path: Path) -> None:
    line = "rank=1 host=vm pid=12 position=3 stage=sampling repetition=812 beat_unix_s=1234.567"
    text = line.ljust(255) + "\n"
    torn = "rank=2 host=vm pid=1".ljust(255) + "\n"
    (tmp_path / "progress").write_bytes(b"\0" * 256 + text.encode() + torn.encode())
    assert progress_file.read(tmp_path / "progress") == [Slot(1, "vm", 12, 3, "sampling", 812, 1234.567)]
    assert progress_file.read(tmp_path / "absent") == []


def test_a_sign_of_life_is_timed_by_the_watcher(tmp_path: Path) -> None:
    watch = Watch(tmp_path / "progress")
    beat = "rank=0 host=vm pid=12 position=3 stage=sampling repetition=1 beat_unix_s={}"
    for now_s, sent in ((10.0, 5.0), (11.0, 5.5), (12.0, 5.5), (13.0, 5.5)):
        (tmp_path / "progress").write_text(beat.format(sent).ljust(255) + "\n")
        watch.read(now_s)
    assert watch.seen_s == {0: 11.0}


def line(**keys: Any) -> str:
    case = {"record": "case", "launch": 1, "attempt": 1, "benchmark": "b", "parameters": {}, "ranks": 2}
    return json.dumps({**case, "status": "ok", **keys}) + "\n"


LAUNCH = (
    json.dumps({"record": "launch", "launch": 1, "attempt": 1, "transport": "tcp", "placement": "core"}) + "\n"
)


def journal(folder: Path) -> Journal:
    return Journal(folder / "samples.jsonl", folder / "samples.cut.jsonl")


def test_the_journal_reads_on_where_it_was(tmp_path: Path) -> None:
    book = journal(tmp_path)
    assert not book.read()
    with (tmp_path / "samples.jsonl").open("a") as file:
        file.write(LAUNCH + line(position=0) + line(position=1)[:20])
        file.flush()
        assert book.read()
        assert book.statuses == {(1, 0): "ok"}
        assert not book.read()
        file.write(line(position=1, status="failed")[20:])
    assert book.read()
    assert book.statuses == {(1, 0): "ok", (1, 1): "failed"}
    assert book.failed


def test_half_a_line_is_moved_aside_once(tmp_path: Path) -> None:
    (tmp_path / "samples.jsonl").write_text(LAUNCH + line(position=0) + '{"record": "ca')
    book = journal(tmp_path)
    book.mend()
    book.mend()
    assert (tmp_path / "samples.jsonl").read_text() == LAUNCH + line(position=0)
    assert (tmp_path / "samples.cut.jsonl").read_text() == '{"record": "ca\n'
    with (tmp_path / "samples.jsonl").open("a") as file:
        file.write('{"re')
    book.mend()
    assert (tmp_path / "samples.cut.jsonl").read_text() == '{"record": "ca\n{"re\n'


def test_a_line_that_is_no_record_is_named(tmp_path: Path) -> None:
    (tmp_path / "samples.jsonl").write_text(LAUNCH + "rubbish\n")
    with pytest.raises(UsageError, match=r"samples\.jsonl:2: b'rubbish': is no record"):
        journal(tmp_path).read()


def test_a_journal_that_cannot_be_written_is_named() -> None:
    book = Journal(Path("/dev/full"), Path("/dev/null"))
    with pytest.raises(ScopeError, match="/dev/full: cannot be written"):
        book.append(json.loads(line(position=0)))


def test_only_processes_with_the_argument_are_ended() -> None:
    code = "import time; time.sleep(60)"
    mine = subprocess.Popen([sys.executable, "-c", code, "--progress=/mine"], start_new_session=True)
    other = subprocess.Popen([sys.executable, "-c", code, "--progress=/mine/too"], start_new_session=True)
    try:
        assert processes.with_argument("--progress=/mine") == [mine.pid]
        assert processes.state(mine.pid, "--progress=/mine") in ("sleeping", "running")
        os.kill(mine.pid, signal.SIGSTOP)
        while processes.state(mine.pid, "--progress=/mine") != "stopped":
            pass
        assert processes.state(other.pid, "--progress=/mine") == "gone"
        processes.end(mine, "--progress=/mine")
        assert mine.poll() is not None
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
