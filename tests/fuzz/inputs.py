"""One hostile input: files in a folder of its own, a command, and what is wrong with how the command ended.

A command is carried out in a forked child, or as a process of its own, under a time limit. In a forked child it
ends where it would start a program or join a network, so that hostile options are harmless. One child may carry
out many commands in turn, which saves most of their time.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib
import os
import pkgutil
import random
import resource
import select
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import uvicorn

import hpcscope.cli
import hpcscope.engine
import hpcscope.report
from tests.cli.scope_command import SCOPE
from tests.patience import PATIENCE_S

LIMIT_S = float(PATIENCE_S)
"""A command that takes longer hangs; also on a machine that is busy with other things."""
MOST_MEMORY_BYTES = 4 << 30
"""Of a command, so that a runaway one harms nobody."""
RIGHT_CODES = {0, 1, 2, 124, 130, -signal.SIGINT}
"""The last is that of Ctrl-C when nothing is left to be done but to leave: a shell calls it 130, too."""
DEFECT = "a defect of Scope"
STARTS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "socket.connect"}
"""Events of Python's audit at which a command in a forked child ends."""
Complaint = Literal[
    "trace",
    "hang",
    "silence",
    "accepted",
    "silent change",
    "lost samples",
    "leftover",
    "outside",
    "live script",
    "secret left",
]
"""The last three: a file outside of its place, a page that obeys its data, a name in an anonymous copy."""
Kind = Literal["forked", "process", "here"]
"""In a forked child, as a program of its own, or in this process, which is a forked child for many commands."""


@dataclass(frozen=True)
class Answer:
    """How a command ended and what it said."""

    code: int | None
    """Negative: the signal that killed it; None: it did not end in time."""
    output: str
    errors: str


Judgement = Callable[[Answer], tuple[Complaint, str] | None]
Fault = Callable[[], None]


@dataclass(frozen=True)
class Input:
    """A command, in a folder that its generator filled."""

    words: list[str]
    fault: Fault | None = None
    """What happens to the process before the command begins."""
    judge: Judgement | None = None
    """What else can be wrong, by what the generator knows."""
    mute: bool = False
    """Whether the fault keeps the command from saying anything."""


Generator = Callable[[random.Random, Path], Input]


@dataclass(frozen=True)
class Verdict:
    """What is wrong with one input."""

    complaint: Complaint
    words: list[str]
    said: str


def verdict(generator: Generator, chance: random.Random, kind: Kind = "forked") -> Verdict | None:
    """Make one input, carry it out and judge it; None where all is well."""
    with workplace() as place:
        made = generator(chance, place)
        before = {file: file.read_bytes() for file in place.glob("*/samples.jsonl") if file.is_file()}
        answer = carried_out(made, place, kind)
        deletes = made.words[:1] == ["runs"] and made.words[1:2] in (["remove"], ["prune"])
        removes = deletes and not {"--yes", "-y"}.isdisjoint(made.words)
        found = judged(made, answer) or (None if removes else lost_samples(before)) or leftovers(place)
    return Verdict(found[0], made.words, found[1]) if found else None


def judged(made: Input, answer: Answer) -> tuple[Complaint, str] | None:
    """Say what is wrong with an answer to any input, then what the generator knows to be wrong."""
    said = answer.output + answer.errors
    if answer.code is None:
        return "hang", f"no end within {LIMIT_S:g} s"
    if "Traceback (most recent call last)" in said or DEFECT in said or answer.code not in RIGHT_CODES:
        return "trace", f"exit code {answer.code}: {said[-2000:]}"
    if answer.code and not said.strip() and not made.mute:
        return "silence", f"exit code {answer.code} without a word"
    return made.judge(answer) if made.judge else None


def lost_samples(before: dict[Path, bytes]) -> tuple[Complaint, str] | None:
    """Say which samples a command changed: it may at most add some."""
    for file, content in before.items():
        complete = content[: content.rfind(b"\n") + 1]
        if not file.is_file() or not file.read_bytes().startswith(complete):
            return "lost samples", str(file)
    return None


def leftovers(place: Path) -> tuple[Complaint, str] | None:
    """Say what a command left behind: temporary files and folders."""
    left = [*(place / "tmp").iterdir(), *(file for file in place.rglob(".*.????????") if file.is_file())]
    return ("leftover", ", ".join(str(one.relative_to(place)) for one in left)) if left else None


@contextmanager
def workplace() -> Iterator[Path]:
    """Yield an empty folder with places for temporary files, the user's own and labs; it is removed at the end."""
    place = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        for name in ("tmp", "home", "runtime"):
            (place / name).mkdir(mode=0o700)
        yield place
    finally:
        for folder in [place, *(each for each in place.rglob("*") if each.is_dir() and not each.is_symlink())]:
            folder.chmod(0o700)
        shutil.rmtree(place)


def carried_out(made: Input, place: Path, kind: Kind) -> Answer:
    """Carry out a command in a child and return its answer."""
    output, errors = place / "home" / "output", place / "home" / "errors"
    if kind == "here":
        return Answer(_carried_out_here(made, place, output, errors), *_said(output, errors))
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            _move(place, output, errors)
            if made.fault:
                made.fault()
            _run(made.words, kind)
        except KeyboardInterrupt:  # outside the command
            os._exit(130)
        except BaseException:
            traceback.print_exc()
        os._exit(99)
    return Answer(_ended(child), *_said(output, errors))


