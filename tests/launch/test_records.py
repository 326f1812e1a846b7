"""The journal of samples, the progress file, last words, and the judgement of who did not arrive."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from hpcscope.checksum import with_checksum
from hpcscope.errors import ScopeError
from hpcscope.launch import processes
from hpcscope.launch.diagnosis import Death, diagnose
from hpcscope.launch.supervision import progress as progress_file
from hpcscope.launch.supervision.journal import Journal
from hpcscope.launch.supervision.progress import Slot, Watch
from hpcscope.launch.supervision.rank_states import missing_ranks, named, rank_states
from hpcscope.launch.supervision.supervisor import remaining, unfinished
from hpcscope.plan.placement import Placement
from hpcscope.plan.plan import Launch, Plan, PlannedCase
from hpcscope.rundirectory import RunDirectory
from hpcscope.samples.records import CaseRecord
from tests.messages import mentions
from tests.patience import until

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
        (PRTE, Death("rank 1 on vm (pid 12122) ... signal 9 (SIGKILL)", (1,), "vm", 12122, 9)),
        (ORTE, Death("rank 3 on n7 ... signal 11 (SIGSEGV)", (3,), "n7", None, 11)),
        (HYDRA, Death("rank on vm ... signal 9 (SIGKILL)", (), "vm", 12241, 9, {0: 9})),
        (STACK, Death("ucx function returned with failed status(Destination is unreachable)")),
        ("scope-measure: /x: No space left on device\n", Death("/x: No space left on device")),
        ("one\ntwo: cannot open shared object\n", Death("two: cannot open shared object")),
        ("", Death("nothing")),
    ],
)
def test_last_words_are_understood(output: str, death: Death) -> None:
    found = diagnose(output)
    assert mentions(found.text, death.text)
    assert replace(found, text=death.text) == death


def hydra(codes: str, pid: int, code: int) -> str:
    """Return what mpiexec prints of processes that ended with these statuses on the second of two hosts."""
    named = HYDRA.replace("PID 12241", f"PID {pid}").replace("CODE: 9", f"CODE: {code}").replace("(signal 9)", "")
    return f"{named}\n[mpiexec@login] Exit codes: [n1] 9,9\n[vm] {codes}\n(signal 13)"


@pytest.mark.parametrize(
    ("codes", "pid", "code", "order", "ranks", "how"),
    [
        ("0,4,0", 103, 4, (), (3,), "rank 3 on vm (pid 103) was killed by signal 4 (SIGILL)"),
        ("9,132,9", 102, 9, (), (3,), "rank 3 on vm (pid 103) was killed by signal 4 (SIGILL)"),
        ("9,768,0", 102, 9, (2,), (2,), "rank 2 on vm (pid 102) was killed by signal 9 (SIGKILL)"),
        ("9,768,0", 102, 9, (3, 2), (3,), "rank 3 on vm (pid 103) ended with exit code 3"),
        ("0,9,9", 103, 9, (4, 3), (4,), "rank 4 on vm (pid 104) was killed by signal 9 (SIGKILL)"),
        ("9,9,0", 102, 9, (0, 4, 3, 2), (3,), "rank 3 on vm (pid 103) was killed by signal 9 (SIGKILL)"),
        ("9,9,0", 102, 9, (), (2, 3), "rank 2 ... SIGKILL ... rank 3 ... SIGKILL ... does not say ... first"),
    ],
)
def test_the_rank_that_died_is_told_from_those_that_mpiexec_then_killed(
    codes: str, pid: int, code: int, order: tuple[int, ...], ranks: tuple[int, ...], how: str
) -> None:
    """The statuses are in the order of the ranks of each host; 132 is 4 with a core written, 768 exit code 3."""
    slots = {rank: replace(slot(rank), host="n1" if rank < 2 else "vm") for rank in range(5)}
    found = named(diagnose(hydra(codes, pid, code)), slots, order)
    assert found.ranks == ranks
    assert mentions(found.text, how)


def test_a_process_with_the_same_number_on_another_host_is_another_one() -> None:
    slots = {rank: replace(slot(rank), host=host, pid=102) for rank, host in enumerate(("n1", "vm"))}
    assert named(diagnose(hydra("11", 102, 11)), slots, ()).ranks == (1,)


def test_a_signal_that_mpiexec_mixed_with_its_own_is_not_named() -> None:
    found = diagnose(HYDRA.replace("(signal 9)", "(signal 13)"))
    assert (found.ranks, found.signal, found.text) == ((), None, "a rank on vm was killed by a signal")


def test_of_a_rank_that_never_connected_the_launcher_tells_the_host_and_the_signal() -> None:
    found = named(diagnose(hydra("9,11,9", 102, 9)), {}, ())
    assert (found.ranks, found.host, found.signal) == ((), "vm", signal.SIGSEGV)
    assert mentions(found.text, "a rank on vm ... SIGSEGV")


@pytest.mark.parametrize(
    "message", ["rank 3 on node2: out of memory", "mpi.latency: rank 3 on node2: out of memory"]
)
def test_the_rank_of_the_programs_own_message_is_the_one_that_died(message: str) -> None:
    found = diagnose(f"scope-measure: {message}\nMPI_ABORT was invoked\n")
    assert found == Death(message, (3,), "node2")


def test_where_nothing_could_be_written_is_said_as_far_as_it_is_known() -> None:
    shared = Death("/dev/shm: No space left on device")
    assert shared.no_room("/run/samples.jsonl", full=False) == shared.text
    written = shared.no_room("/run/samples.jsonl", full=True)
    assert mentions(written, "/run/samples.jsonl: ... No space left on device")
    assert shared.text not in written
    killed = Death("rank 1 was killed by signal 25 (SIGXFSZ)", signal=signal.SIGXFSZ)
    assert mentions(killed.no_room("/run/samples.jsonl", full=False), f"{killed.text}: ... ulimit -f")


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
    judged = rank_states(ranks, {each.rank: each for each in slots}, quiet, running, death)
    return [state.rank for state in judged if not state.arrived]


@pytest.mark.parametrize("state", ["stopped", "gone"])
def test_a_stopped_or_lost_rank_did_not_arrive(state: str) -> None:
    assert judge([slot(0, 6), slot(1, 6), slot(2, 9)], states={2: state}) == [2]


def test_a_rank_that_waits_for_a_stopped_one_is_not_accused() -> None:
    assert judge([slot(0, 7), slot(1, 6), slot(2, 6)], states={1: "stopped"}) == [1]
    assert judge([slot(0, 7), slot(1, 6), slot(2, 6)], death=Death("", (1,))) == [1]


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
    assert judge([slot(0), slot(1), slot(2)], states=dead, death=Death("", (1,))) == [1]
    assert judge([slot(0), slot(1), slot(2)], states=dead, death=Death("", (1, 2))) == [1, 2]


def test_after_a_death_that_names_nobody_nobody_is_accused() -> None:
    dead = dict.fromkeys(range(3), "gone")
    assert judge([slot(0, 6), slot(1, 5), slot(2, 6)], states=dead, death=Death("it printed nothing")) == []


def test_missing_ranks_are_named_but_not_a_thousand() -> None:
    judged = rank_states(20, {0: slot(0)}, {0: 0.0}, {0: "running"})
    text = missing_ranks(judged)
    assert [rank for rank in range(20) if f"rank {rank} " in text] == list(range(1, 9))
    assert "11 more" in text


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


CASE = {
    "record": "case",
    "launch": 1,
    "attempt": 1,
    "benchmark": "b",
    "parameters": {},
    "ranks": 2,
    "status": "ok",
}
LAUNCH = {"record": "launch", "launch": 1, "attempt": 1, "transport": "tcp", "placement": "core"}
END = {"record": "end", "launch": 1, "attempt": 1}


def line(record: dict[str, Any], **keys: Any) -> str:
    return json.dumps({**record, **keys}) + "\n"


SENTINEL = {"record": "sentinel", "launch": 1, "attempt": 1, "duration_s": 0.25}


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return RunDirectory(tmp_path)


def sampled(position: int, elapsed_s: list[float]) -> str:
    """Return the record of a case with samples of one rank, four operations per repetition."""
    series = [{"elapsed_s": [elapsed_s], "operations": 4, "warmup": 1}]
    median_s = median(elapsed_s) / 4
    return line(CASE, position=position, series=series, stopped="precision", median_s=median_s, duration_s=0.5)


def test_the_journal_reads_on_where_it_was(run: RunDirectory) -> None:
    journal = Journal(run)
    assert not journal.read()
    with run.journal.open("a") as file:
        file.write(line(LAUNCH) + line(CASE, position=0) + line(CASE, position=1)[:20])
        file.flush()
        assert journal.read()
        assert journal.statuses == {(1, 0): "ok"}
        assert not journal.read()
        file.write(line(CASE, position=1, status="failed")[20:])
    assert journal.read()
    assert journal.statuses == {(1, 0): "ok", (1, 1): "failed"}
    assert journal.failed


def test_a_resumed_run_rebuilds_the_journal_from_its_samples(run: RunDirectory) -> None:
    run.journal.write_text("stale")
    run.samples.write_text(line(LAUNCH) + sampled(0, [4.0, 8.0, 12.0]) + line(END) + '{"record": "ca')
    journal = Journal.rebuilt(run)
    assert (journal.statuses, journal.ended) == ({(1, 0): "ok"}, {(1, 1)})
    (seen,) = journal.seen.values()
    assert (seen.medians_s, seen.duration_s, seen.warmup) == ([2.0], 0.5, 1)
    assert run.cut_samples.read_text() == '{"record": "ca\n'
    assert run.journal.read_text().count("\n") == 3
    assert Journal.rebuilt(run) == journal
    assert Journal.read_only(run).statuses == journal.statuses


def test_a_record_that_a_killed_launch_did_not_enter_is_entered(run: RunDirectory) -> None:
    run.samples.write_text(line(LAUNCH) + sampled(0, [4.0]))
    journal = Journal.rebuilt(run)
    before = run.samples.stat().st_size
    with run.samples.open("a") as file:
        file.write(line(LAUNCH, attempt=2) + sampled(1, [4.0]) + '{"re')
    with run.journal.open("a") as file:
        file.write(line(LAUNCH, attempt=2) + '{"record":"case","pos')
    journal.complete(before)
    assert journal.statuses == {(1, 0): "ok", (1, 1): "ok"}
    assert set(journal.opened) == {(1, 1), (1, 2)}
    assert run.cut_samples.read_text() == '{"re\n'
    assert [json.loads(each)["record"] for each in run.journal.read_text().splitlines()] == [
        "launch",
        "case",
        "launch",
        "case",
    ]
    journal.complete(before)
    assert run.journal.read_text().count("\n") == 4


def two_cases(number: int) -> Launch:
    return Launch(number, 2, "tcp", Placement(), (PlannedCase("b", {}), PlannedCase("c", {})))


def test_cases_without_a_record_remain(run: RunDirectory) -> None:
    run.samples.write_text(line(LAUNCH) + sampled(0, [4.0]))
    journal = Journal.rebuilt(run)
    assert remaining(two_cases(1), journal) == [1]
    assert remaining(two_cases(2), journal) == [0, 1]
    (left,) = unfinished(Plan(1, "baseline", (two_cases(1),)), journal).launches
    assert [case.benchmark for case in left.cases] == ["c"]


def test_a_case_that_failed_is_not_visited_again_in_its_launch(run: RunDirectory) -> None:
    run.samples.write_text(line(LAUNCH) + line(CASE, position=0, status="crashed"))
    assert remaining(two_cases(1), Journal.rebuilt(run)) == [1]


def test_the_time_of_the_sentinel_is_spent_like_that_of_cases(run: RunDirectory) -> None:
    run.samples.write_text(line(LAUNCH) + line(SENTINEL) + sampled(0, [1.0]) + line(SENTINEL) + line(END))
    assert Journal.rebuilt(run).spent_s == 1.0
    assert run.journal.read_text().count("sentinel") == 2


def test_a_finished_run_without_a_journal_is_read_from_its_samples(run: RunDirectory) -> None:
    run.samples.write_text(line(LAUNCH) + line(CASE, position=0, status="crashed"))
    assert Journal.read_only(run).failed
    assert not run.journal.exists()


def test_half_a_line_is_moved_aside_once(run: RunDirectory) -> None:
    whole = line(LAUNCH) + line(CASE, position=0)
    run.samples.write_text(whole + '{"record": "ca')
    Journal.rebuilt(run)
    Journal.rebuilt(run)
    assert run.samples.read_text() == whole
    assert run.cut_samples.read_text() == '{"record": "ca\n'
    with run.samples.open("a") as file:
        file.write('{"re')
    Journal.rebuilt(run)
    assert run.cut_samples.read_text() == '{"record": "ca\n{"re\n'


def test_a_damaged_line_is_left_out_so_that_its_case_is_measured_again(run: RunDirectory) -> None:
    whole = with_checksum(line({**CASE, "position": 1}).encode().rstrip()).decode()
    run.samples.write_text(
        line(LAUNCH) + line({**CASE, "position": 0}) + "rubbish\n" + whole.replace("ok", "no") + "\n"
    )
    assert list(Journal.rebuilt(run).statuses) == [(LAUNCH["launch"], 0)]


def test_samples_that_cannot_be_written_are_named(run: RunDirectory) -> None:
    run.samples.symlink_to("/dev/full")
    with pytest.raises(ScopeError, match=r"samples\.jsonl: .*No space left"):
        Journal(run).append(CaseRecord(**CASE, position=0, started_unix_s=1, duration_s=1))


def test_only_processes_with_the_argument_are_ended() -> None:
    code = "import time; time.sleep(60)"
    mine = subprocess.Popen([sys.executable, "-c", code, "--progress=/mine"], start_new_session=True)
    other = subprocess.Popen([sys.executable, "-c", code, "--progress=/mine/too"], start_new_session=True)
    try:
        assert [each.pid for each in processes.with_argument("--progress=/mine")] == [mine.pid]
        assert processes.state(mine.pid, "--progress=/mine") in ("sleeping", "running")
        os.kill(mine.pid, signal.SIGSTOP)
        until(lambda: processes.state(mine.pid, "--progress=/mine") == "stopped", "it is stopped")
        assert processes.state(other.pid, "--progress=/mine") == "gone"
        processes.end(mine, lambda: processes.with_argument("--progress=/mine"))
        assert mine.poll() is not None
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
