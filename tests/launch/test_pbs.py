"""Jobs of PBS: its commands say what those of OpenPBS 23.06.06 printed on a login host and two nodes."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hpcscope.errors import ScopeError, UsageError
from hpcscope.launch import scheduler
from hpcscope.launch.schedulers import pbs
from tests.cli.scope_command import answered, start
from tests.launch.batch_requests import FULL
from tests.launch.played import play
from tests.patience import PATIENCE_S

JOB = "7.login1"
NO_SERVER = "Connection refused\nqstat: cannot connect to server login1 (errno=15010)"
USAGE = (
    "usage: qsub [-a date_time] [-A account_string] [-c interval]\n\t[-C directive_prefix] [-e path] [-f ] [-h ]"
)

WAITING = ("Q", "10", "Not Running: Insufficient amount of resource: ncpus (R: 4 A: 3 T:\n\t 4)", "")
NEVER = ("Q", "10", "Can Never Run: Not enough total nodes available", "")
NO_HOST = ("Q", "10", "Can Never Run: Insufficient amount of resource: host (nowhere != \n\tnode1,node2)", "")
STOPPED = ("Q", "10", "Not Running: Queue not started.", "")
HELD = ("H", "20", "", "")
DEPENDENT = ("H", "22", "", "")
LATER = ("W", "30", "", "")
RUNNING = ("R", "42", "Job run at Mon Nov 30 at 08:45 on (node1:ncpus=2)+(node2:ncpus=2)", "")
LEAVING = ("E", "51", RUNNING[2], "0")
FAILED = ("F", "93", f"{RUNNING[2]}\n\t and failed", "1")
OUT_OF_TIME = ("F", "93", f"{RUNNING[2]}\n\t and failed", "124")
WALLTIME = ("F", "93", f"{RUNNING[2]}\n\t and exceeded resource walltime", "-29")
DELETED = ("F", "91", f"{RUNNING[2]}\n\t and terminated by me@login1", "0")
WITHDRAWN = ("F", "91", "Can Never Run: Not enough total nodes available and terminated", "")


def shown(letter: str, substate: str, comment: str, code: str) -> str:
    """Return what `qstat -f` prints of a job, without most of its lines."""
    lines = [f"job_state = {letter}", "queue = workq", f"substate = {substate}"]
    lines += ["Variable_List = PBS_O_LANG=C.UTF-8,\n\tPBS_O_QUEUE=workq,PBS_O_HOST=login1"]
    lines += [f"comment = {comment}"] if comment else []
    lines += [f"Exit_status = {code}"] if code else []
    return f"Job Id: {JOB}\n    Job_Name = scope-r\n" + "".join(f"    {line}\n" for line in lines) + "\n"


QSTAT = f"""#!/bin/sh
cd "${{0%/*}}"
if [ -e queue ]; then exec cat queue; fi
if [ ! -e history ]; then echo "qstat: Unknown Job Id {JOB}" >&2; exit 153; fi
if [ "$1" = -x ]; then exec cat history; fi
echo "qstat: {JOB} Job has finished, use -x or -H to obtain historical job information" >&2
exit 35
"""
QDEL = """#!/bin/sh
cd "${0%/*}"
echo "$@" >> deleted
mv deleted-job history
rm queue
"""


@pytest.fixture
def queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the commands; in its `queue` and `history` is what they say of the one job."""
    for name in list(os.environ):
        if name.startswith(("SLURM_", "PBS_", "LSB_", "SGE_", "SCOPE_JOB")):
            monkeypatch.delenv(name)
    folder = tmp_path / "commands"
    folder.mkdir()
    play(folder, monkeypatch, qsub=JOB, pbsnodes="node1")
    for name, text in {"qstat": QSTAT, "qdel": QDEL}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / "deleted-job").write_text(shown(*DELETED))
    return folder


@pytest.fixture
def run(queue: Path, tmp_path: Path) -> Path:
    """A run whose script is written and not submitted."""
    words = ["--submit", "--dry-run", "--scheduler", "pbs", "--case", "node.timer", "-o", "run"]
    assert answered(tmp_path, "run", *words).code == 0
    return tmp_path / "run"


