"""One run: how its end is told, that it ends in time, and that nothing of it stays behind."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from hpcscope.errors import UsageError
from hpcscope.launch.launcher import Command
from hpcscope.programs.campaign.execution import MARK, Outcome, execute
from tests.messages import mentions


def run(folder: Path, *words: str, limit_s: float = 20.0, check: tuple[str, ...] = ()) -> Outcome:
    return execute(Command(list(words)), folder / "run", folder, limit_s, check)


def python(text: str) -> tuple[str, ...]:
    return (sys.executable, "-c", text)


def test_a_run_that_ends_well_has_its_output_and_its_times(tmp_path: Path) -> None:
    before = time.time()
    words = python(
        "import time; e = time.process_time() + 0.2\nwhile time.process_time() < e: pass\nprint('done')"
    )
    outcome = run(tmp_path, "sh", "-c", '"$@"; true', "-", *words)
    assert (outcome.status, outcome.reason, outcome.exit_code) == ("ok", "", 0)
    assert (tmp_path / "run" / "stdout.txt").read_text() == "done\n"
    assert outcome.user_s + outcome.system_s >= 0.2, "of the process below the command, too"
    assert outcome.elapsed_s >= 0.2
    assert before <= outcome.started_unix_s <= time.time()


def test_errors_and_signals_are_told_with_their_codes(tmp_path: Path) -> None:
    failed = run(tmp_path, "sh", "-c", "echo what went wrong >&2; exit 3")
    assert (failed.status, failed.exit_code) == ("failed", 3)
    assert "what went wrong" in failed.reason
    killed = run(tmp_path, "sh", "-c", "kill -9 $$")
    assert (killed.status, killed.exit_code) == ("failed", 128 + 9)


def test_a_check_reads_what_was_printed(tmp_path: Path) -> None:
    assert run(tmp_path, "echo", "right", check=("grep", "-q", "right")).status == "ok"
    wrong = run(tmp_path, "echo", "rubbish", check=("sh", "-c", "grep right || (echo no right; exit 4)"))
    assert (wrong.status, wrong.exit_code) == ("wrong", 0)
    assert mentions(wrong.reason, "4: no right"), "how the check ended, and its words"
    assert run(tmp_path, "false", check=("true",)).status == "failed", "a failed run is not checked"


def test_a_run_that_takes_too_long_is_ended_with_all_below_it(tmp_path: Path) -> None:
    # A process that left the group, heeds no word and never ends, as a rank of a launcher that died.
    stubborn = "import os, signal; os.setsid(); signal.signal(15, signal.SIG_IGN)\nwhile True: signal.pause()"
    words = ("sh", "-c", '"$0" -c "$1" & wait', sys.executable, stubborn)
    outcome = run(tmp_path, *words, limit_s=0.5)
    assert (outcome.status, outcome.exit_code) == ("timeout", None)
    wanted = f"{MARK}={tmp_path / 'run'}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                assert state == "Z" or wanted not in (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue


def test_what_cannot_be_started_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no-such-program: "):
        run(tmp_path, "no-such-program")
    with pytest.raises(UsageError, match="check = no-such-check"):
        run(tmp_path, "true", check=("no-such-check",))
