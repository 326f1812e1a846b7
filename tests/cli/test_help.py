"""Help: of all commands, and of one, with its options under headings."""

from __future__ import annotations

import importlib
import os
import pty
import re
import select
import shutil
import subprocess
from pathlib import Path

import pytest

from hpcscope.cli import BARE, COMMANDS, answer
from hpcscope.cli.grammar import commands
from tests.cli.scope_command import SCOPE
from tests.command_page import PAGE, page
from tests.patience import PATIENCE_S


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
    assert named == ["--module", "--case", "--time", "--hosts", "-o,", "--quick", "--resume", "--keep", "-h,"]
    assert not any("list[" in line for line in lines)


def test_subcommands_have_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--check / --no-check" in said(capsys, "help", "lab", "up")
    for name in importlib.import_module("hpcscope.cli.lab").COMMANDS:
        assert said(capsys, "lab", name, "-h").startswith(f"Usage: scope lab {name} ")


GROUPS = ("tune", "runs", "repository", "topology", "lab", "cache")
"""Commands with subcommands."""


@pytest.mark.parametrize("name", GROUPS)
def test_what_subcommands_do_is_said_in_whole_sentences(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = said(capsys, name, "--help").splitlines()
    said_of = dict(line.split(maxsplit=1) for line in lines[lines.index("Commands:") + 1 :])
    assert said_of.keys() == importlib.import_module(f"hpcscope.cli.{name}").COMMANDS.keys()
    assert all(text.endswith(".") and not text.endswith("...") for text in said_of.values()), said_of


@pytest.mark.parametrize("name", [name for name in GROUPS if name not in BARE])
def test_a_command_that_needs_a_subcommand_lists_them(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    listed = said(capsys, name, "--help")
    assert answer([name]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == listed


def test_usage_lines_are_as_in_manuals() -> None:
    usage = {words.name: words.usage.removeprefix(f"scope {words.name} [OPTIONS]").strip() for words in commands()}
    for line in usage.values():
        bare = re.sub(r"[A-Z_]+|\[|\]|\.\.\.|--| ", "", line)
        assert not bare, line
        assert not any(odd in line for odd in ("[[", "]]", "... ...", "......", "[ ")), line
    assert usage["history"] == "[BENCHMARK]..."
    assert usage["import"] == "[FORMAT] FILE..."
    assert usage["compare"] == "A B [C]..."
    assert usage["monitor"] == "-- COMMAND..."
    assert usage["soak"] == "[-- PROGRAM...]"
    assert usage["lab exec"] == "LAB HOST -- COMMAND..."
    assert usage["runs remove"] == "RUN..."
    assert usage["show"] == "RUN [PATTERN]..."


def test_a_default_is_said_once() -> None:
    for words in commands():
        for spelling, meaning in words.options:
            assert not re.search(r"default: [^;,]*\[default:", meaning), (words.name, spelling, meaning)


def completed(*words: str) -> list[str]:
    """Return what bash offers for the last of the words."""
    typed = " ".join(f"'{word}'" for word in words)
    script = (
        f"source <({SCOPE} completion bash); COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _scope;"
        ' printf "%s\n" "${COMPREPLY[@]}"'
    )
    answer = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    assert not answer.stderr
    return answer.stdout.split()


def test_bash_completes_commands_subcommands_options_and_values() -> None:
    assert completed("scope", "ru") == ["run", "runs"]
    assert completed("scope", "run", "--la") == ["--launches", "--launcher", "--launcher-argument"]
    assert completed("scope", "lab", "u") == ["up"]
    assert completed("scope", "runs", "prune", "--k") == ["--keep"]
    assert completed("scope", "run", "--binding", "") == ["core", "socket", "none"]
    assert completed("scope", "tune", "storage", "--direction", "w") == ["write"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_learn_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    script = said(capsys, "completion", shell)
    assert all(name in script for name in COMMANDS)
    assert "older" in script


LINES = {
    "scope unp": "scope unpack",
    "scope lab u": "scope lab up",
    "scope runs prune --k": "scope runs prune --keep",
}
"""What is typed before the tabulator, and the line after it."""


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish on this machine")
def test_fish_completes_commands_subcommands_and_options(tmp_path: Path) -> None:
    asked = "; ".join(f"complete -C '{typed}'" for typed in (*LINES, "scope run --la"))
    script = f"{SCOPE} completion fish | source; {asked}"
    answer = subprocess.run(
        ["fish", "--no-config", "-c", script],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert answer.stderr == ""
    offered = [line.split("\t")[0] for line in answer.stdout.splitlines()]
    options = ["--launcher", "--launcher-argument", "--launches"]
    assert offered == [*(line.split()[-1] for line in LINES.values()), *options]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh on this machine")
@pytest.mark.parametrize("installed", [False, True], ids=["sourced", "installed"])
def test_zsh_completes_commands_subcommands_and_options(tmp_path: Path, installed: bool) -> None:
    """An interactive shell gets the keys; it prints the completed line instead of carrying it out."""
    learn = f"autoload -U compinit && compinit -u -D && source <({SCOPE} completion zsh)"
    if installed:
        assert answer(["manual", "--install", str(tmp_path)]) == 0
        learn = f"fpath=({tmp_path}/share/zsh/site-functions $fpath); autoload -U compinit && compinit -u -D"
    keys = [
        f"{learn}; bindkey -e; PROMPT=; print -r ready\n",
        *(f"{typed}\t\x01print -r completed: \x05\n" for typed in LINES),
        "exit\n",
    ]
    leader, follower = pty.openpty()
    shell = subprocess.Popen(
        ["zsh", "-f", "-i"],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
        env={**os.environ, "HOME": str(tmp_path), "TERM": "dumb"},
    )
    os.close(follower)
    output = ""
    try:
        for number, key in enumerate(keys):
            os.write(leader, key.encode())
            while number < len(keys) - 1 and output.count("\nready") + output.count("\ncompleted:") <= number:
                assert select.select([leader], [], [], PATIENCE_S)[0], output
                output += os.read(leader, 4096).decode().replace("\r", "")
        assert shell.wait(PATIENCE_S) == 0
    finally:
        shell.kill()
        shell.wait()
        os.close(leader)
    found = [
        line.removeprefix("completed: ").strip() for line in output.splitlines() if line.startswith("completed:")
    ]
    assert found == list(LINES.values()), output


def test_a_page_and_completions_are_installed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["manual", "--install", str(tmp_path)]) == 0
    assert capsys.readouterr().err.count("written: ") == 4
    share = tmp_path / "share"
    assert (share / "man/man1/scope.1").read_text() == said(capsys, "manual")
    for shell, place in (
        ("bash", "bash-completion/completions/scope"),
        ("fish", "fish/vendor_completions.d/scope.fish"),
    ):
        assert (share / place).read_text() == said(capsys, "completion", shell)
    (tmp_path / "file").touch()
    assert answer(["manual", "--install", str(tmp_path / "file")]) == 2
    assert "--install" in capsys.readouterr().err


def test_the_manual_page_has_every_command_and_option(capsys: pytest.CaptureFixture[str]) -> None:
    page = said(capsys, "manual")
    plain = page.replace("\\-", "-")
    for words in commands():
        assert f".SS scope {words.name}\n" in plain
        assert all(f".B {spelling}" in plain for spelling, _ in words.options)
    assert all(letter == "\n" or letter.isprintable() for letter in page)
    requests = {line.split()[0] for line in page.splitlines() if line.startswith((".", "'"))}
    assert requests <= {".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".I", ".nf", ".fi"}


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_on_a_screen_and_all_of_it_can_be_had(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(said(capsys, name, "--help").splitlines()) <= 60
    text = "".join(said(capsys, name, "--help-all").split())
    options = [option for words in commands() if words.name == name for option, _ in words.options]
    assert all(option.split()[0].rstrip(",") in text for option in options)


def test_the_page_of_commands_is_as_the_program() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "renew it: python -m tests.command_page"
