"""Runs the native program under a real launcher and reads what it wrote."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from hpcscope.launch.launch_environment import launch_environment
from hpcscope.launch.launcher import MpiProgram, Site
from hpcscope.launch.site import start_command
from hpcscope.machine import processors
from hpcscope.machine.machine import MpiInstallation, NativeBuild
from hpcscope.samples.records import CaseRecord, LaunchRecord, Record
from tests.installed_mpi import build, embedded, embedded_build, few, few_sources  # noqa: F401
from tests.installed_mpi import mpi as mpi
from tests.patience import PATIENCE_S

RECORD: TypeAdapter[LaunchRecord | CaseRecord] = TypeAdapter(Record)


@dataclass
class Ended:
    """What a launch left behind."""

    code: int
    errors: str
    records: list[LaunchRecord | CaseRecord]

    @property
    def launch(self) -> LaunchRecord:
        return next(record for record in self.records if isinstance(record, LaunchRecord))

    @property
    def cases(self) -> list[CaseRecord]:
        return [record for record in self.records if isinstance(record, CaseRecord)]


def only_case(ended: Ended) -> CaseRecord:
    assert len(ended.cases) == 1, ended.errors
    return ended.cases[0]


def start(
    program: str,
    installation: MpiInstallation,
    ranks: int,
    options: list[str],
    patience_s: float = PATIENCE_S,
    **environment: str,
) -> tuple[int, str]:
    """Start the ranks, oversubscribed where they are more than cores, and wait for their end."""
    job = MpiProgram(program, tuple(options), ranks, oversubscribed=ranks > processors.usable())
    command = start_command(job, Site(installation, installation.launcher))
    with launch_environment({**command.environment, **environment}) as variables:
        ended = subprocess.run(
            command.arguments, env=variables, capture_output=True, text=True, timeout=patience_s
        )
    return ended.returncode, ended.stderr


Measure = Callable[..., Ended]


@pytest.fixture
def measure(tmp_path: Path, embedded_build: NativeBuild) -> Measure:  # noqa: F811
    """Run plan lines (or, without any, every benchmark once) on so many ranks."""

    def run(
        ranks: int,
        plan: list[str] | None = None,
        *options: str,
        action: str = "test",
        native: NativeBuild = embedded_build,
        patience_s: float = PATIENCE_S,
        **environment: str,
    ) -> Ended:
        output = tmp_path / "samples.jsonl"
        output.unlink(missing_ok=True)
        arguments = [f"--action={action}", f"--output={output}", *options]
        if plan is not None:
            (tmp_path / "plan.txt").write_text("\n".join(plan) + "\n")
            arguments.append(f"--plan={tmp_path / 'plan.txt'}")
        code, errors = start(native.program, native.mpi, ranks, arguments, patience_s, **environment)
        lines = output.read_text().splitlines() if output.exists() else []
        return Ended(code, errors, [RECORD.validate_json(line) for line in lines])

    return run
