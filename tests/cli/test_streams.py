"""A measurement ends and is recorded whatever becomes of its output, and no output is lost in silence."""

from __future__ import annotations

import errno
import json
import resource
import shutil
import subprocess
from pathlib import Path

import pytest

from hpcscope.cli import before_nothing, explained
from tests.cli.scope_command import BRIEF, SCOPE, Answer, answered, cases, planned, scope
from tests.messages import mentions
from tests.patience import PATIENCE_S

SMALL = ["run", "--case", "node.timer", "--case", "node.memory_copy array_bytes=4096,65536", *BRIEF, "-o", "run"]


def in_shell(folder: Path, script: str, *words: str) -> Answer:
    """Run a script of bash in which "$@" is a command of scope; what its last pipe prints is its output."""
    done = subprocess.run(
        ["bash", "-c", script, "bash", str(SCOPE), *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    "script",
    [
        '"$@" 2>&1 | head -c 1 >/dev/null; exit ${PIPESTATUS[0]}',
        '"$@" >/dev/full 2>/dev/full',
        '"$@" <&- >&- 2>&-',
        'LC_ALL=C PYTHONUTF8=0 PYTHONIOENCODING=ascii "$@" >/dev/null',
    ],
    ids=["reader gone", "disk full", "closed", "ascii"],
)
def test_a_run_ends_whatever_becomes_of_its_output(script: str, tmp_path: Path) -> None:
    answer = in_shell(tmp_path, script, *SMALL, "--launches", "1")
    assert answer.code == 0, answer
    assert "Traceback" not in answer.errors
    assert cases(tmp_path / "run") == planned(tmp_path / "run")
    assert json.loads((tmp_path / "run" / "run.json").read_text())["status"] == "finished"


def test_output_that_a_full_disk_swallowed_is_an_error(tmp_path: Path) -> None:
    lost = in_shell(tmp_path, '"$@" >/dev/full', "list", "--json", "--mpi", "embedded")
    assert lost.code == 1
    assert lost.errors.endswith("scope: standard output: No space left on device\n")
    lost = in_shell(tmp_path, '"$1" >/dev/full')
    assert (lost.code, lost.errors) == (1, "scope: standard output: No space left on device\n")
    words = ("list", "--mpi", "embedded")  # the MPI that other tests have built for
    assert in_shell(tmp_path, '"$@" | head -1; exit ${PIPESTATUS[0]}', *words).code == 0


def test_characters_that_a_terminal_lacks_become_question_marks(tmp_path: Path) -> None:
    answer = in_shell(
        tmp_path, 'PYTHONIOENCODING=ascii "$@"', "show", "r\udce9sum\N{LATIN SMALL LETTER E WITH ACUTE}"
    )
    assert (answer.code, answer.output) == (2, "")
    assert answer.errors.startswith("scope show: r")
    assert answer.errors.count("\n") == 1


def test_names_of_folders_may_have_any_bytes(golden_run: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(golden_run, tmp_path / "r\udce9sum"))
    for command in ("analyze", "report"):
        answer = scope(tmp_path, command, str(run))
        assert answer.code == 0, answer.errors


def nested(folder: Path) -> list[str]:
    (folder / "x.toml").write_text("time_s = " + "[" * 5000 + "]" * 5000)
    return ["run", "x.toml"]


def long_integer(folder: Path) -> list[str]:
    (folder / "x.toml").write_text("seed = " + "9" * 5000)
    return ["run", "x.toml"]


def nested_json(folder: Path) -> list[str]:
    (folder / "r").mkdir()
    (folder / "r" / "run.json").write_text("{}")
    (folder / "r" / "samples.jsonl").write_text("")
    (folder / "r" / "statistics.json").write_text("[" * 100_000)
    return ["show", "r"]


def long_json_integer(folder: Path) -> list[str]:
    (folder / "r").mkdir()
    (folder / "r" / "run.json").write_text("{}")
    (folder / "r" / "samples.jsonl").write_text("")
    (folder / "r" / "statistics.json").write_text('{"format": ' + "9" * 5000 + "}")
    return ["show", "r"]


def no_number(folder: Path) -> list[str]:
    (folder / "x.toml").write_text("time_s = nan")
    return ["run", "x.toml"]


def null_character(folder: Path) -> list[str]:
    (folder / "x.toml").write_text('name = "a\\u0000b"')
    return ["run", "x.toml"]


def circle(folder: Path) -> list[str]:
    (folder / "x.toml").symlink_to(folder / "x.toml")
    return ["run", "x.toml"]


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (nested, "x.toml: not TOML: ... nested"),
        (long_integer, "x.toml: not TOML: Exceeds the limit"),
        (nested_json, "r/statistics.json: not JSON: ... nested"),
        (long_json_integer, "r/statistics.json: not JSON: Exceeds the limit"),
        (no_number, "x.toml: time_s = NaN"),
        (null_character, "x.toml: name = "),
        (circle, "x.toml: ... Too many levels of symbolic links"),
        *(
            (lambda _, words=words: words, "scope --lab: ")
            for words in (["--lab"], ["--lab", "grid"], ["list", "--lab"], ["run", "--lab", "--", "x"])
        ),
        *(
            (lambda _, words=words: words, "scope --lab: ... once")
            for words in (["list", "--lab", "grid", "--lab=o2"], ["lab", "list", "--lab", "grid"])
        ),
        (lambda _: ["build", "--mpi", "/bin/false"], "/bin/false: ... exit code 1"),
        (lambda _: ["topology", "show", "/dev/zero"], "/dev/zero: "),
        (lambda _: ["import", "/dev/zero"], "/dev/zero: "),
        (lambda _: ["run", "--resume", "nosuch"], "nosuch: "),
        (lambda _: ["show", "."], ".: ... run.json"),
        (lambda _: ["run", "--hosts", ""], "scope: --hosts: "),
        (lambda _: ["tune", "linpack", "--blocks="], "scope: --blocks: "),
        (lambda _: ["soak", "--time", "", "--", "true"], "scope: --time: "),
        (lambda _: ["compare", "", ""], "scope: compare: "),
        (
            lambda _: ["list", "nosuch", "--mpi", "embedded"],
            "only = nosuch: ",
        ),
        (lambda _: ["show", "a\nb"], r"scope show: a\nb: "),
        (
            lambda _: ["build", "--mpi", "~nobody-of-this-name/x"],
            "mpi = ~nobody-of-this-name/x: ",
        ),
        (
            lambda _: ["repository", "list", "--in", "~nobody-of-this-name/x"],
            "repository = ~nobody-of-this-name/x: ",
        ),
    ],
)
def test_bad_input_is_one_line(made: object, said: str, tmp_path: Path) -> None:
    assert mentions(answered(tmp_path, *made(tmp_path)).refusal(), said)  # type: ignore[operator]


