"""`scope lab`: emulated clusters on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from hpcscope import units
from hpcscope.cli.options import Json
from hpcscope.cli.output import print_json
from hpcscope.cli.settings import Given, takes
from hpcscope.errors import UsageError
from hpcscope.settings.experiment import Experiment
from hpcscope.settings.fault import Disturbance
from hpcscope.settings.table import chosen, declared

if TYPE_CHECKING:
    from hpcscope.lab.entry import Emulation

Name = Annotated[str, typer.Argument(metavar="LAB", help="Name of a preset, or a .toml file.")]


def list_labs(json: Json = False) -> None:
    """List the labs that come with Scope, and those that are up."""
    from hpcscope.engine import lab

    rows = lab.all_labs()
    if json:
        print_json([row._asdict() for row in rows])
        return
    width = max(len(row.name) for row in rows)
    for row in rows:
        print(f"{row.name:<{width}}  {'up' if row.up else '':<4}  {row.hosts:>3} hosts  {row.title}")


def up(name: Name, check: Annotated[bool, typer.Option(help="Measure links of every kind.")] = True) -> None:
    """Start a lab, and measure its links as `scope lab check` does.

    The lab stays up until `scope lab down`.
    """
    from hpcscope.cli.progress import link_progress
    from hpcscope.engine import lab

    _report(lab.up(name, check, link_progress))


def down(
    name: Annotated[str | None, typer.Argument(metavar="LAB", help="Name of a lab that is up.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="End all labs of this user.")] = False,
) -> None:
    """End a lab and every process inside."""
    from hpcscope.engine import lab

    if (name is None) == (not everything):
        raise UsageError("down: must have either the name of a lab or --all")
    lab.down(name)


def status(name: Name, json: Json = False) -> None:
    """Show the hosts, the measured links and the faults of a lab."""
    from hpcscope.engine import lab

    emulated = lab.find(name)
    if json:
        print_json(emulated.state.model_dump() | {"facts": emulated.state.facts().model_dump()})
    else:
        _print(emulated)


def check(name: Name) -> None:
    """Measure a port of each group, every bus and every trunk."""
    from hpcscope.cli.progress import link_progress
    from hpcscope.engine import lab

    _report(lab.check(name, link_progress))


def storage(name: Name, json: Json = False) -> None:
    """Show the file system of a lab: servers, disks, free space.

    The lab must be up. Free space is shown as each host sees it.
    """
    from hpcscope.engine import lab
    from hpcscope.lab.storage import spaces

    emulated = lab.find(name)
    rows = spaces(emulated)
    if json:
        print_json([row._asdict() for row in rows])
        return
    print(f"lab {emulated.state.name}: {emulated.state.facts().storage}")
    print(f"directory  {emulated.storage or ''} ($SCOPE_STORAGE)")
    for row in rows:
        space = f"{units.quantity(row.available_bytes, 'B')} of {units.quantity(row.total_bytes, 'B')} free"
        dead = "; its server is dead" if row.server is False else ""
        print(f"{row.what:<6}  {row.host}: {space if row.total_bytes else 'does not answer'}{dead}")


@takes(given=chosen(Experiment, "transport"))
def exec_command(
    name: Name,
    host: Annotated[str, typer.Argument(metavar="HOST", help="A host, for example hpc1.")],
    words: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="Command to run in this directory.")],
    *,
    given: Given,
) -> None:
    """Run a command on a host of a lab."""
    from hpcscope.engine import lab

    raise typer.Exit(
        lab.run_on_host(
            *lab.over_transport(lab.find(name), host, words, ",".join(given.get("transport", ["default"])))
        )
    )


@takes(given=declared(Disturbance))
def fault(name: Name, *, given: Given) -> None:
    """Inject a fault into a lab that is up, or remove all faults."""
    from hpcscope.engine import lab

    emulated = lab.disturb(name, Disturbance(**given))
    faults = "; ".join(emulated.state.facts().faults)
    print(f"lab {emulated.state.name}: {faults or 'no faults'}")


COMMANDS = {
    "list": list_labs,
    "up": up,
    "down": down,
    "status": status,
    "check": check,
    "storage": storage,
    "exec": exec_command,
    "fault": fault,
}


def run_in_lab(name: str, words: list[str]) -> NoReturn:
    """Run a command of Scope on the first host of a lab, and end with its exit code."""
    from hpcscope.cli.progress import link_progress
    from hpcscope.engine import lab

    raise typer.Exit(lab.run_scope(name, words, link_progress, _warn))


def _report(emulated: Emulation) -> None:
    """Print a lab; exit with 1 if a link is not faithful."""
    from hpcscope.lab.fidelity import faithful

    _warn(emulated)
    _print(emulated)
    if not all(map(faithful, emulated.state.checks)):
        raise typer.Exit(1)


def _warn(emulated: Emulation) -> None:
    """Warn about links that do not have their declared rates."""
    from hpcscope.lab import fidelity

    for link in emulated.state.checks:
        if not fidelity.faithful(link):
            reason = "; the processors were busy" if fidelity.lacks_processors(link) else ""
            what, deviation = link.worst
            rate = f"{link.link}: the rate of {what} differs by {units.change(deviation)} from the declared rate"
            typer.echo(f"warning: lab {emulated.state.name} is not faithful: {rate}{reason}", err=True)


def _print(emulated: Emulation) -> None:
    state = emulated.state
    facts = state.facts()
    ranks = sum(host.slots for host in state.hosts)
    what = [f"{len(state.hosts)} hosts, {ranks} ranks", state.description.title]
    print(f"lab {state.name}: {'; '.join(filter(None, what))}")
    ranges = [
        f"{group.name}1" + (f"..{group.name}{group.hosts}" if group.hosts > 1 else "")
        for group in state.description.group
    ]
    print(f"hosts     {', '.join(ranges)}")
    for link in facts.links:
        rate = units.quantity(link.measured_bytes_per_s, "B/s")
        print(f"measured  {link.link}: {rate}, {units.change(link.deviation)} from the declared rate")
        if link.messages:
            times = [f"{one.bytes:,} B {units.quantity(one.measured_s, 's')}" for one in link.messages]
            overhead = units.quantity(link.overhead_s, "s")
            print(f"one way   {link.link}: {', '.join(times)}; software takes {overhead} of each time")
    for relayed in facts.relayed:
        median, worst = (units.quantity(us * 1e-6, "s") for us in (relayed.late_median_us, relayed.late_p99_us))
        late = f"{relayed.frames} frames, {median} late (median) and {worst} late (99th percentile)"
        print(f"relayed   {relayed.link}: {late if relayed.frames else 'no frames yet'}")
    if facts.storage:
        print(f"storage   {facts.storage}")
    for fault in facts.faults:
        print(f"fault     {fault}")
