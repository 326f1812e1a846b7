"""`scope health`: a verdict on every node of a cluster."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hpcscope import units
from hpcscope.cli import time_limit
from hpcscope.cli.options import Json, Output
from hpcscope.cli.output import print_json, put
from hpcscope.cli.settings import Given, takes
from hpcscope.cli.streams import one_line
from hpcscope.commands import captured
from hpcscope.errors import ScopeError, UsageError
from hpcscope.settings.experiment import Experiment
from hpcscope.settings.health import HealthSettings
from hpcscope.settings.table import chosen, declared

if TYPE_CHECKING:
    from hpcscope.engine.health import Cost
    from hpcscope.health.records import HealthFile
    from hpcscope.health.verdict import Health

PROLOG_S = 5.0
"""Seconds from the start of the process until the node goes on, whatever happened."""
PROLOG_MARGIN_S = 0.7
"""Seconds kept for the verdict and the exit."""
UNDECIDED = "healthy: not decided"
MOST_DRAINED = 0.2
"""Most nodes drained at once, as a fraction: more bad ones suggest a fault of the check or of a shared part."""
DRAIN_S = 60
"""Seconds after which a command that drains a node counts as failed."""
WHERE = chosen(Experiment, "hosts", "hostfile", "launcher", "remote_shell", "storage", "interface")


@takes(options=declared(HealthSettings), given=WHERE)
def command(
    reference: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Reference: an earlier check of known-good nodes, or a TOML file."),
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Directory of earlier checks; default: runs/ and your repository."),
    ] = None,
    prolog: Annotated[
        bool,
        typer.Option(
            "--prolog", help="Check this host alone in at most 5 s, for a prolog, an epilog or HealthCheckProgram."
        ),
    ] = False,
    write: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORMAT:FILE",
            help="Write verdicts as junit, nhc or openmetrics; repeatable. FILE -: print only the verdicts.",
        ),
    ] = None,
    drain_command: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND", help="Print this command for each bad node; {node} and {reason} are replaced."
        ),
    ] = None,
    drain: Annotated[bool, typer.Option("--drain", help="Execute the printed commands.")] = False,
    output: Output = None,
    json: Json = False,
    *,
    options: Given,
    given: Given,
) -> None:
    """Check every node without MPI, compare nodes with their peers, and list the bad ones with reasons.

    A small program is copied to each host, measures memory, processors, clock and disk there, and is removed. An
    outlier is measured again, together with other nodes, before Scope reports it. The exit code is 1 if a node is
    bad or does not answer.
    """
    if prolog:
        if given.get("launcher.hosts") or json:
            raise UsageError(
                "--prolog: checks only this host and prints one line; must not be combined with --hosts or --json"
            )
        code = time_limit.within(
            PROLOG_S, UNDECIDED, lambda end_s: _prolog(reference, HealthSettings(**options), given, end_s, output)
        )
        raise typer.Exit(code)
    from hpcscope.archive.earlier_checks import kept
    from hpcscope.cli.progress import stage_progress
    from hpcscope.engine import health as engine
    from hpcscope.exchange.health import written

    targets = [_target(text) for text in write or ()]
    printed = [file for _, file in targets].count(None)
    if printed + json > 1:
        raise UsageError("--write: only one format can go to the standard output")
    if drain and drain_command is None:
        raise UsageError("--drain: needs --drain-command, the command that drains a node")
    if drain_command is not None and "{node}" not in drain_command:
        raise UsageError(f"--drain-command {drain_command}: must be a command with {{node}} in it")
    try:
        template = shlex.split(drain_command or "")
    except ValueError as error:
        raise UsageError(f"--drain-command {drain_command}: {error}") from error
    known = [] if reference is None else engine.references(reference)
    before = (history or engine.RUNS, kept(history))
    directory, record = engine.check(HealthSettings(**options), given, output, *before, announce, stage_progress)
    past = engine.earlier(before[0], record, before[1])
    judged = engine.judged(record, past, known, engine.topology_of(directory))
    interrupted = record.status == "interrupted"
    for name, file in targets:
        put(written(name, record, judged), file)
    if not printed:
        show(record, judged, json)
    print(f"\nmeasured{', interrupted' if interrupted else ''}: {directory.path}", file=sys.stderr)
    if interrupted:
        raise typer.Exit(130)
    if template:
        _drain(template, judged, drain)
    if not judged.sound:
        raise typer.Exit(1)


def _prolog(
    reference: Path | None, options: HealthSettings, given: Given, end_s: float, output: Path | None
) -> int:
    """Print the verdict on this host in one line and return the exit code; an undecided host passes."""
    try:
        from hpcscope.engine import health as engine
        from hpcscope.health import verdict

        known = [] if reference is None else engine.references(reference)
        record = engine.of_this_host(options, given, end_s - PROLOG_MARGIN_S, output)
        (node,) = (judged := verdict.judge(record, known)).nodes
        problem = verdict.undecided(record, judged, known)
    except ScopeError as error:
        problem = str(error)
    if problem:
        print(f"{UNDECIDED}: {one_line(problem)}")
        return 0
    print(
        one_line(
            f"{node.verdict}: {node.evidence[0].text if node.evidence else f'{len(record.visits)} measurements'}"
        )
    )
    return 1 if node.verdict == verdict.BAD else 0


def show(record: HealthFile, judged: Health, json: bool) -> None:
    """Print the verdicts on a record."""
    from hpcscope.report.terminal import health as terminal

    if json:
        print_json(terminal.as_json(record, judged))
    else:
        print("\n".join(terminal.lines(record, judged)))


def _target(text: str) -> tuple[str, Path | None]:
    """Return format and file of `FORMAT:FILE`, before anything is measured; None: standard output."""
    from hpcscope.exchange.health import FORMATS

    name, _, file = text.partition(":")
    if name not in FORMATS or not file:
        raise UsageError(f"--write {text}: must be FORMAT:FILE, where FORMAT is one of {', '.join(FORMATS)}")
    if file != "-" and not Path(file).parent.is_dir():
        raise UsageError(f"--write {text}: {Path(file).parent} is not a directory")
    return name, None if file == "-" else Path(file)


def _drain(template: Sequence[str], judged: Health, execute: bool) -> None:
    """Print the commands that drain bad nodes, as a shell reads them; if `execute`, run them."""
    from hpcscope.exchange.health import drain_commands

    commands = drain_commands(template, judged)
    refused = execute and len(commands) > max(1, MOST_DRAINED * len(judged.nodes))
    for words in commands:
        print(shlex.join(words), file=sys.stderr)
        if execute and not refused and (failed := _carried_out(words)):
            print(f"scope health: {words[0]}: {one_line(failed)}", file=sys.stderr)
    if refused:
        print(
            f"scope health: --drain: {len(commands)} of {len(judged.nodes)} nodes are too many to drain; nothing "
            "was executed",
            file=sys.stderr,
        )


def _carried_out(words: Sequence[str]) -> str:
    """Run a command that drains a node and return why it failed; empty if it did not."""
    try:
        done = captured(words, DRAIN_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    said = done.stderr.strip()
    return (said or f"exit code {done.returncode}") if done.returncode else ""


def announce(cost: Cost) -> None:
    """Print on standard error what the check will take, before it begins."""
    from hpcscope.cli.progress import duration

    together = "one after the other" if cost.at_once == 1 and cost.hosts > 1 else "in parallel"
    hosts = f"{cost.hosts} hosts {together}" if cost.hosts > 1 else "this host"
    links = f"Scope measures {units.count(cost.pairs, 'link')} over TCP at full rate, for up to 1 s each.\n"
    print(
        f"Checking {hosts} takes about {duration(cost.duration_s)}, or {cost.node_seconds:.0f} node-seconds;"
        " what stands out is then measured again.\n"
        f"{links if cost.pairs else ''}On each host, Scope stores a program of "
        f"{units.quantity(cost.program_bytes, 'B')}, uses at most {units.size(cost.memory_bytes)} of memory, and "
        f"writes {units.size(cost.file_bytes)} to disk in each measurement.",
        file=sys.stderr,
    )
