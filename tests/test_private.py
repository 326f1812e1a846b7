"""Folders in shared places: another user's are refused, leftovers of killed processes are removed."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from hpcscope import private
from hpcscope.build import cmake
from hpcscope.errors import ScopeError, UsageError
from hpcscope.names import refuse_odd_name
from tests.patience import PATIENCE_S, until

ANOTHER_USER = os.getuid() + 1


def as_link(folder: Path) -> None:
    folder.with_name("elsewhere").mkdir(mode=0o700)
    folder.symlink_to(folder.with_name("elsewhere"))


def open_to_all(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)


def as_file(folder: Path) -> None:
    folder.write_text("")


@pytest.mark.parametrize(
    ("prepare", "said"),
    [(as_link, "labs: .*directory"), (open_to_all, "mode 0777"), (as_file, "labs: .*directory")],
)
def test_a_folder_that_another_user_could_have_prepared_is_refused(
    prepare: Callable[[Path], None], said: str, tmp_path: Path
) -> None:
    folder = tmp_path / "labs"
    prepare(folder)
    with pytest.raises(ScopeError, match=said):
        private.private_folder(folder)


def test_a_folder_is_made_for_this_user_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = private.private_folder(tmp_path / "labs")
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o755)
    assert private.private_folder(folder) == folder, "a second time"
    assert folder.stat().st_mode & 0o777 == 0o700, "an earlier version let others in, but not write"


def test_the_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = private.private_folder(tmp_path / "labs")
    monkeypatch.setattr(os, "getuid", lambda: ANOTHER_USER)
    with pytest.raises(ScopeError, match=rf"{folder}.* user {folder.stat().st_uid}\b"):
        private.refuse_shared(folder)
    file = tmp_path / "experiment.toml"
    file.write_text("")
    if file.stat().st_uid:  # root's files are everybody's to trust
        with pytest.raises(UsageError, match=rf"{file}: .* user {file.stat().st_uid}\b"):
            private.refuse_foreign(file)


def test_a_parent_where_others_may_rename_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(ScopeError, match=str(tmp_path)):
        private.private_folder(tmp_path / "labs")
    tmp_path.chmod(0o1777)
    assert private.private_folder(tmp_path / "labs").is_dir()


def test_programs_are_not_run_from_where_others_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCOPE_CACHE", str(tmp_path / "cache"))
    before = os.umask(0)
    try:
        cmake.private_cache(tmp_path / "cache" / "build" / "x")
    finally:
        os.umask(before)
    modes = [path.stat().st_mode & 0o777 for path in (tmp_path / "cache", tmp_path / "cache" / "build")]
    assert modes == [0o700, 0o755]
    (tmp_path / "cache" / "build").chmod(0o775)
    with pytest.raises(ScopeError, match=r"build: .*chmod go-w"):
        cmake.private_cache(tmp_path / "cache" / "build" / "x")


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b", "-x", ".hidden", "a b", "a\nb", "$(id)", "é", "x" * 101]
)
def test_odd_names_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match=rf"lab = {re.escape(repr(name))}: "):
        refuse_odd_name("lab", name)


def test_only_a_folder_below_its_parent_is_removed(tmp_path: Path) -> None:
    parent = private.private_folder(tmp_path / "labs")
    (tmp_path / "beside").mkdir(mode=0o700)
    (parent / "link").symlink_to(tmp_path / "beside")
    for name in ("..", "../beside"):
        with pytest.raises(UsageError):
            private.remove_below(parent, name)
    with pytest.raises(ScopeError, match="link"):
        private.remove_below(parent, "link")
    private.remove_below(parent, "never-was")
    private.private_folder(parent / "own").joinpath("file").write_text("")
    private.remove_below(parent, "own")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["beside", "labs", "link"]


def test_a_folder_that_its_owner_is_making_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    young = Path(tempfile.mkdtemp(prefix="scope-trial-"))
    old = Path(tempfile.mkdtemp(prefix="scope-trial-"))
    os.utime(old, (0, 0))
    with private.temporary_folder("trial"):
        assert (young.exists(), old.exists()) == (True, False)


HOLDER = """
import signal
from hpcscope.private import temporary_folder
with temporary_folder("trial") as folder:
    print(folder, flush=True)
    signal.pause()
