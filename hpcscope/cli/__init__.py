"""The command line: one file per command, loaded only when that command runs.

The table below answers `scope --help` by itself, so that help costs little more than starting the interpreter.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
from functools import cache
from typing import TYPE_CHECKING

from hpcscope.cli import interrupts, streams
from hpcscope.locks import release_all

if TYPE_CHECKING:
    from typer._click import Command

GROUPS = {
    "measure": {
        "run": "measure this machine or cluster, explain the findings, write a report",
        "list": "list the benchmarks",
        "describe": "explain one benchmark: what it measures, how, and its parameters",
        "tune": "find good LINPACK settings, the fastest file access and the fastest BLAS kernels",
        "health": "check every node of a cluster in minutes, and give a verdict with reasons for each",
        "topology": "discover how the hosts of a cluster are connected; test every trunk under load",
        "reproduce": "repeat a published experiment, scaled to this machine, and show the published values",
    },
    "explain": {
        "show": "print the summary of a run, or the results of its benchmarks",
        "report": "write the report of a run as one offline HTML page",
        "figure": "draw curves of one run or several for a paper: PDF, SVG, PNG",
        "predict": "predict an algorithm on more ranks, and print the measured prediction error",
        "simulate": "simulate a run with more ranks, more hosts or other links, and print the simulation error",
        "analyze": "derive statistics, models, findings and report of a run again, without MPI",
    },
    "compare": {
        "compare": "compare two runs case by case",
        "history": "show when the values of the runs in a repository changed, and what changed in the machine",
    },
    "programs": {
        "monitor": "run any MPI program under the monitor and show where its time goes",
        "campaign": "run a program over parameters, rank counts and placements, and analyze all runs",
        "placement": "measure how much the ranks of a program slow down when they share a node",
        "throughput": "run a mix of jobs side by side: jobs per hour, turnaround times, utilization",
        "soak": "repeat a program for hours; count errors, drift and memory leaks",
    },
    "emulate": {
        "lab": "emulate a cluster on this machine with network namespaces",
    },
    "keep and exchange": {
        "runs": "list, open and remove runs",
        "repository": "keep runs: add, list, note, verify, exchange (short: repo)",
        "site": "write the runs of a repository as a directory of web pages",
        "serve": "serve the pages of a repository from this host, and show runs in progress",
        "pack": "pack a run into one file to send",
        "unpack": "unpack a packed run into a directory",
        "anonymize": "copy a run without host, user and directory names, and without addresses",
        "export": "write results in other formats: CSV, Prometheus, JUnit, Extra-P, ...",
        "import": "import the output of other benchmarks and profilers: OSU, mpiP, ...",
    },
    "maintain": {
        "doctor": "check what this machine has and lacks for measuring",
        "build": "compile the native program for an MPI",
        "cache": "list and remove the compiled programs that Scope keeps",
        "completion": "print shell completions for commands and options",
        "manual": "print the manual page",
    },
}
COMMANDS = {name: summary for group in GROUPS.values() for name, summary in group.items()}

ALIASES = {"repo": "repository"}
"""Short names of commands."""
BARE = {"runs": ["list"], "cache": ["list"], "repository": ["list"]}
"""The default arguments of commands that do not print their help when called without any."""

EXAMPLES = """\
examples:
  scope run                               measure this machine in three minutes
  scope run mpi.latency --launches 3      one benchmark
  scope run --hosts a:2,b:2               two hosts, two ranks on each
  scope run --lab grid                    an emulated grid of three clusters
  scope compare runs/before runs/after    did anything change?
  scope predict runs/latest --algorithm cannon --n 1680 --ranks 1..64