def test_a_job_is_seen_waiting_running_and_over(queue: Path) -> None:
    def state(*facts: str) -> scheduler.JobState:
        (queue / "queue").write_text(shown(*facts))
        return pbs.SCHEDULER.state_of(JOB)

    for facts, pending in {WAITING: True, DEPENDENT: True, LATER: True, RUNNING: False, LEAVING: False}.items():
        seen = state(*facts)
        assert (seen.pending, seen.stuck, seen.ended) == (pending, False, False), facts
    assert state(*WAITING).reason == "Insufficient amount of resource: ncpus (R: 4 A: 3 T: 4)"
    for facts, why in {
        NEVER: "Not enough total nodes available",
        NO_HOST: "Insufficient amount of resource: host (nowhere != node1,node2)",
        STOPPED: "Queue not started",
        HELD: "held",
    }.items():
        seen = state(*facts)
        assert (seen.stuck, seen.reason) == (True, why), facts
    (queue / "queue").unlink()
    for facts, outcome in {
        FAILED: ("FINISHED", 1),
        OUT_OF_TIME: ("FINISHED", 124),
        WALLTIME: ("TIMEOUT", -29),
        DELETED: ("CANCELLED", 0),
        WITHDRAWN: ("CANCELLED", None),
    }.items():
        (queue / "history").write_text(shown(*facts))
        seen = pbs.SCHEDULER.state_of(JOB)
        assert (seen.state, seen.exit_code, seen.ended, seen.reason) == (*outcome, True, ""), facts
    (queue / "history").unlink()
    seen = pbs.SCHEDULER.state_of(JOB)
    assert (seen.state, seen.exit_code, seen.ended) == ("GONE", None, True)


def test_a_server_that_does_not_respond_says_nothing_of_a_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(tmp_path, monkeypatch, qstat=f"!{NO_SERVER}")
    with pytest.raises(ScopeError, match=r"^qstat: cannot connect to server login1 \(errno=15010\)$"):
        pbs.SCHEDULER.state_of(JOB)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("qsub: Unknown queue", "launcher.partition = short: qsub: Unknown queue"),
        ("qsub: Queue is not enabled", "launcher.partition = short: qsub: Queue is not enabled"),
        ("qsub: Unauthorized Request ", "qsub: Unauthorized Request"),
        *((f"qsub: {reason}", f"qsub: {reason}") for reason in ["Unknown resource: foo", "Unknown resource: x"]),
        (f"qsub: invalid option -- '-'\n{USAGE}", "qsub: invalid option -- '-'"),
        (
            "Unknown Host.\nqsub: cannot connect to server login1 (errno=15008)",
            "qsub: cannot connect to server login1 (errno=15008)",
        ),
    ],
)
def test_a_refusal_is_one_line_that_names_the_key_it_speaks_of(
    said: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(tmp_path, monkeypatch, qsub=f"!{said}")
    with pytest.raises(UsageError) as refused:
        pbs.SCHEDULER.submit(tmp_path / "script", FULL)
    assert str(refused.value) == told


def test_an_array_of_jobs_is_no_run() -> None:
    with pytest.raises(UsageError, match=r"scheduler_arguments = -J 1-3: "):
        pbs.SCHEDULER.submit(Path("/x"), replace(FULL, arguments=("-J 1-3",)))


def test_a_qsub_of_another_batch_system_is_not_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(tmp_path, monkeypatch, qsub=JOB, qstat="x", qconf="x")
    with pytest.raises(UsageError, match=r"^pbsnodes: .* PBS"):
        pbs.SCHEDULER.require()


@pytest.mark.parametrize(
    ("last", "code", "said"),
    [
        (WALLTIME, 124, "reached its time limit: nothing was measured"),
        (OUT_OF_TIME, 124, "reached its time limit: nothing was measured"),
        (DELETED, 130, "was canceled: nothing was measured"),
        (FAILED, 1, "ended (FINISHED): what went wrong"),
    ],
)
def test_how_a_job_ends_is_how_the_command_ends(
    last: tuple[str, ...], code: int, said: str, queue: Path, run: Path
) -> None:
    (queue / "history").write_text(shown(*last))
    # One line is not UTF-8, as printed by programs that read memory they do not own.
    (run / "job" / "output.txt").write_bytes(b"\xf0>Z: No such file\nscope run: what went wrong\n")
    answer = answered(run.parent, "run", "--resume", "run", "--submit")
    assert answer.code == code, answer
    assert answer.errors.strip().splitlines()[-1] == f"scope run: job {JOB} {said}"
    assert (run / "job" / "number").read_text().strip() == JOB


def test_a_job_that_can_never_run_is_withdrawn(queue: Path, run: Path) -> None:
    (queue / "queue").write_text(shown(*NEVER))
    answer = answered(run.parent, "run", "--resume", "run", "--submit")
    assert answer.code == 1
    assert f"job {JOB} cannot start (Not enough total nodes available); it was withdrawn" in answer.errors
    assert (queue / "deleted").read_text().split() == [JOB]


@pytest.mark.parametrize("state", [WAITING, RUNNING], ids=lambda state: str(state[0]))
def test_an_interruption_cancels_the_job(state: tuple[str, ...], queue: Path, run: Path) -> None:
    (queue / "queue").write_text(shown(*state))
    words = ("run", "--resume", "run", "--submit")
    command = start(run.parent, *words, program=(sys.executable, "-m", "hpcscope"))
    assert command.stderr is not None
    assert command.stderr.readline().startswith(f"job {JOB} is ")
    command.send_signal(signal.SIGINT)
    _, errors = command.communicate(timeout=PATIENCE_S)
    assert command.returncode == 130, errors
    assert f"interrupted; job {JOB} was canceled" in errors
    assert (queue / "deleted").read_text().split() == [JOB]
