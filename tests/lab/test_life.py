"""Labs come up, are entered, and leave nothing: taken down, killed, refused, without rights."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hpcscope.engine import lab as labs
from hpcscope.lab import emulation, folder
from hpcscope.lab.description import Lab
from hpcscope.lab.entry import Emulation
from tests.cli.scope_command import SCOPE, Answer, answered, scope, start
from tests.lab.small_lab import WITHOUT_RIGHTS, refuse_without_namespaces
from tests.messages import mentions
from tests.patience import PATIENCE_S, until


def test_a_lab_ends_with_the_process_that_holds_it(tmp_path: Path) -> None:
    refuse_without_namespaces()
    script = (
        "import sys, time; from pathlib import Path; from hpcscope.lab import emulation, description\n"
        "with emulation.temporary('held', description.Lab.model_validate_json(sys.argv[1])) as lab:\n"
        "    lab.started('a1', ['sleep', '3600'])\n"
        "    print(lab.state.holder, lab.state.name, flush=True); time.sleep(3600)"
    )
    group = {"name": "a", "hosts": 2, "rate_mbit_per_s": 50}
    holder = subprocess.Popen(
        [sys.executable, "-c", script, Lab.model_validate({"group": [group]}).model_dump_json()],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    outside, name = holder.stdout.readline().split()
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    until(lambda: not Path(f"/proc/{outside}").exists(), "the kernel ends everything inside with it")
    assert folder.folder_of(name).exists()
    assert emulation.find(name) is None
    assert not folder.folder_of(name).exists(), "what a dead lab left is removed"


def test_up_is_used_and_down_leaves_nothing(tmp_path: Path) -> None:
    refuse_without_namespaces()
    file = tmp_path / f"t{os.getpid()}.toml"
    file.write_text('[[group]]\nname = "a"\nhosts = 2\nrate_mbit_per_s = 50\n')
    up = scope(tmp_path, "lab", "up", str(file), "--no-check")
    assert up.code == 0, up
    try:
        twice = answered(tmp_path, "lab", "up", str(file)).refusal()
        assert mentions(twice, f"lab {file.stem} is up already; ... scope lab down {file.stem}")
        listed = json.loads(answered(tmp_path, "lab", "list", "--json").output)
        assert {"name": file.stem, "title": "", "hosts": 2, "up": True} in listed
        inside = scope(tmp_path, "lab", "exec", str(file), "a2", "--", "sh", "-c", "hostname; exit 7")
        assert (inside.output, inside.code) == ("a2\n", 7)
        temporary = scope(tmp_path, "lab", "exec", str(file), "a2", "--", "mktemp").output
        assert Path(temporary.strip()).is_relative_to(folder.folder_of(file.stem)), "gone with the lab"
        ended = start(tmp_path, "lab", "exec", str(file), "a2", "--", "sh", "-c", "echo ready; exec sleep 60")
        assert ended.stdout is not None
        assert ended.stdout.readline() == "ready\n"
        ended.terminate()
        said = ended.communicate(timeout=PATIENCE_S)[1]
        assert (ended.returncode, said) == (128 + signal.SIGTERM, ""), "a request to end reaches the command"
        holder = json.loads(answered(tmp_path, "lab", "status", str(file), "--json").output)["holder"]
        assert (
            "--slow, --stop" in answered(tmp_path, "lab", "fault", str(file), "--trunk", "x", "--stop").refusal()
        )
        faultless = answered(tmp_path, "lab", "fault", str(file), "--host", "a1").refusal()
        assert mentions(faultless, "--loss, ... --half-duplex, ... --slow"), "exactly one of them"
    finally:
        down = scope(tmp_path, "lab", "down", str(file))
    assert (down.code, down.output, down.errors) == (0, "", "")
    assert not Path(f"/proc/{holder}").exists()
    assert not folder.folder_of(file.stem).exists()
    assert "scope lab list" in answered(tmp_path, "lab", "down", str(file)).refusal()


def test_a_request_to_end_that_comes_with_the_start_reaches_the_command(
    small: Emulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested: list[int] = []

    class Interrupted(subprocess.Popen[bytes]):
        """A command whose starter is asked to end before it knows that the command runs."""

        def __init__(self, *words: Any, **options: Any) -> None:
            super().__init__(*words, **options)
            requested.append(signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("hpcscope.engine.lab.subprocess.Popen", Interrupted)
    before = signal.signal(signal.SIGTERM, lambda number, _frame: requested.append(-number))
    try:
        assert labs.run_on_host(small, "a1", ["sleep", "60"]) == 128 + signal.SIGTERM
    finally:
        signal.signal(signal.SIGTERM, before)
    assert requested == [signal.SIGTERM], "answered by the command alone"


def test_ctrl_c_of_a_terminal_is_not_ignored_by_the_command(
    small: Emulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hpcscope.engine.lab.os.isatty", lambda _file: True)
    assert labs.run_on_host(small, "a1", ["sh", "-c", "kill -INT $$; exit 3"]) == 128 + signal.SIGINT


def test_what_is_missing_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "pair.toml"
    file.write_text('[[group]]\nname = "a"\nhosts = 2\nrate_mbit_per_s = 50\n')
    monkeypatch.setenv("PATH", "/nowhere")
    missing = answered(tmp_path, "lab", "up", str(file)).refusal()
    assert missing.startswith("scope lab: ip: ")
    assert "iproute2" in missing
    # As where the kernel allows nobody a namespace.
    (tmp_path / "unshare").write_text(
        "#!/bin/sh\necho 'unshare: unshare failed: Operation not permitted' >&2\nexit 1\n"
    )
    (tmp_path / "unshare").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/sbin:/usr/bin:/sbin:/bin")
    refused = answered(tmp_path, "lab", "up", str(file)).refusal()
    assert refused.startswith("scope lab: namespaces")
    assert refused.endswith("unshare: unshare failed: Operation not permitted"), "the kernel's own words"
    assert not folder.folder_of("pair").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "--launches", "0"], "scope run: --launches 0: must be "),
        (["run", "--lunches", "3"], "No such option: --lunches"),
        (["topology", "discvr"], "No such command 'discvr'"),
        (["rnu"], "unknown command rnu"),
        (["run", "e.toml"], "scope run: e.toml: launches = 0: must be "),
    ],
)
def test_a_command_that_is_refused_starts_no_lab(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(labs, "present", None)  # what would bring it up
    (tmp_path / "e.toml").write_text("launches = 0\n")
    answer = answered(tmp_path, "--lab", "gamma", *words)
    assert (answer.code, answer.output) == (2, "")
    assert said in answer.errors


def test_without_rights_a_user_namespace_holds_the_lab(tmp_path: Path) -> None:
    refuse_without_namespaces()
    rights = WITHOUT_RIGHTS if os.geteuid() == 0 else []
    file = tmp_path / f"u{os.getpid()}.toml"
    file.write_text('[[group]]\nname = "a"\nhosts = 2\nrate_mbit_per_s = 50\n')

    def lab(*words: str) -> Answer:
        command = [*rights, str(SCOPE), "lab", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S)
        return Answer(done.returncode, done.stdout, done.stderr)

    up = lab("up", str(file))
    assert up.code in (0, 1), up  # 1: the check found a busy machine
    try:
        assert "measured  ports of a: " in up.output
        assert json.loads(lab("status", str(file), "--json").output)["rootless"]
        assert lab("exec", str(file), "a2", "--", "sh", "-c", "hostname; ip link show eth1 >&2").output == "a2\n"
    finally:
        assert lab("down", str(file)).code == 0
    assert not folder.folder_of(file.stem).exists()


def test_a_lab_is_refused_where_its_links_cannot_be_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    refuse_without_namespaces()
    monkeypatch.setattr(emulation, "TUN", str(tmp_path / "tun"))
    assert emulation.refusal().startswith(f"{tmp_path / 'tun'}: cannot be opened")