"""


def help_text() -> str:
    """Return the text of `scope --help`."""
    width = max(map(len, COMMANDS))
    commands = "\n".join(
        f"\n{heading}\n" + "\n".join(f"  {name:<{width}}  {summary}" for name, summary in group.items())
        for heading, group in GROUPS.items()
    )
    return (
        "usage: scope COMMAND [OPTIONS]\n\n"
        "Measures a cluster layer by layer and says where performance is lost, and why.\n\n"
        "Details of a command: scope help COMMAND\n"
        f"{commands}\n\n"
        "Every command takes --lab NAME to run on the first host of an emulated cluster (scope lab list).\n\n"
        f"{EXAMPLES}"
    )


MEASURING = {
    *("run", "compare", "health", "tune", "reproduce", "lab", "monitor", "campaign", "placement", "throughput"),
    "soak",
}
"""Commands whose exit code describes the measurement, even if its output could not be printed."""
TRACE = "SCOPE_TRACE"
"""The environment variable that shows where an error arose."""


def main() -> None:
    """Entry point: `scope COMMAND ...`."""
    # Loading many modules would trigger garbage collection again and again: 5 % of the time of a short command.
    gc.set_threshold(200_000, 20, 20)
    try:
        streams.install()  # first: a pipe must not take the number of a closed stream
        interrupts.install()
        code = answer(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    interrupts.end()
    lost = streams.lost_output()
    if lost:
        print(f"scope: standard output: {lost}", file=sys.stderr)
    measured = MEASURING.intersection(split_lab(sys.argv[1:])[1][:1])
    # Otherwise the interpreter would search everything for garbage at exit, which takes most of its exit time.
    gc.freeze()
    raise SystemExit(1 if lost and code == 0 and not measured else code)


def answer(arguments: list[str]) -> int:
    """Carry out a whole command line and return its exit code; the folders that it made stay locked until then."""
    try:
        return _answer(arguments)
    finally:
        release_all()


def _answer(arguments: list[str]) -> int:
    if arguments[:1] == ["help"] and arguments[1:]:
        arguments = [*arguments[1:], "--help"]
    if not arguments or arguments[0] in ("--help", "-h", "help"):
        print(help_text(), end="")
        return 0
    if arguments[0] == "--version":
        from hpcscope.version import VERSION

        print(f"scope {VERSION}")
        return 0
    from pathlib import Path  # not needed for help

    from hpcscope import clock
    from hpcscope.launch.shortage import own_shortage

    if problem := clock.refusal() or own_shortage():
        print(f"scope: {problem}", file=sys.stderr)
        return 2
    try:
        Path.cwd()
    except OSError as error:
        print(f"scope: the current directory cannot be used: {error.strerror}; change directory", file=sys.stderr)
        return 2
    if name := before_nothing(arguments):
        print(f"scope: {streams.one_line(name)}: must not be followed by an empty value", file=sys.stderr)
        return 2
    lab, arguments = split_lab(arguments)
    if not arguments or (lab is None and "--lab" in own_words(arguments)):
        print("scope --lab: must be followed by the name of a lab and a command", file=sys.stderr)
        return 2
    if lab is not None and (arguments[0] == "lab" or split_lab(arguments)[0] is not None):
        print("scope --lab: must be given only once, and not with `scope lab`", file=sys.stderr)
        return 2
    if lab is not None and ALIASES.get(arguments[0], arguments[0]) not in COMMANDS:
        return _answer(arguments)  # help, or unknown
    return dispatch(arguments[0], arguments[1:], lab)


def before_nothing(arguments: list[str]) -> str:
    """Return the option or word with an empty value, as in `--hosts ''` or `--hosts=`; empty without one."""
    own = own_words(arguments)
    for before, word in zip(["scope", *own], own, strict=False):
        if not word:
            return before
        option, equals, value = word.partition("=")
        if option.startswith("--") and equals and not value:
            return option
    return ""


def own_words(arguments: list[str]) -> list[str]:
    """Return the words before `--`; the words after it belong to another program."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def split_lab(arguments: list[str]) -> tuple[str | None, list[str]]:
    """Return the value of `--lab`, which every command takes, and the other words."""
    end = len(own_words(arguments))
    for position, word in enumerate(arguments[:end]):
        if word.startswith("--lab="):
            return word.removeprefix("--lab="), arguments[:position] + arguments[position + 1 :]
        if word == "--lab" and position + 1 < end:
            return arguments[position + 1], arguments[:position] + arguments[position + 2 :]
    return None, arguments


