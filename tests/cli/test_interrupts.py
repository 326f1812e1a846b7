"""Ctrl-C at any moment of the start ends the program without a trace."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.scope_command import start
from tests.patience import PATIENCE_S

INTERRUPTED = {130, -signal.SIGINT}
"""As the program says it, and as the system does where Python has not begun."""


@pytest.mark.parametrize("delay_s", [0, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3])
def test_an_early_interrupt_leaves_no_trace(delay_s: float, tmp_path: Path) -> None:
    process = start(tmp_path, "run", "--case", "mpi.latency", "--mpi", "embedded", "--time", "600")
    time.sleep(delay_s)
    process.send_signal(signal.SIGINT)
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
from scope.cli import interrupts
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
from scope import cli
from scope.cli import interrupts
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
import os, signal, sys, time
from scope import cli
from scope.cli import interrupts
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
        time.sleep(0.01)
cli.parser = lambda name: command
sys.exit(cli.answer(["doctor"]))
"""


def test_an_interrupt_in_a_destructor_comes_again() -> None:
    expect_a_quiet_end(IN_A_DESTRUCTOR)
