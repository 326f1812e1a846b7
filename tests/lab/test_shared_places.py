"""Labs on a machine with other users, several commands at once, damaged files, and requests to stop."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from hpcscope.errors import ScopeError
from hpcscope.lab import emulation, folder
from tests.cli.scope_command import SCOPE, answered, scope, start
from tests.messages import mentions
from tests.patience import PATIENCE_S, until

PAIR = '[[group]]\nname = "a"\nhosts = 2\nrate_mbit_per_s = 50\n'


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that all users share, where this user's labs are made; they end with the test."""
    if reason := emulation.refusal():
        pytest.skip(reason)
    place = tmp_path / "shared"
    place.mkdir()
    place.chmod(0o1777)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(place))
    yield place
    with suppress(ScopeError):
        for name in folder.names():
            folder.end_holders(name)


def test_a_lab_of_another_user_is_not_entered(shared: Path, tmp_path: Path) -> None:
    """Somebody else made the folder first, with a shell of his own in place of the holder."""
    planted = shared / f"scope-labs-{os.getuid()}" / "pair"
    planted.mkdir(parents=True)
    planted.parent.chmod(0o777)
    victim = subprocess.Popen(["sleep", "600"])
    try:
        (planted / "state.json").write_text(json.dumps({"name": "pair", "holder": victim.pid}))
        for words in (["exec", "pair", "a1", "--", "id"], ["down", "pair"], ["down", "--all"], ["list"]):
            answer = answered(tmp_path, "lab", *words)
            assert answer.code == 1, answer
            assert "mode 0777" in answer.errors
            assert (answer.output, answer.errors.count("\n")) == ("", 1)
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()


@pytest.mark.parametrize("file", ["..toml", "...toml", ".toml", "-x.toml"])
def test_names_that_lead_elsewhere_are_refused(file: str, shared: Path, tmp_path: Path) -> None:
    (tmp_path / file).write_text(PAIR)
    kept = folder.make("kept")
    (kept / "file").write_text("")
    for words in (["up"], ["down"], ["status"]):
        refused = answered(tmp_path, "lab", *words, f"./{file}").refusal()
        assert mentions(refused, f"./{file}: ... lab = ")
    assert (kept / "file").exists()


def test_of_many_at_once_one_brings_the_lab_up(shared: Path, tmp_path: Path) -> None:
    (tmp_path / "pair.toml").write_text(PAIR)
    many = [start(tmp_path, "lab", "up", "pair.toml", "--no-check") for _ in range(4)]
    said = [each.communicate(timeout=PATIENCE_S)[1] for each in many]
    assert sorted(each.returncode for each in many) == [0, 2, 2, 2], said
    assert sum(mentions(each, "lab pair is up already; ... scope lab down pair") for each in said) == 3
    assert len(folder.holders("pair")) == 2, "one holder below one unshare"
    assert scope(tmp_path, "lab", "down", "pair").code == 0
    assert (folder.holders("pair"), folder.names()) == ([], [])


def test_a_damaged_state_is_said_and_can_be_ended(shared: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.toml").write_text(PAIR)
        assert scope(tmp_path, "lab", "up", f"{name}.toml", "--no-check").code == 0
    (folder.folder_of("one") / folder.STATE).write_text('{"name": "on')
    listed = {row["name"]: row for row in json.loads(answered(tmp_path, "lab", "list", "--json").output)}
    assert "not JSON" in listed["one"]["title"]
    assert "scope lab down one" in listed["one"]["title"]
    assert listed["two"]["up"]
    assert "scope lab down one" in answered(tmp_path, "lab", "exec", "one", "a1", "--", "id").refusal()
    assert scope(tmp_path, "lab", "down", "--all").code == 0
    assert (folder.holders("one"), folder.holders("two"), folder.names()) == ([], [], [])


def test_a_process_with_the_number_of_a_dead_holder_is_left_alone(shared: Path, tmp_path: Path) -> None:
    (tmp_path / "pair.toml").write_text(PAIR)
    assert scope(tmp_path, "lab", "up", "pair.toml", "--no-check").code == 0
    state = folder.state("pair")
    assert state is not None
    kept = (folder.folder_of("pair") / folder.STATE).read_text()
    folder.end_holders("pair")
    other = subprocess.Popen(["sleep", "600"])
    try:
        forged = kept.replace(f'"holder": {state.holder}', f'"holder": {other.pid}')
        (folder.folder_of("pair") / folder.STATE).write_text(forged)
        for words in (["exec", "pair", "a1", "--", "id"], ["down", "pair"]):
            assert "lab pair" in answered(tmp_path, "lab", *words).refusal()
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


MARK = "600.0123"
"""The duration tells the command of this test from any other."""


def marked() -> bool:
    """Say whether the command inside runs."""
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdigit() and (process / "cmdline").read_bytes() == f"sleep\0{MARK}\0".encode():
                return True
    return False


def test_an_interrupt_reaches_the_command_in_a_lab(shared: Path, tmp_path: Path) -> None:
    (tmp_path / "pair.toml").write_text(PAIR)
    assert scope(tmp_path, "lab", "up", "pair.toml", "--no-check").code == 0
    words = ["lab", "exec", "pair", "a1", "--", "sleep", MARK]
    without_terminal = start(tmp_path, *words)
    until(marked, "the command runs")
    without_terminal.send_signal(signal.SIGINT)
    without_terminal.communicate(timeout=PATIENCE_S)
    assert without_terminal.returncode == 128 + signal.SIGINT
    until(lambda: not marked(), "the command has ended")
    # Ctrl-C at a terminal.
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execv("/usr/bin/env", ["env", "--default-signal=INT", str(SCOPE), *words])
    until(marked, "the command runs")
    os.write(terminal, b"\x03")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGINT
    until(lambda: not marked(), "the command has ended")