"""


def test_leftovers_of_killed_processes_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(private, "YOUNG_S", -1.0)
    holders = [
        subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    folders = [Path(holder.stdout.readline().strip()) for holder in holders if holder.stdout is not None]
    names_it = subprocess.Popen(["sleep", "600"], env={**os.environ, "SESSION": str(folders[1])})
    try:
        environment = Path(f"/proc/{names_it.pid}/environ")
        until(lambda: os.fsencode(folders[1]) in environment.read_bytes(), "the start of a process")
        for holder in holders[:2]:
            holder.kill()
            holder.wait()
        (tmp_path / "scope-trial-of-nobody").mkdir(mode=0o755)
        with private.temporary_folder("trial") as own:
            assert own.is_dir()
            assert [folder.exists() for folder in folders] == [False, True, True], "killed, in use, alive"
    finally:
        for process in (names_it, *holders):
            process.kill()
            process.wait()
    assert not own.exists()
    with private.temporary_folder("trial"):
        assert not any(folder.exists() for folder in folders)
    assert (tmp_path / "scope-trial-of-nobody").exists(), "not private: not ours"


def test_an_interrupt_in_the_last_moment_leaves_no_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    mask = signal.pthread_sigmask

    def answered(how: int, signals: set[signal.Signals]) -> set[int | signal.Signals]:
        """Block, and answer the request that came just before, as the real call does."""
        before = mask(how, signals)
        if how == signal.SIG_BLOCK and list(tmp_path.iterdir()):
            raise KeyboardInterrupt
        return before

    monkeypatch.setattr(signal, "pthread_sigmask", answered)
    with pytest.raises(KeyboardInterrupt), private.temporary_folder("launch"):
        pass
    assert list(tmp_path.iterdir()) == []


INTERRUPTED_BEFORE_THE_END = """
import contextlib
import sys
from hpcscope import private

def interrupted(manager, *ended):
    sys.kept = manager  # as a traceback keeps it
    raise KeyboardInterrupt

contextlib._GeneratorContextManager.__exit__ = interrupted
with private.temporary_folder("launch") as folder:
    print(folder, folder.exists())
"""


def test_an_interrupt_before_the_end_of_the_context_leaves_no_temporary_folder(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_BEFORE_THE_END],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert "KeyboardInterrupt" in ended.stderr
    assert ended.stdout.strip().endswith("True")
    assert list(tmp_path.iterdir()) == []


WRITING_INTERRUPTED_BEFORE_THE_END = """
import contextlib
import sys
from pathlib import Path
from hpcscope.rundirectory import write_text

def interrupted(manager, *ended):
    sys.kept = manager  # as a traceback keeps it
    raise KeyboardInterrupt

contextlib._GeneratorContextManager.__exit__ = interrupted
write_text(Path(sys.argv[1], "findings.json"), "new")
"""


def test_an_interrupt_before_the_end_of_writing_leaves_no_half_of_a_file(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", WRITING_INTERRUPTED_BEFORE_THE_END, tmp_path],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert "KeyboardInterrupt" in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_process_with_too_many_open_files_leaves_no_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened: list[int] = []
    try:
        with private.temporary_folder("test") as folder:
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, limits[1]))
            with suppress(OSError):
                while True:
                    opened.append(os.open("/dev/null", os.O_RDONLY))
        assert not folder.exists()
    finally:
        for handle in opened:
            os.close(handle)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


MANY_OPEN_FILES_AT_THE_END = """
import contextlib
import os
import resource
from hpcscope import private

resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
opened = []
with private.temporary_folder("launch") as folder:
    (folder / "storage").touch()
    with contextlib.suppress(OSError):
        while True:
            opened.append(os.open("/dev/null", os.O_RDONLY))
print(folder.exists())
for handle in opened:
    os.close(handle)
"""


def test_a_folder_that_could_not_be_removed_in_time_is_removed_at_the_end_of_its_process(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    words = [sys.executable, "-c", MANY_OPEN_FILES_AT_THE_END]
    ended = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    assert ended.stdout == "True\n"
    assert list(tmp_path.iterdir()) == []
