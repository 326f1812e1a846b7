"""The baseline's program: compiled first, a part of the whole, and enough for what is planned with it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from hpcscope.build import native, registry
from hpcscope.catalog.benchmark import Benchmark
from hpcscope.catalog.declared import declared
from hpcscope.engine import catalogs
from hpcscope.errors import UsageError
from hpcscope.machine.machine import MpiInstallation, NativeBuild
from hpcscope.plan.experiment import COMMAND_LINE, resolve
from hpcscope.plan.place import Place
from hpcscope.samples.records import CaseRecord
from tests import golden_run
from tests.measure.conftest import RECORD, start

TWO_HOSTS = Place((2, 2))
FIRST = {one.source for one in declared() if one.module == native.BASELINE}


def needed(*cases: str, **given: str) -> str:
    """Return the part that an experiment needs."""
    asked = {"case": list(cases)} if cases else given
    return catalogs.part_for(resolve(None, asked), TWO_HOSTS, COMMAND_LINE)


def test_what_is_planned_decides_what_is_compiled() -> None:
    assert needed() == native.BASELINE
    assert needed("mpi.latency message_bytes=8", "network.latency protocol=tcp") == native.BASELINE
    assert needed(module="standard") == native.WHOLE
    assert needed("mpi.latency", "application.npb_ep class=S") == native.WHOLE
    for protocol in native.FURTHER_TRANSPORTS:
        assert needed(f"network.latency protocol={protocol}") == native.WHOLE
    for memory in native.DEVICE_MEMORY:
        assert needed(f"mpi.latency receiver_memory={memory}") == native.WHOLE
    with pytest.raises(UsageError, match=r"mpi\.latncy: .*mpi\.latency\?"):
        needed("mpi.latncy")


def test_an_edited_source_may_have_another_benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "edited.cpp").write_text('{"mpi.of_an_edited_source"}')
    monkeypatch.setenv(native.EXTRA_BENCHMARKS, str(tmp_path))
    assert needed("mpi.of_an_edited_source") == native.WHOLE


def test_a_benchmark_whose_source_is_gone_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "src/benchmarks/mpi").mkdir(parents=True)
    (tmp_path / "src/benchmarks/mpi/barrier.cpp").touch()
    monkeypatch.setattr(native, "source_directory", lambda: tmp_path)
    assert catalogs.kept().names == ["mpi.barrier"]


def test_the_catalog_of_the_first_program_has_all_benchmarks_and_believes_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    build = NativeBuild.model_validate(golden_run.machine()["build"])
    lacking = {"available": False, "reason": "no BLAS"}
    own = [one.model_copy(update=lacking if "blas" in one.requires else {}) for one in first(declared())]
    own = [one for one in own if one.name != "mpi.barrier"]  # the declaration was edited and says so no more
    monkeypatch.setattr(registry, "load", lambda program: own)
    catalog = catalogs.of_program(build)
    assert set(declared().names) - set(catalog.names) == {"mpi.barrier"}
    assert catalog["node.lapack"].reason == "no BLAS"
    assert (catalog["algorithm.linpack"].available, catalog["algorithm.linpack"].reason) == (
        True,
        catalogs.UNKNOWN,
    )
    assert catalog["application.cfd"].reason == ""


def test_the_whole_serves_for_a_part(monkeypatch: pytest.MonkeyPatch, embedded: MpiInstallation) -> None:
    there: set[Path] = set()
    monkeypatch.setattr(native, "_known", lambda folder: folder if folder in there else None)
    monkeypatch.setattr(native, "_served", lambda _asked, folder, _libraries: folder)
    baseline, whole = (
        native.project(embedded, native.source_directory(), part) for part in (native.BASELINE, native.WHOLE)
    )
    assert native.kept(embedded, native.BASELINE) is None
    there.add(baseline.directory)
    assert native.kept(embedded, native.BASELINE) == baseline.directory
    assert native.kept(embedded) is None
    there.add(whole.directory)
    assert native.kept(embedded, native.BASELINE) == whole.directory


def test_the_first_program_has_what_the_baseline_measures_and_nothing_else(
    embedded: MpiInstallation, embedded_build: NativeBuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is linked from objects of the whole, which would serve for it."""
    known = native._known
    whole_is = native.project(embedded, native.source_directory()).directory
    monkeypatch.setattr(native, "_known", lambda folder: None if folder == whole_is else known(folder))
    asked = native.project(embedded, native.source_directory(), native.BASELINE)
    assert asked.objects == native.project(embedded, native.source_directory()).objects
    assert asked.fingerprint == embedded_build.fingerprint
    build = native.build(embedded, native.BASELINE)
    assert build.flags == embedded_build.flags
    assert Path(build.program).parents[1] != Path(embedded_build.program).parents[1]
    whole = registry.load(embedded_build.program)
    assert list(registry.load(build.program)) == first(whole)
    assert list(catalogs.of_program(build).names) == whole.names

    plan, output = tmp_path / "plan.txt", tmp_path / "samples.jsonl"
    known = next(one for one in whole["network.latency"].parameters if one.name == "protocol").choices
    further = "mpi.latency sender_memory=staged\n"
    plan.write_text("".join(f"network.latency protocol={protocol}\n" for protocol in known) + further)
    start(build.program, embedded, 2, ["--action=test", f"--plan={plan}", f"--output={output}"])
    records = [RECORD.validate_json(line) for line in output.read_text().splitlines()]
    *cases, staged = [one for one in records if isinstance(one, CaseRecord)]
    assert (staged.status, "compiled without" in staged.reason) == ("unavailable", True)
    lacking = {one.parameters["protocol"] for one in cases if "compiled without" in one.reason}
    assert len(cases) == len(known)
    assert lacking == native.FURTHER_TRANSPORTS


def first(benchmarks: Iterable[Benchmark]) -> list[Benchmark]:
    """Return those of the sources that the baseline's program has."""
    return [one for one in benchmarks if one.source in FIRST]
