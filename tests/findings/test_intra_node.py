"""What Open MPI prints where it must do without shared memory or copies between processes becomes a finding."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hpcscope.findings.results import Run
from tests.findings.faulty_runs import run_kinds

SHORT = """\
--------------------------------------------------------------------------
It appears as if there is not enough space for /dev/shm/sm_segment.a.0.ef54.1 (the shared-memory backing
file). It is likely that your MPI job will now either abort or experience
performance degradation.
"""
REFUSED = "[a:7823] Read -1, expected 1048576, errno = 1\n"


@pytest.mark.parametrize(
    ("printed", "code", "what"),
    [
        (SHORT, "intra-node-memory-short", "/dev/shm/sm_segment.a.0.ef54.1"),
        (REFUSED * 9, "intra-node-copies-refused", "Read -1, expected 1048576, errno = 1"),
    ],
)
def test_a_complaint_is_one_finding(printed: str, code: str, what: str, healthy_run: Run, tmp_path: Path) -> None:
    shutil.copytree(healthy_run.path, tmp_path / "run")
    run = Run(tmp_path / "run")
    assert run_kinds()["intra_node"](run) == []
    for launch in (1, 2):
        folder = run.directory.launch(launch, 1)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "stderr.txt").write_text(f"a line of the program\n{printed}")
    (found,) = run_kinds()["intra_node"](run)
    assert found.code == code
    assert what in found.title
    assert [each.value for each in found.evidence] == [2]
