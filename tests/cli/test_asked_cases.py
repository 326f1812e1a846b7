"""A case that was asked for by name and cannot run fails the run; one of a list that cannot does not."""

from __future__ import annotations

from pathlib import Path

from tests.cli.scope_command import BRIEF, scope

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
    answer = scope(tmp_path, "run", *cases, *SMALL)
    assert answer.code == 1, answer.errors
    last = answer.errors.strip().splitlines()[-1]
    assert last.startswith("scope run: no result of a case that was asked for: algorithm.linpack: ")
    assert "GB" in last or "MB" in last, "how much memory is lacking"


def test_of_a_list_one_case_with_a_result_is_enough(tmp_path: Path) -> None:
    answer = scope(tmp_path, "run", "--case", "mpi.broadcast ranks=2 root=0,1,2 message_bytes=8", *SMALL)
    assert answer.code == 0, answer.errors