def test_a_name_that_is_too_long_is_one_line(tmp_path: Path) -> None:
    answer = answered(tmp_path, "show", "x" * 300)
    assert (answer.code, answer.output) == (1, "")
    assert answer.errors == f"scope show: {'x' * 100}...: File name too long\n"


def test_a_deleted_folder_is_one_line(tmp_path: Path) -> None:
    answer = in_shell(tmp_path, 'mkdir gone; cd gone; rmdir ../gone; "$@"', "list")
    assert (answer.code, answer.output) == (2, "")
    said = answer.errors.splitlines()
    assert mentions(said[-1], "scope: ... No such file or directory")
    assert not [line for line in said[:-1] if "getcwd" not in line], "the shell that starts Python may say it, too"


def test_a_process_with_little_memory_is_refused_in_one_line(golden_run: Path, tmp_path: Path) -> None:
    """OpenBLAS, which numpy brings, waits for memory for ever, at full speed."""
    refusal = in_shell(tmp_path, 'ulimit -v 200000; "$@"', "analyze", str(golden_run)).refusal()
    assert mentions(
        refusal, "scope: memory of a process: expected ... MiB or more, found 200000 KiB; run `ulimit -v ...`"
    )


def test_a_user_without_room_for_threads_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {resource.RLIMIT_NPROC: 1}
    monkeypatch.setattr(resource, "getrlimit", lambda limit: (limits.get(limit, resource.RLIM_INFINITY),) * 2)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert answered(tmp_path, "runs", "list").errors.startswith("scope runs: runs: "), "root is not counted"
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert mentions(answered(tmp_path, "runs", "list").refusal(), "scope: threads of this user: expected room for")


def test_a_thread_for_which_there_is_no_room_is_no_defect() -> None:
    for problem in (RuntimeError("can't start new thread"), MemoryError()):
        assert mentions(explained(problem), "more memory or threads ... ulimit")


def test_too_few_open_files_are_named_with_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = OSError(errno.EMFILE, "Too many open files", "/sys")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (24, 24))
    assert explained(problem) == "open files of a process: expected 48 or more, found 24; run `ulimit -n 48`"
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 1024))
    assert explained(problem) == "/sys: Too many open files"


def test_a_value_that_ends_like_an_option_is_no_empty_one() -> None:
    assert before_nothing(["run", "--launcher-argument=--map-by=", "--hosts", "a"]) == ""
    assert before_nothing(["run", "--hosts=", "a"]) == "--hosts"
    assert before_nothing(["monitor", "--", "./app", ""]) == "", "words of the program are its own"
