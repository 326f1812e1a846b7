"""The tutorials: a benchmark is two new files and works; the code blocks of the Python API run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hpcscope
from hpcscope.build import installations, native, registry
from hpcscope.machine.machine import MpiInstallation
from hpcscope.samples.records import CaseRecord
from tests import small_program
from tests.installed_mpi import embedded  # noqa: F401
from tests.measure.conftest import RECORD, start
from tests.messages import mentions

TUTORIAL = Path(__file__).resolve().parents[1] / "docs" / "tutorial" / "README.md"
PYTHON_TUTORIAL = TUTORIAL.with_name("python.md")
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^`(measure/src/benchmarks/\S+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)

KEPT = "mpi/barrier"
"""Of the existing benchmarks only this one is compiled beside the new one."""


@pytest.mark.slow("compiles a tree of its own; there, benchmarks from outside in tests/outside")
def test_the_tutorials_benchmark_needs_two_new_files(
    embedded: MpiInstallation,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files = FILE.findall(TUTORIAL.read_text())
    assert [Path(name).suffix for name, _ in files] == [".cpp", ".md"]
    sources = small_program.sources(tmp_path, KEPT)
    monkeypatch.setenv("CXXFLAGS", "-O0")
    for name, text in files:
        assert not (tmp_path / name).exists()
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(native, "source_directory", lambda: sources)
    monkeypatch.setenv("SCOPE_CACHE", str(tmp_path / "cache"))

    built = native.build(embedded)
    assert registry.load(built.program).names == ["mpi.barrier", "mpi.ring"]

    output = tmp_path / "samples.jsonl"
    (tmp_path / "plan.txt").write_text("mpi.ring sampling.budget_s=0.05\n")
    options = ["--action=run", f"--plan={tmp_path / 'plan.txt'}", f"--output={output}"]
    for ranks, fault, status in ((3, "", "ok"), (3, "wrong-result:mpi.ring", "failed")):
        output.unlink(missing_ok=True)
        start(built.program, embedded, ranks, options, SCOPE_FAULT=fault)
        records = [RECORD.validate_json(line) for line in output.read_text().splitlines()]
        assert [record.status for record in records if isinstance(record, CaseRecord)] == [status]


def test_the_python_tutorial_runs(
    embedded: MpiInstallation,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its blocks run one after the other, with the embedded MPI, in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(installations, "_candidates", lambda: iter([(Path(embedded.compiler), "embedded")]))
    blocks = PYTHON_BLOCK.findall(PYTHON_TUTORIAL.read_text())
    assert len(blocks) >= 8
    names: dict[str, Any] = {}
    for number, block in enumerate(blocks, 1):
        exec(compile(block, f"python.md, block {number}", "exec"), names)  # the user's own code is what is tested
    times = names["times"]
    assert (times.unit, times.definition, times.case.ranks) == ("s", "half_round_trip", 2)
    assert len(times.medians) == len(times.launches) == 6
    assert names["launch"].time_s.shape == names["launch"].valid.shape
    assert len(names["frame"]) == len(names["run"].statistics)
    assert names["comparison"].cases
    assert [path.name for path in (tmp_path / "runs").iterdir() if path.is_symlink()] == ["latest"]


def test_choices_that_leave_no_case_or_several_are_named(golden_run: Path) -> None:
    run = hpcscope.open(golden_run)
    assert run.samples("mpi.latency", message_bytes="1Ki").case.parameters["mode"] == "standard"  # its default
    with pytest.raises(hpcscope.UsageError, match=r"\b2 .*operation\.broadcast: .*ranks=2\|4"):
        run.samples("operation.broadcast")
    with pytest.raises(hpcscope.UsageError, match=r"mpi\.latency message_bytes=3; .*: "):
        run.samples("mpi.latency", message_bytes=3)
    with pytest.raises(hpcscope.UsageError, match="launches"):
        hpcscope.open(golden_run / "launches")


def test_importing_scope_loads_nothing_heavy_and_a_frame_without_pandas_says_so(golden_run: Path) -> None:
    code = (
        "import sys, hpcscope; print([name for name in ('numpy', 'pydantic', 'typer') if name in sys.modules]);"
        " sys.modules['pandas'] = None\n"
        f"try: hpcscope.open({str(golden_run)!r}).statistics.to_frame()\n"
        "except hpcscope.ScopeError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=TUTORIAL.parents[2])
    nothing, refused = done.stdout.splitlines()
    assert nothing == "[]"
    assert mentions(refused, "to_frame() ... pip install pandas")
