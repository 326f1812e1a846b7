"""The command line: one file per command, loaded only when that command runs.

The table below answers `scope --help` by itself, so that help costs little more than the interpreter.
"""

from __future__ import annotations

import sys

COMMANDS = {
    "run": "measure this machine or cluster, explain what was found, write a report",
    "show": "print the figures of a run",
    "report": "write a run's report as one offline page",
    "compare": "hold two runs against each other, case by case",
    "predict": "say what an algorithm would take on more processes, and how wrong such predictions were",
    "tune": "search the settings of LINPACK: predict all, try few, keep a record",
    "reproduce": "run a published experiment at a size that fits, its figures beside ours",
    "analyze": "derive statistics, models and findings of a run anew, without any MPI",
    "list": "name the benchmarks there are",
    "describe": "explain one benchmark: what it measures, how, and by which rules",
    "build": "compile the native program for an MPI",
    "doctor": "say what this machine has and lacks for measuring",
    "lab": "emulate a cluster on this machine, out of network namespaces",
    "topology": "find the groups of a cluster, its trunks and their speeds by measurement",
    "monitor": "run any MPI program under the monitor and say where its time goes",
    "export": "write the profiles of monitored runs for other programs",
    "import": "take in the profile that another tool (mpiP) made of a program",
    "campaign": "run a program over parameters, processes and placements, and say what the runs show together",
    "placement": "say what it costs a program that its processes share a node, and why",
    "soak": "repeat a program for hours and count errors, drift and memory that grows",
}

EXAMPLES = """\
examples:
  scope run                               the baseline module on this machine
  scope run mpi.latency --launches 3      one benchmark
  scope run --hosts a:2,b:2               two hosts, two ranks on each
  scope run --lab grid                    the same on an emulated cluster of three
  scope compare runs/before runs/after    did anything change?
  scope predict runs/latest --algorithm cannon --size 1680 --ranks 1..64
"""


def help_text() -> str:
    """Compose what `scope --help` prints."""
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items())
    return (
        "usage: scope COMMAND [OPTIONS]\n\n"
        "Measures a cluster layer by layer, says where performance is lost and why.\n\n"
        f"commands (scope COMMAND --help tells more):\n{commands}\n\n"
        "Every command takes --lab NAME: it runs on the first host of an emulated cluster (scope lab list).\n\n"
        f"{EXAMPLES}"
    )


def main() -> None:
    """Entry point: `scope COMMAND ...`."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("--help", "-h", "help"):
        print(help_text(), end="")
        raise SystemExit(0)
    if arguments[0] == "--version":
        from scope.version import VERSION

        print(f"scope {VERSION}")
        raise SystemExit(0)
    lab, arguments = asked_lab(arguments)
    if not arguments:
        print("scope --lab NAME: must be followed by a command", file=sys.stderr)
        raise SystemExit(2)
    if lab is not None and arguments[0] != "lab":
        raise SystemExit(dispatch("lab", ["within", lab, "--", *arguments]))
    raise SystemExit(dispatch(arguments[0], arguments[1:]))


def asked_lab(arguments: list[str]) -> tuple[str | None, list[str]]:
    """Return the value of `--lab`, which every command takes, and the other words."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    for position, word in enumerate(arguments[:end]):
        if word.startswith("--lab="):
            return word.removeprefix("--lab="), arguments[:position] + arguments[position + 1 :]
        if word == "--lab" and position + 1 < end:
            return arguments[position + 1], arguments[:position] + arguments[position + 2 :]
    return None, arguments


def dispatch(name: str, arguments: list[str]) -> int:
    """Run one command and turn what it says into an exit code; no trace reaches the user."""
    if name not in COMMANDS:
        import difflib

        near = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        print(f"scope: unknown command {name}: must be one of {', '.join(COMMANDS)}{hint}", file=sys.stderr)
        return 2

    import importlib
    import keyword

    import typer

    from scope.errors import ScopeError

    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    # A word of the language cannot name a module: `import` stands in import_.py.
    module = importlib.import_module(f"scope.cli.{name}{'_' if keyword.iskeyword(name) else ''}")
    # A command with commands of its own lists them; any other is one function.
    for word, function in getattr(module, "COMMANDS", {name: getattr(module, "command", None)}).items():
        app.command(word)(function)
    try:
        app(arguments, prog_name=f"scope {name}", standalone_mode=True)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except ScopeError as problem:
        print(f"scope {name}: {problem}", file=sys.stderr)
        return problem.exit_code
    except BrokenPipeError:
        # The reader of a pipe (head, less) has seen enough.
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        return 130
    return 0
