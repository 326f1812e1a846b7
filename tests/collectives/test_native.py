"""What needs no MPI at work: schedules on data with wrong steps injected, the topology reader, estimates."""

from __future__ import annotations

from pathlib import Path

from hpcscope.build import collectives
from hpcscope.machine.machine import MpiInstallation
from tests import native_tests


def test_the_native_tests_pass(embedded: MpiInstallation, tmp_path: Path) -> None:
    native_tests.check(collectives.project(embedded), tmp_path)
