"""Every command of the documents is one that its program takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hpcscope import cli
from tests.documents.commands import ROOT, Documented, documented
from tests.plan.test_hpl import EXAMPLE

TARGETS = re.compile(r"^([a-z-]+(?: [a-z-]+)*):", re.MULTILINE)
COMMANDS = documented()
FILES = {"hosts": "node1:16\nnode2 slots=16\n", "HPL.dat": EXAMPLE}
"""What is read before anything else."""


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.place)
def test_a_documented_command_is_accepted(
    command: Documented, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    program, *words = command.words
    if program == "make":
        targets = {name for line in TARGETS.findall((ROOT / "Makefile").read_text()) for name in line.split()}
        assert words[0] in targets
    elif program == "scope":
        _, own = cli.split_lab(words)
        monkeypatch.setattr("hpcscope.cli.lab.run_in_lab", lambda _lab, _words: None)
        assert cli.dispatch(own[0], own[1:], "none") == 0


def test_there_are_some() -> None:
    assert len(COMMANDS) > 150
