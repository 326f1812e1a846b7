"""Settings: one declaration gives every way to say a value, which is read alike everywhere."""

from __future__ import annotations

import inspect
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import hpcscope
from hpcscope.cli import answer, parser
from hpcscope.cli.grammar import commands
from hpcscope.cli.manual import page
from hpcscope.cli.settings import Given, takes
from hpcscope.errors import UsageError, WrongValueError
from hpcscope.plan.experiment import resolve
from hpcscope.settings.experiment import Experiment
from hpcscope.settings.kinds import Duration, Flag, Kind, Several, Share, Size, Whole
from hpcscope.settings.table import SettingsTable, declared, setting


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Duration(), "90", 90.0),
        (Duration(), "90s", 90.0),
        (Duration(), "5m", 300.0),
        (Duration(), "24h", 86400.0),
        (Duration(), "1.5d", 129600.0),
        (Duration(), "0.05", 0.05),
        (Share(), "2%", 0.02),
        (Share(), "2.3 %", 0.023),
        (Share(), "0.02", 0.02),
        (Size(), "16Mi", 1 << 24),
        (Size(), "16MiB", 1 << 24),
        (Whole(), "1Ki", 1024),
        (Several(Whole()), "1,2,4", (1, 2, 4)),
    ],
)
def test_values_are_read_as_people_type_them(kind: Kind, text: str, value: object) -> None:
    assert kind.typed(text) == value
    assert kind.read(kind.plain(value)) == value
    assert kind.typed(kind.words(value)) == value


@pytest.mark.parametrize(
    ("kind", "text", "allowed"),
    [
        (Duration(3600), "0", "must be a time above 0s and at most 1h, such as 90, 90s, 5m or 24h"),
        (Duration(60, least=0), "61", "must be a time from 0s to 1m, such as"),
        (Duration(), "soon", "must be a time above 0s, such as"),
        (Share(), "150%", "must be a fraction from 0% to 100%, such as 2% or 0.02"),
        (Size(1 << 16, 1 << 20), "1", "must be a size from 64Ki to 1Mi, such as"),
        (Whole(1, 9), "ten", "must be an integer from 1 to 9"),
        (Whole(1, 9), "2.0", "must be an integer from 1 to 9"),
        (Several(Whole(1, 9)), "1,ten", "ten: must be an integer from 1 to 9"),
    ],
)
def test_a_wrong_value_says_what_is_allowed(kind: Kind, text: str, allowed: str) -> None:
    with pytest.raises(ValueError, match=r"^" + allowed.replace(".", r"\.")):
        kind.typed(text)


def test_files_say_times_and_shares_as_the_command_line_does(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text('time_s = "5m"\n[sampling]\nprecision = "2%"\n[launcher]\nhosts = "a:2,b"\n')
    asked = resolve(tmp_path / "e.toml", {})
    assert (asked.time_s, asked.sampling.precision) == (300.0, 0.02)
    assert list(map(str, asked.launcher.hosts)) == ["a:2", "b"]


@dataclass(frozen=True)
class Inner(SettingsTable):
    """A table in a table."""

    size_bytes: int = setting(4096, Size(), "How large.", "Further")


@dataclass(frozen=True)
class Outer(SettingsTable):
    """A table."""

    time_s: float | None = setting(None, Duration(3600), "How long.")
    quick: bool = setting(False, Flag(), "Whether it is quick.")
    inner: Inner = Inner()


def test_a_field_is_all_that_an_option_needs() -> None:
    seen: list[dict[str, Any]] = []

    @takes(given=declared(Outer))
    def command(*, given: Given, plain: bool = False) -> None:
        """Do it."""
        seen.append(given)

    program = typer.Typer()
    program.command()(command)
    assert CliRunner().invoke(program, ["--time", "5m", "--quick", "--size", "1Ki"]).exit_code == 0
    assert CliRunner().invoke(program, []).exit_code == 0
    assert seen == [{"time_s": 300.0, "quick": True, "inner.size_bytes": 1024}, {}]
    told = CliRunner().invoke(program, ["--size", "many"]).exception
    assert isinstance(told, UsageError)
    assert str(told).startswith("--size many: must be a size of at least 0, such as")
    helped = CliRunner().invoke(program, ["--help"], env={"COLUMNS": "120"}).output
    assert "How large; default: 4Ki." in helped
    assert Outer.read({"inner": {"size_bytes": "1Ki"}}).plain() == {"quick": False, "inner": {"size_bytes": 1024}}
    with pytest.raises(WrongValueError, match=r"unknown key; allowed here: size_bytes; did you mean size_bytes\?"):
        Outer.read({"inner": {"size_byte": 1}})


def test_every_setting_of_an_experiment_is_an_option_a_key_and_stands_in_the_manual() -> None:
    (run,) = [each for each in commands() if each.name == "run"]
    manual = page()
    for each in declared(Experiment):
        if each.key != "only":
            assert f"--{each.option}" in run.spellings
            assert each.option.replace("-", r"\-") in manual
        assert resolve(None, {each.key: each.default}) == Experiment()


def test_options_say_no_type_twice_and_no_name_twice() -> None:
    for name in ("run", "soak", "placement", "campaign", "reproduce", "compare"):
        names = [parameter.name for parameter in parser(name).params]
        assert len(set(names)) == len(names)
    assert (
        "given" not in inspect.signature(__import__("hpcscope.cli.run", fromlist=["command"]).command).parameters
    )


def test_a_typo_in_hosts_fails_before_anything_is_looked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["run", "--hosts", "a;b", "--mpi", "nowhere"]) == 2
    assert capsys.readouterr().err == (
        "scope run: --hosts a;b: must be a host's name, or name:slots with at least one slot\n"
    )


def test_keywords_of_the_python_api_are_the_options() -> None:
    with pytest.raises(UsageError, match=r"^lunches: must be one of .*; did you mean launches\?"):
        hpcscope.run(lunches=3)
    with pytest.raises(UsageError, match=r"^launches = 0: must be an integer from 1 to 1000"):
        hpcscope.run(launches=0)
    with pytest.raises(UsageError, match=r'^time_s = "soon": must be a time'):
        hpcscope.run(time="soon")


def test_declarations_need_the_standard_library_only() -> None:
    rooms = [f"hpcscope.settings.{path.stem}" for path in Path("hpcscope/settings").glob("[a-z]*.py")]
    script = (
        f"import sys, {', '.join(rooms)}; print([m for m in ('pydantic', 'typer', 'numpy') if m in sys.modules])"
    )
    answered = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert answered.stdout.strip() == "[]"