def dispatch(name: str, arguments: list[str], lab: str | None = None) -> int:
    """Run one command, here or in a lab, and return its exit code; an error is one line, never a traceback."""
    name = ALIASES.get(name, name)
    if name not in COMMANDS:
        import difflib

        near = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        unknown = f"unknown command {streams.one_line(name)}"
        print(f"scope: {unknown}: must be one of {', '.join(COMMANDS)}{hint}", file=sys.stderr)
        return 2

    import logging

    from hpcscope.errors import ScopeError

    # Notices of the engine, such as "compiling ...", go to standard error unchanged.
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    logging.getLogger("hpcscope").setLevel(logging.INFO)
    whole = "--help-all" in arguments[:2]  # later words may be arguments of the user's own program
    words = [*arguments[: arguments.index("--help-all")], "--help"] if whole else arguments
    try:
        found = parser(name) if lab is None else _in_lab(lab, name, [name, *arguments])
        found(words or BARE.get(name, []), prog_name=f"scope {name}", standalone_mode=True, obj=whole)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except ScopeError as problem:
        print(f"scope {name}: {streams.one_line(str(problem))}", file=sys.stderr)
        return problem.exit_code
    except KeyboardInterrupt:
        return 130
    except Exception as problem:
        if interrupts.came():
            return 130
        if os.environ.get(TRACE):
            raise
        print(f"scope {name}: {streams.one_line(explained(problem))}", file=sys.stderr)
        return 1
    return 0


def _in_lab(lab: str, name: str, words: list[str]) -> Command:
    """Return a command that refuses wrong words and answers `--help` here, and runs on a host of a lab."""

    def invoke(_context: object) -> None:
        from hpcscope.cli.lab import run_in_lab

        run_in_lab(lab, words)

    found = parser.__wrapped__(name)
    for command in getattr(found, "commands", {name: found}).values():
        command.invoke = invoke
    return found


@cache
def parser(name: str) -> Command:
    """Return the parser of a command, which carries the command out."""
    import importlib
    import keyword

    import typer
    from typer.main import get_command

    from hpcscope.cli.help import CONTEXT, GroupedOptions

    made = typer.Typer(
        context_settings=CONTEXT,
        add_completion=False,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    # A keyword of Python cannot name a module: `import` is in import_.py.
    module = importlib.import_module(f"hpcscope.cli.{name}{'_' if keyword.iskeyword(name) else ''}")
    # A command with subcommands lists them; any other is one function.
    for word, function in getattr(module, "COMMANDS", {name: getattr(module, "command", None)}).items():
        made.command(word, cls=GroupedOptions, context_settings=CONTEXT)(function)
    return get_command(made)


def explained(problem: Exception) -> str:
    """Return what was refused: a file without permission, a name that is too long, a text nested too deeply."""
    if isinstance(problem, OSError) and problem.errno == errno.EMFILE:
        from hpcscope.launch.shortage import few_open_files

        if few := few_open_files(ranks=2):
            return few
    if isinstance(problem, OSError) and problem.strerror:
        names = [str(name) for name in (problem.filename, problem.filename2) if name is not None]
        return ": ".join([*(name if len(name) <= 100 else f"{name[:100]}..." for name in names), problem.strerror])
    if isinstance(problem, MemoryError) or "start new thread" in str(problem):
        return f"Scope cannot get more memory or threads; run `ulimit -v unlimited -u unlimited` ({problem})"
    if isinstance(problem, RecursionError):
        return "a file or an option is nested too deeply"
    if isinstance(problem, ValueError) and "integer string conversion" in str(problem):
        return "a file or an option has an integer of thousands of digits"
    return f"{type(problem).__name__}: {problem} (a defect of Scope; {TRACE}=1 shows where it arose)"
