"""Verdicts for schedulers and monitoring, with names that mean harm, and commands that drain nodes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hpcscope.cli import dispatch
from hpcscope.engine import health as engine
from hpcscope.exchange.health import FORMATS, drain_commands, written
from hpcscope.health.records import HealthFile
from hpcscope.health.verdict import judge
from hpcscope.rundirectory import RunDirectory, write_json
from tests.health.recorded_fleet import on, record, slower

HOSTILE = 'n1"},\n<x>&\x1b[31m$(touch x)'
GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "health.md"


def fleet(dead: str = "n5") -> HealthFile:
    """Twelve nodes: n3 is slow, another one dead; the name of the first means harm."""
    made = record(change=slower(1.9, "arithmetic", {"n3"}))
    error = f"ssh: {HOSTILE} `id`; echo $HOME | sh"
    gone = on(dead, error=error, values=[], facts={}, before={}, after={})
    visits = [gone(visit) for visit in made.visits]
    return made.model_copy(update={"visits": visits})


def renamed(made: HealthFile, host: str, name: str) -> HealthFile:
    visits = [visit.model_copy(update={"host": name}) if visit.host == host else visit for visit in made.visits]
    return made.model_copy(
        update={"hosts": [name if one == host else one for one in made.hosts], "visits": visits}
    )


def in_format(name: str, made: HealthFile) -> str:
    return written(name, made, judge(made))


def test_junit() -> None:
    root = ElementTree.fromstring(in_format("junit", renamed(fleet(), "n1", HOSTILE)))
    (suite,) = root
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("12", "1", "1")
    by_name = {case.get("name"): case for case in suite}
    failure = by_name["n3"].find("failure")
    assert failure is not None
    assert (failure.get("message") or "").startswith("arithmetic of all cores")
    assert by_name["n5"].find("error") is not None
    assert HOSTILE.replace("\n", "").replace("\x1b", "") in [(name or "").replace("\n", "") for name in by_name]


def test_openmetrics() -> None:
    text = in_format("openmetrics", renamed(fleet(), "n1", HOSTILE))
    label = r'[a-z]+="(?:[^"\\\n]|\\.)*"'
    assert text.endswith("# EOF\n")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(rf"[a-z_]+(?:\{{{label}(?:,{label})*\}})? [-+.e\d]+", line) for line in lines), lines
    assert 'scope_health_verdict{node="n3",verdict="bad"} 1' in lines
    assert 'scope_health_verdict{node="n3",verdict="healthy"} 0' in lines
    assert sum(line.startswith("scope_health_arithmetic_flops_per_second{") for line in lines) == 11
    assert "\x1b" not in text


def test_node_health_check() -> None:
    lines = in_format("nhc", renamed(fleet(), "n3", HOSTILE)).splitlines()
    assert len(lines) == 2
    assert all(line.startswith("ERROR:  nhc:  Health check failed:  scope health:  ") for line in lines)
    assert in_format("nhc", record()) == ""


def test_commands_that_drain_hold_no_second_command() -> None:
    template = "scontrol update nodename={node} state=drain 'reason={reason}'"
    commands = drain_commands(shlex.split(template), judge(fleet()))
    assert [words[2] for words in commands] == ["nodename=n3", "nodename=n5"]
    assert all(len(words) == 5 for words in commands)
    assert commands[0][4].startswith("reason=scope health: bad, arithmetic of all cores")
    assert not set("$`;|&<>(){}\"'\n\x1b") & set(commands[1][4])
    assert shlex.split(shlex.join(commands[1])) == commands[1]


@pytest.mark.parametrize("name", ["n1,n2", "n[1-9]", "-x", "ALL state=resume", "{reason}"])
def test_a_name_that_could_be_several_is_not_drained(name: str) -> None:
    assert len(drain_commands(["drain", "{node}"], judge(renamed(fleet(), "n3", name)))) == 1


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Carries `scope health` out in an empty directory, on a fleet that was measured before."""
    monkeypatch.chdir(tmp_path)

    def run(made: HealthFile, *words: str) -> int:
        monkeypatch.setattr(engine, "check", lambda *_, **__: (RunDirectory(tmp_path), made))
        return dispatch("health", ["--hosts", "n[1-12]", *words])

    return run


def test_files_are_written_and_the_exit_code_tells(checked: Callable[..., int], tmp_path: Path) -> None:
    words = [word for name in FORMATS for word in ("--write", f"{name}:{name}.txt")]
    assert checked(fleet(), *words) == 1
    assert checked(record(), "--write", "openmetrics:good.prom") == 0
    for name in FORMATS:
        assert (tmp_path / f"{name}.txt").read_text() == in_format(name, fleet())
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "good.prom",
        *(f"{name}.txt" for name in sorted(FORMATS)),
    ]


def test_a_format_takes_the_place_of_the_table(
    checked: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert checked(fleet(), "--write", "nhc:-") == 1
    assert capsys.readouterr().out == in_format("nhc", fleet())


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--write", "xml:a"], "--write xml:a: must be FORMAT:FILE"),
        (["--write", "junit:no/a.xml"], "no is not a directory"),
        (["--write", "junit:-", "--json"], "only one format"),
        (["--drain"], "--drain: needs --drain-command"),
        (["--drain-command", "true"], "with {node} in it"),
        (["--drain-command", "'{node}"], "No closing quotation"),
    ],
)
def test_what_is_refused_before_anything_is_measured(
    checked: Callable[..., int], words: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert checked(fleet(), *words) == 2
    assert error in capsys.readouterr().err


def test_draining_is_carried_out_only_when_asked_and_never_for_many(
    checked: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    template = ["--drain-command", "touch {node}.drained"]
    assert checked(fleet(), *template) == 1
    assert "touch n3.drained\ntouch n5.drained\n" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    many = record(change=slower(1.9, "arithmetic", {"n1", "n2", "n3", "n4"}))
    assert checked(many, *template, "--drain") == 1
    assert "4 of 12 nodes are too many" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    assert checked(fleet(), *template, "--drain") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["n3.drained", "n5.drained"]


def test_a_check_is_exported_later(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_json(tmp_path / "health.json", fleet())
    assert dispatch("export", ["nhc", str(tmp_path)]) == 0
    assert capsys.readouterr().out == in_format("nhc", fleet())
    assert dispatch("export", ["csv", str(tmp_path)]) == 2
    assert "one of junit, nhc, openmetrics" in capsys.readouterr().err


def test_a_check_is_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "checked").mkdir()
    write_json(tmp_path / "checked" / "health.json", fleet())
    assert dispatch("pack", ["checked"]) == 0
    assert dispatch("export", ["nhc", "checked.zip"]) == 0
    assert in_format("nhc", fleet()) in capsys.readouterr().out
