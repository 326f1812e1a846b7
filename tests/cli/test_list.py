"""`scope list`, `describe`, `build` and `doctor`: what is here, for people and for programs."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

import pytest

from hpcscope.build import native, registry
from hpcscope.cli import dispatch
from hpcscope.engine.catalogs import UNKNOWN
from tests.cli.scope_command import answered, scope
from tests.messages import mentions

MPI = ["--mpi", "embedded"]


def test_list_names_every_benchmark_that_is_specified(tmp_path: Path) -> None:
    listed = json.loads(answered(tmp_path, "list", "--json", *MPI).output)
    assert {tuple(each) for each in listed} == {("name", "level", "module", "available", "reason", "summary")}
    folder = native.source_directory() / "src" / "benchmarks"
    specified = {f"{path.parent.name}.{path.stem}" for path in folder.rglob("*.md")}
    assert {each["name"] for each in listed} == specified
    for each in listed:
        assert each["level"] == each["name"].split(".")[0]
        assert each["summary"]
        assert each["available"] is (None if each["reason"] == UNKNOWN else not each["reason"])


def test_list_is_narrowed_by_pattern_and_module(tmp_path: Path) -> None:
    names = [
        each["name"] for each in json.loads(answered(tmp_path, "list", "mpi.b*", "node", "--json", *MPI).output)
    ]
    assert "mpi.barrier" in names
    assert "node.timer" in names
    assert "mpi.latency" not in names
    assert mentions(
        answered(tmp_path, "list", "--module", "base").refusal(), "--module base: ... baseline, standard"
    )


def test_list_is_readable_when_piped(tmp_path: Path) -> None:
    output = scope(tmp_path, "list", *MPI).output
    assert "\x1b" not in output
    assert any(line.startswith("mpi.latency ") and "baseline" in line for line in output.splitlines())


def test_a_pipe_is_as_wide_as_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    whole = answered(tmp_path, "list", "mpi", *MPI).output
    monkeypatch.setenv("COLUMNS", "60")
    *table, _ = answered(tmp_path, "list", "mpi", *MPI).output.splitlines()
    assert max(map(len, table)) <= 60
    assert "mpi.latency" in "\n".join(table)
    assert {word for line in table for word in line.split()} <= set(whole.split())


def test_every_benchmark_is_described(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The program gives the same list every time; finding and asking it takes most of a description's time.
    for module, name in ((native, "kept"), (native, "build"), (registry, "load")):
        monkeypatch.setattr(module, name, cache(getattr(module, name)))
    for each in json.loads(answered(tmp_path, "list", "--json", *MPI).output):
        # Within this process: a hundred interpreters would take half a minute to start.
        assert dispatch("describe", [each["name"], "--json", *MPI]) == 0
        described = json.loads(capsys.readouterr().out)
        assert described["name"] == each["name"]
        for word in ("Objective", "Timing procedure", "Metrics", "Rules"):
            assert word in described["specification_text"]
        assert all(parameter["meaning"] for parameter in described["parameters"])


def test_nothing_is_compiled_to_list_describe_or_show(
    tmp_path: Path, golden_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In an empty cache, and with flags with which every compilation fails."""
    with_build = answered(tmp_path, "list", "--json", *MPI).output
    monkeypatch.setenv("CXXFLAGS", "-fno-such-flag")
    monkeypatch.setenv("SCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "300")
    kept = {each["name"]: each for each in json.loads(answered(tmp_path, "list", "--json", *MPI).output)}
    assert kept.keys() == {each["name"] for each in json.loads(with_build)}
    assert (kept["node.lapack"]["available"], kept["node.lapack"]["reason"]) == (None, UNKNOWN)
    assert kept["mpi.latency"]["available"] is True
    assert mentions(answered(tmp_path, "list", "node.lapack", *MPI).output, f"(availability: {UNKNOWN})")
    assert mentions(answered(tmp_path, "describe", "node.lapack", *MPI).output, f"Availability: {UNKNOWN}")
    assert answered(tmp_path, "show", str(golden_run)).code == 0
    assert scope(tmp_path, "list", *MPI).code == 0
    assert not list(tmp_path.glob("cache/objects/*"))


def test_a_description_tells_parameters_figures_and_sweeps(tmp_path: Path) -> None:
    answer = scope(tmp_path, "describe", "mpi.latency", *MPI)
    assert answer.code == 0
    assert "\x1b" not in answer.output
    assert max(map(len, answer.output.splitlines())) <= 100
    for word in ("synchronous", "message_bytes", "latency_s", "half round trip", "baseline"):
        assert word in answer.output


def test_an_unknown_benchmark_is_not_described(tmp_path: Path) -> None:
    for asked, near in (
        ("mpi.latenzy", "mpi.latency or network.latency? ... scope list"),
        ("bcast", "mpi.broadcast or operation.broadcast? ... scope list"),
        ("nosuch", "nosuch ... scope list"),
    ):
        assert mentions(answered(tmp_path, "describe", asked, *MPI).refusal(), near)


def test_build_tells_where_the_program_is(tmp_path: Path) -> None:
    built = json.loads(scope(tmp_path, "build", "--json", *MPI).output)
    assert os.access(built["program"], os.X_OK)
    assert built["mpi"]["name"] == "openmpi"
    assert built["fingerprint"] in built["program"]
    assert built["program"] in answered(tmp_path, "build", *MPI).output


def test_a_build_that_fails_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-fno-such-flag")
    monkeypatch.setenv("SCOPE_CACHE", str(tmp_path / "cache"))
    answer = scope(tmp_path, "build", *MPI)
    assert answer.code == 1
    problem = answer.errors.splitlines()[-1]
    assert problem.startswith("scope build: ")
    assert "no-such-flag" in problem
    assert Path(problem.rpartition("log: ")[2]).is_file()
    assert "Traceback" not in answer.errors


def test_the_doctor_finds_the_embedded_mpi_and_the_compiler(tmp_path: Path) -> None:
    answer = answered(tmp_path, "doctor", "--json")
    assert answer.code == 0
    checks = json.loads(answer.output)
    assert any(check["name"] == "openmpi" and "embedded" in check["found"] for check in checks)
    compiler = next(check for check in checks if check["name"] == "C++ compiler")
    assert compiler["ok"]
    assert compiler["needed"]
    assert all(check["advice"] for check in checks if not check["ok"])
    assert "C++ compiler" in answered(tmp_path, "doctor").output


def test_the_doctor_says_what_is_missing_to_measure_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    answer = scope(tmp_path, "doctor", "--json")
    assert answer.code == 1
    missing = {check["name"]: check["advice"] for check in json.loads(answer.output) if not check["ok"]}
    assert "apt-get install g++" in missing["C++ compiler"]
