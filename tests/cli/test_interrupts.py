"""Ctrl-C at any moment of the start ends the program without a trace."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.scope_command import SCOPE, start
from tests.patience import PATIENCE_S

INTERRUPTED = {130, -signal.SIGINT}
"""As the program says it, and as the system does where Python has not begun."""


MEASURED = ["run", "--case", "mpi.latency", "--mpi", "embedded", "--launches", "1", "--budget", "0.05"]
INTERRUPTING = """
import os, signal, sys


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPT_AT"]:
            sys.meta_path.remove(self)
            interrupt()


if os.environ["INTERRUPT_AT"] == "begin":
    interrupt()
sys.meta_path.insert(0, Finder())
sys.addaudithook(lambda event, _: event == os.environ["INTERRUPT_AT"] and interrupt())
"""
"""What Python loads before anything else: it interrupts the program at an import or an event of the audit."""


@pytest.mark.parametrize(
    "moment",
    [
        *(
            "begin",
            "hpcscope",
            "hpcscope.cli",
            "hpcscope.cli.interrupts",
            "typer",
            "hpcscope.cli.run",
            "pydantic",
            "numpy",
        ),
        *("hpcscope.engine.run.run", "hpcscope.plan.experiment", "subprocess.Popen"),
    ],
)
def test_an_early_interrupt_leaves_no_trace(moment: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTING)
    # A Python that reads variables all the same, beside the script.
    (tmp_path / "python").write_text(f'#!/bin/sh\ntest "$1" = -I && shift\nexec {sys.executable} "$@"\n')
    (tmp_path / "python").chmod(0o755)
    script = Path(shutil.copy2(SCOPE, tmp_path))
    process = start(tmp_path, *MEASURED, program=(str(script),), PYTHONPATH=str(tmp_path), INTERRUPT_AT=moment)
    expect_no_trace(process)


def test_an_interrupt_before_python_begins_leaves_no_trace(tmp_path: Path) -> None:
    process = start(tmp_path, *MEASURED)
    process.send_signal(signal.SIGINT)
    expect_no_trace(process)


@pytest.mark.slow("interrupts at moments of the clock; there, at the imports and events between which these are")
@pytest.mark.parametrize("delay_s", [0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3])
def test_an_interrupt_at_any_moment_leaves_no_trace(delay_s: float, tmp_path: Path) -> None:
    process = start(tmp_path, "run", "--case", "mpi.latency", "--mpi", "embedded", "--time", "600")
    with suppress(subprocess.TimeoutExpired):
        process.wait(delay_s)
    process.send_signal(signal.SIGINT)
    expect_no_trace(process)


def expect_no_trace(process: subprocess.Popen[str]) -> None:
    """Wait for the end of an interrupted command, which must be that of Ctrl-C."""
    output, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode in INTERRUPTED, errors
    assert not {"Traceback", "KeyboardInterrupt"} & set((output + errors).replace(":", " ").split()), errors


SLOW = """
import os, signal
os.kill(os.getpid(), signal.SIGINT)
for _ in range(1000):
    pass  # where an exception would arise
"""
PROGRAM = """
import sys
from hpcscope.cli import interrupts
interrupts.install()
try:
    import slow
    print("imported", flush=True)
    while True:
        pass
except KeyboardInterrupt:
    print("slow" in sys.modules)
"""


def test_an_import_is_finished_first(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    done = subprocess.run(
        ["env", "--default-signal=INT", sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env={"PYTHONPATH": f"{Path(__file__).parents[2]}:{tmp_path}"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("True\n")


def expect_a_quiet_end(program: str) -> None:
    """Run a program that interrupts itself: it ends as an interrupted command does, without a word."""
    done = subprocess.run(
        ["env", "--default-signal=INT", sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env={"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


OF_A_LIBRARY = """
import os, signal, sys
from hpcscope import cli
from hpcscope.cli import interrupts
interrupts.install()
def command(*_, **__):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        while True:
            pass
    except KeyboardInterrupt:
        raise ValueError("Error building a validator")
cli.parser = lambda name: command
sys.exit(cli.answer(["doctor"]))
"""


def test_what_a_library_makes_of_an_interrupt_is_no_defect() -> None:
    expect_a_quiet_end(OF_A_LIBRARY)


IN_A_DESTRUCTOR = """
import os, signal, sys
from hpcscope import cli
from hpcscope.cli import interrupts
interrupts.install()
class Library:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        while True:
            pass
def command(*_, **__):
    library = Library()
    del library
    while True:
        signal.pause()
cli.parser = lambda name: command
sys.exit(cli.answer(["doctor"]))
"""


def test_an_interrupt_in_a_destructor_comes_again() -> None:
    expect_a_quiet_end(IN_A_DESTRUCTOR)


BLOCKED = """
import queue, signal, sys, threading
from hpcscope import cli
from hpcscope.cli import interrupts
interrupts.install()
signal.signal(signal.SIGTERM, signal.default_int_handler)
def command(*_, **__):
    waiting = queue.SimpleQueue()
    def interrupt():
        while not waits(main):
            pass
        signal.pthread_kill(threading.get_ident(), signal.{signal})
    main = threading.get_native_id()
    threading.Thread(target=interrupt, daemon=True).start()
    waiting.get()
def waits(thread):
    return open(f"/proc/self/task/{{thread}}/stat").read().rpartition(")")[2].split()[0] == "S"
cli.parser = lambda name: command
sys.exit(cli.answer(["doctor"]))
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_that_does_not_reach_a_blocked_main_thread_is_answered(name: str) -> None:
    # As if it came just before the thread blocked: Python notes it, and nothing wakes the main thread.
    expect_a_quiet_end(BLOCKED.format(signal=name))