def _said(output: Path, errors: Path) -> tuple[str, str]:
    return output.read_text(errors="replace"), errors.read_text(errors="replace")


def _carried_out_here(made: Input, place: Path, output: Path, errors: Path) -> int:
    """Carry out a command without faults in this process, return its exit code, and go back to where it was."""
    environment, temporary, folder = dict(os.environ), tempfile.tempdir, Path.cwd()
    try:
        _move(place, output, errors)
        return _answered(made.words)
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
        return 99
    finally:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        tempfile.tempdir = temporary


def _ended(child: int) -> int | None:
    """Wait for a child and return its exit code, or its signal as a negative number; None where it hung."""
    handle = os.pidfd_open(child)
    ended, _, _ = select.select([handle], [], [], LIMIT_S)
    os.close(handle)
    if not ended:
        os.killpg(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    return os.waitstatus_to_exitcode(status) if ended else None


def _move(place: Path, output: Path, errors: Path) -> None:
    """Go to a folder, with environment, standard streams and bounded memory."""
    os.chdir(place)
    places = {"HOME": "home", "TMPDIR": "tmp", "XDG_RUNTIME_DIR": "runtime", "SCOPE_CACHE": "home/cache"}
    os.environ.update({name: str(place / folder) for name, folder in places.items()})
    tempfile.tempdir = None
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))
    made = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    for number, opened in enumerate(
        (os.open(os.devnull, os.O_RDONLY), os.open(output, made), os.open(errors, made))
    ):
        os.dup2(opened, number)
        os.close(opened)


def _run(words: list[str], kind: Kind) -> None:
    """Become the command, or carry it out here; never returns."""
    if kind == "process" and "serve" not in words:  # which ends at Ctrl-C only
        os.execv(SCOPE, [str(SCOPE), *words])
    prepare_child()
    os._exit(_answered(words))


def prepare_child() -> None:
    """Let this process carry out commands, which start no program and see four slots of one machine."""
    stand_in_for_the_cluster()
    atexit._clear()  # what the first process would do at its end
    sys.addaudithook(_end_at_programs)


def _answered(words: list[str]) -> int:
    """Carry out a command in this process, with what it does at its end, and return its exit code."""
    sys.argv = [str(SCOPE), *words]
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            stream: Any = open(number, "w" if number else "r", closefd=False)  # noqa: SIM115 # until the end
        except OSError:  # closed by the fault
            stream = None
        setattr(sys, name, stream)
    code = 0
    try:
        hpcscope.cli.main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    return code


def _end_at_programs(event: str, _arguments: tuple[Any, ...]) -> None:
    if event in STARTS:
        raise SystemExit(0)


def stand_in_for_the_cluster() -> None:
    """Let `scope run` plan for four slots of the golden machine, with all benchmarks, without a program.

    A server ends when it could be asked: what is asked of servers is tested elsewhere.
    """
    from hpcscope.build import registry
    from hpcscope.engine.run import run
    from hpcscope.launch.cluster import Cluster
    from hpcscope.launch.launcher import Site
    from hpcscope.machine.machine import Machine
    from hpcscope.settings.hosts import HostSlots
    from tests import declared, golden_run

    machine = Machine.model_validate(golden_run.machine())
    build = machine.build
    assert build is not None
    site = Site(mpi=build.mpi, mpiexec=build.mpi.launcher, hosts=(HostSlots("node1", 4),))
    settled: Any = run.Settled
    run.settle = lambda experiment, where: settled(experiment, build, Cluster(site, list(machine.hosts)), machine)
    registry.load = lambda program, start=(): declared.catalog()
    uvicorn.Server.run = lambda self, sockets=None: None  # type: ignore[method-assign]


def load() -> None:
    """Import every module of Scope once, so that forked children need not."""
    for package in (hpcscope.cli, hpcscope.engine, hpcscope.report):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)


def full_disk(room_bytes: int) -> Fault:
    """Let every file end at a size, as on a full disk."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room_bytes, room_bytes))


def few_files(most: int) -> Fault:
    """Let a process have few files open at a time."""
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def read_only(place: Path) -> Fault:
    """Let nothing be written below a folder, by root neither, who gives up all capabilities."""

    def close() -> None:
        for folder in [place, *(each for each in place.rglob("*") if each.is_dir() and not each.is_symlink())]:
            if folder.name not in ("tmp", "home", "runtime"):
                folder.chmod(0o555)
        version_3, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
        ctypes.CDLL(None).capset(version_3, none)

    return close


def closed(*numbers: int) -> Fault:
    """Close standard streams."""

    def close() -> None:
        for number in numbers:
            os.close(number)

    return close


def written_to(path: str) -> Fault:
    """Lead standard output and error elsewhere, such as to /dev/full."""

    def lead() -> None:
        opened = os.open(path, os.O_WRONLY)
        os.dup2(opened, 1)
        os.dup2(opened, 2)

    return lead


def reader_gone() -> None:
    """Let the standard output be a pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    os.dup2(writer, 1)


def interrupted_at(call: int) -> Fault:
    """Interrupt a forked command as Ctrl-C does, at the call of a function that has this number."""

    def begin() -> None:
        # The signal of Ctrl-C itself: a command may block it for a moment, and answers it in its own way.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        left = iter(range(call, -1, -1))

        def count(_frame: FrameType, event: str, _argument: object) -> None:
            if event in ("call", "c_call") and next(left, 0) == 0:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)

        sys.setprofile(count)

    return begin
