"""The tutorial's benchmark is two new files and nothing else, and it works."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from scope.build import native, registry
from scope.machine.machine import MpiInstallation
from scope.samples.records import CaseRecord
from tests.installed_mpi import embedded  # noqa: F401
from tests.measure.conftest import RECORD, start

TUTORIAL = Path(__file__).resolve().parents[1] / "docs" / "tutorial" / "README.md"
FILE = re.compile(r"^`(measure/src/benchmarks/\S+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)

LEVELS = ("mpi",)
"""Of the house's own benchmarks only these are compiled beside the new one."""


def test_the_tutorials_benchmark_needs_two_new_files(
    embedded: MpiInstallation,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files = FILE.findall(TUTORIAL.read_text())
    assert [Path(name).suffix for name, _ in files] == [".cpp", ".md"]
    shutil.copytree(native.source_directory(), tmp_path / "measure")
    for level in (tmp_path / "measure/src/benchmarks").iterdir():
        if level.name not in LEVELS:
            shutil.rmtree(level)
    for name, text in files:
        assert not (tmp_path / name).exists()
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(native, "source_directory", lambda: tmp_path / "measure")
    monkeypatch.setenv("SCOPE_CACHE", str(tmp_path / "cache"))

    built = native.build(embedded)
    assert "mpi.ring" in [benchmark.name for benchmark in registry.load(built.program)]

    output = tmp_path / "samples.jsonl"
    (tmp_path / "plan.txt").write_text("mpi.ring sampling.budget_s=0.05\n")
    options = ["--action=run", f"--plan={tmp_path / 'plan.txt'}", f"--output={output}"]
    for ranks, fault, status in ((3, "", "ok"), (3, "wrong-result:mpi.ring", "failed")):
        output.unlink(missing_ok=True)
        start(built.program, embedded, ranks, options, SCOPE_FAULT=fault)
        records = [RECORD.validate_json(line) for line in output.read_text().splitlines()]
        assert [record.status for record in records if isinstance(record, CaseRecord)] == [status]
