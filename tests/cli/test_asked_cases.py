"""A case that was asked for by name and cannot run fails the run; one of a list that cannot does not."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hpcscope.launch.diagnosis import kills_for_lack_of_memory
from tests.cli.scope_command import BRIEF, SCOPE, answered, samples
from tests.installed_mpi import embedded, embedded_build  # noqa: F401
from tests.patience import PATIENCE_S

SMALL = [*BRIEF, "--launches", "1", "-o", "run"]


def test_a_case_that_cannot_run_fails_the_run_and_says_why(tmp_path: Path) -> None:
    cases = [
        "--case",
        "node.timer",
        "--case",
        "algorithm.linpack n=900000 ranks=1",
        "--case",
        "algorithm.linpack n=64",
    ]
    answer = answered(tmp_path, "run", *cases, *SMALL)
    assert answer.code == 1, answer.errors
    last = answer.errors.strip().splitlines()[-1]
    assert last.startswith("scope run: ")
    assert "algorithm.linpack" in last
    assert "GB" in last or "MB" in last, "how much memory is lacking"


def test_of_a_list_one_case_with_a_result_is_enough(tmp_path: Path) -> None:
    answer = answered(tmp_path, "run", "--case", "mpi.broadcast ranks=2 root=0,1,2 message_bytes=8", *SMALL)
    assert answer.code == 0, answer.errors


@pytest.mark.usefixtures("embedded_build")  # a compiler in the group would read its files again and again
def test_the_limit_of_a_control_group_is_not_exceeded(tmp_path: Path) -> None:
    """In a job with 600 MB, arrays of 2 x 512 MiB are refused instead of killed."""
    group = Path("/sys/fs/cgroup/memory") / f"scope-test-{os.getpid()}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text("600000000")
    except OSError:
        pytest.xfail("needs a control group (version 1) whose memory may be limited")
    kills = kills_for_lack_of_memory()
    try:
        script = f'echo $$ >{group}/cgroup.procs; exec "$@"'
        words = ["--case", "node.memory_copy array_bytes=512Mi", "--case", "node.timer", *SMALL]
        command = ["sh", "-c", script, "sh", str(SCOPE), "run", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S)
    finally:
        group.rmdir()
    assert done.returncode == 1, done.stderr
    (copy, timer) = [line for line in samples(tmp_path / "run") if line["record"] == "case"]
    assert (copy["benchmark"], copy["status"]) == ("node.memory_copy", "unavailable")
    assert "MB of memory" in copy["reason"]
    assert (timer["benchmark"], timer["status"]) == ("node.timer", "ok")
    assert "node.memory_copy" in done.stderr.splitlines()[-1]
    assert kills_for_lack_of_memory() == kills
