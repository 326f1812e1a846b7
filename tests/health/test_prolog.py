"""A check before a job: it never keeps a node for long, and compares it with a reference alone."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from hpcscope.build import prebuilt
from hpcscope.cli import dispatch, time_limit
from hpcscope.cli import health as command
from hpcscope.engine import health as engine
from hpcscope.errors import ScopeError, UsageError
from hpcscope.health import site_file
from hpcscope.health.program import NAME, program
from hpcscope.health.records import HealthFile
from hpcscope.health.verdict import BAD, SUSPECT, judge, references
from tests.health.recorded_fleet import FACTS, on, record, slower
from tests.health.test_verdict import evidence, verdicts
from tests.patience import PATIENCE_S

SITE = """
[[node]]
processor = "P"
memory_bandwidth = 2e10
arithmetic = 4e11
governor = "performance"
[[node]]
processor = "Q"
arithmetic = 9e11
"""


def forever(_end_s: float) -> int:
    print("half of the answ", end="", flush=True)
    signal.pause()
    return 1


def test_work_that_hangs_is_left(capfd: pytest.CaptureFixture[str]) -> None:
    assert time_limit.within(0.0, "healthy: not decided", forever) == 0
    assert capfd.readouterr().out == "healthy: not decided within 0 s\n"


@pytest.mark.parametrize("code", [0, 1])
def test_work_that_ends_says_what_it_found(code: int, capfd: pytest.CaptureFixture[str]) -> None:
    age_s = time_limit._age_s()
    assert time_limit.within(age_s + PATIENCE_S, "", lambda _end_s: print("it is bad") or code) == code  # type: ignore[func-returns-value]
    assert capfd.readouterr().out == "it is bad\n"


def test_work_that_dies_decides_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    def dies(_end_s: float) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return 1

    assert time_limit.within(time_limit._age_s() + PATIENCE_S, "healthy: not decided", dies) == 0
    assert capfd.readouterr().out == "healthy: not decided\n"


def test_a_file_of_the_site_is_a_reference(tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text(SITE)
    known = engine.references(tmp_path / "site.toml")
    assert verdicts(judge(record(), known)) == {}
    made = record(change=slower(1.5, "arithmetic", {f"n{number}" for number in range(1, 13)}))
    health = judge(made, known)
    assert set(verdicts(health).values()) == {BAD}
    assert "arithmetic of all cores 267 Gflop/s, the reference 400 Gflop/s" in evidence(health, "n1")


def test_facts_are_compared_with_the_reference_also_where_all_nodes_are_alike(tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text(SITE)
    changed = {**FACTS, "governor": "powersave"}
    made = record(change=lambda visit: visit.model_copy(update={"facts": changed}))
    for known in (site_file.read(tmp_path / "site.toml"), references(record())):
        health = judge(made, known)
        assert set(verdicts(health).values()) == {SUSPECT}
        assert evidence(health, "n1") == "governor is powersave; the reference: performance"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("node = 3", "must have tables [[node]]"),
        ("[[node]]\narithmetic = true", "arithmetic = true: must be a number above 0, in flop/s"),
        ("[[node]]\narithmetic = -1", "arithmetic = -1: must be a number above 0"),
        ("[[node]]\nundisturbed = inf", "must be a number above 0, in fractions of 1"),
        ("[[node]]\nproccessor = 'P'", "proccessor: unknown key; must be one of architecture, processor"),
        ("[[node]]\ngovernor = 3", "governor = 3: must be a text"),
    ],
)
def test_wrong_files_of_a_site(text: str, error: str, tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text(text)
    with pytest.raises(UsageError, match=r"site\.toml: ") as refused:
        site_file.read(tmp_path / "site.toml")
    assert error in str(refused.value)


def one(made: HealthFile) -> HealthFile:
    """The first node alone, as a prolog visits it."""
    visits = [visit for visit in made.visits if visit.host == "n1" and visit.stage == 1]
    return made.model_copy(update={"hosts": ["n1"], "visits": visits})


@pytest.fixture
def prolog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[HealthFile], int]:
    """Carries `scope health --prolog` out on a host that was measured before; healthy nodes are the reference."""
    (tmp_path / "health.json").write_text(record().model_dump_json())
    monkeypatch.setattr(command, "PROLOG_S", time_limit._age_s() + PATIENCE_S)

    def run(made: HealthFile) -> int:
        monkeypatch.setattr(engine, "of_this_host", lambda *_: made)
        return dispatch("health", ["--prolog", "--reference", str(tmp_path / "health.json")])

    return run


@pytest.mark.parametrize(
    ("made", "code", "says"),
    [
        (one(record()), 0, "healthy: 6 measurements\n"),
        (one(record(change=slower(2, "arithmetic", {"n1"}))), 1, "bad: arithmetic of all cores"),
        (
            one(record(change=on("n1", facts={**FACTS, "governor": "x\x1b[2J"}))),
            0,
            "suspect: governor is x\\x1b[2J;",
        ),
        (one(record(change=on("n1", facts={**FACTS, "processor": "Q"}))), 0, "not decided: no reference of this"),
        (one(record(change=on("n1", error="disk full"))), 0, "not decided: disk full"),
    ],
)
def test_one_line_and_the_exit_code(
    prolog: Callable[[HealthFile], int], made: HealthFile, code: int, says: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert prolog(made) == code
    line = capfd.readouterr().out
    assert line.count("\n") == 1
    assert says in line


def test_a_reference_that_cannot_be_read_keeps_no_node(capfd: pytest.CaptureFixture[str]) -> None:
    # Such as on a file system that is down.
    assert dispatch("health", ["--prolog", "--reference", "nowhere"]) == 0
    assert capfd.readouterr().out.startswith("healthy: not decided")


def test_the_program_of_a_wheel_is_taken_unless_own_flags_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(prebuilt, "_here", lambda: tmp_path)
    monkeypatch.delenv("CXXFLAGS", raising=False)
    (tmp_path / NAME).write_text("static")
    assert program(compile_it=False) == tmp_path / NAME
    monkeypatch.setenv("CXXFLAGS", "-O3")
    with pytest.raises(ScopeError, match="is not compiled yet"):
        program(compile_it=False)


def test_nothing_is_compiled_before_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hpcscope.settings.health import HealthSettings

    monkeypatch.setenv("SCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(ScopeError, match="is not compiled yet; run `scope health` once"):
        engine.of_this_host(HealthSettings(), {}, 0.0)
