"""Help: of all commands, and of one, with its options under headings."""

from __future__ import annotations

import importlib

import pytest

from scope.cli import COMMANDS, answer


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert answer(list(words)) == 0
    printed = capsys.readouterr()
    assert not printed.err
    return str(printed.out)


def test_every_command_stands_in_the_list_and_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    listed = said(capsys, "help")
    for name, summary in COMMANDS.items():
        assert f"{name} " in listed
        assert summary in listed
        assert said(capsys, "help", name).startswith(f"Usage: scope {name} ")


@pytest.mark.parametrize("words", [["run", "-h"], ["run", "--help"], ["help", "run"]])
def test_what_most_need_comes_first(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, *words).splitlines()
    headings = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert headings[:4] == ["Arguments:", "Options:", "Measurement procedure:", "MPI and hosts:"]
    first = lines[lines.index("Options:") + 1 : lines.index("Measurement procedure:")]
    named = [line.split()[0] for line in first if line.startswith("  -")]
    assert named == ["--module", "--case", "--time", "--hosts", "-o,", "--resume", "-h,"]
    assert not any("list[" in line for line in lines)


def test_subcommands_have_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--check / --no-check" in said(capsys, "help", "lab", "up")
    for name in importlib.import_module("scope.cli.lab").COMMANDS:
        assert said(capsys, "lab", name, "-h").startswith(f"Usage: scope lab {name} ")
