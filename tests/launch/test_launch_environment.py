"""What a killed launch left behind is in nobody's way, and no launch adds to it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from hpcscope.launch.launch_environment import SESSION, launch_environment
from tests.launch.conftest import SAME_LAUNCHERS, Trial

NUMBERS = 3000
"""Processes that are started before the launch, at the most."""


def leave_behind(temporary: Path, last_process: int) -> None:
    """Make what launchers of Open MPI 5 with the next numbers would have left, held by a process that lives."""
    said = f"prterun-x@0.0;tcp4://127.0.0.1:1\n5.0\n{os.getpid()}\n0:0\nToday\n"
    for number in range(last_process + 1, last_process + NUMBERS):
        session = temporary / f"ompi.{number}"
        session.mkdir()
        for name in (f"pmix.{os.uname().nodename}.tool", f"pmix.{os.uname().nodename}.tool.{number}"):
            (session / name).write_text(said)


@SAME_LAUNCHERS
def test_sessions_of_killed_launches_are_in_nobodys_way(
    any_trial: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = Path(tempfile.mkdtemp(dir="/tmp"))  # a short path: sockets are made below it
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    plan = any_trial.plan("mpi.barrier ranks=2")
    leave_behind(temporary, int(Path("/proc/loadavg").read_text().split()[-1]))
    assert any_trial.supervise(plan), any_trial.records()
    assert not list(temporary.glob("scope-*"))


def test_a_folder_of_the_users_own_choice_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRTE_MCA_prte_tmpdir_base", "/somewhere")
    with launch_environment({"MARK": "x"}) as variables:
        assert variables["MARK"] == "x"
        assert variables["PRTE_MCA_prte_tmpdir_base"] == "/somewhere"
        assert SESSION not in variables


@SAME_LAUNCHERS
def test_the_choice_of_a_site_is_not_taken_for_a_contradiction(
    any_trial: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, component in ((".openmpi", "orte"), (".prte", "prte")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mca-params.conf").write_text(f"{component}_tmpdir_base = {tmp_path}\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert any_trial.supervise(any_trial.plan("mpi.barrier ranks=2")), any_trial.records()
