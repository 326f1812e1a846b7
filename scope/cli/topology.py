"""`scope topology`: find how the hosts of a cluster are joined, and draw it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from scope.findings.finding import Finding
    from scope.lab.active import ActiveLab
    from scope.launch.everywhere import Cluster
    from scope.topology.discovery import Discovery
    from scope.topology.topology import Topology

COMMA = "separated by commas"


def discover(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The topology's file; - for standard output.")
    ] = Path("topology.toml"),
    json: Annotated[bool, typer.Option("--json", help="An object with figures, findings and cost.")] = False,
    seed: Annotated[int, typer.Option(help="Of the random choice of hosts.")] = 1,
    mpi: Annotated[str | None, typer.Option(help="openmpi, mpich, embedded, a folder or an mpicxx.")] = None,
    hosts: Annotated[str | None, typer.Option(help=f"a:2,b:2 - hosts and their slots, {COMMA}.")] = None,
    hostfile: Annotated[str | None, typer.Option(help="A file with a host per line.")] = None,
    ranks_per_host: Annotated[int | None, typer.Option(help="Spread ranks: so many on each host.")] = None,
    binding: Annotated[str | None, typer.Option(help="core, socket or none.")] = None,
    interface: Annotated[str | None, typer.Option(help="The network interface for messages.")] = None,
    mpiexec: Annotated[str | None, typer.Option(help="The launcher, if not beside the compiler.")] = None,
    agent: Annotated[str | None, typer.Option(help="A program that stands in for ssh.")] = None,
    launcher_argument: Annotated[list[str] | None, typer.Option(help="A further argument of mpiexec.")] = None,
) -> None:
    """Find groups, trunks and their speeds by measuring between the hosts, and write topology.toml.

    No switch is asked and nothing is assumed: which hosts stand together shows in how fast pairs of them are
    alone, and in which transfers slow each other.
    """
    import json as writer

    from scope.rundirectory import write_text
    from scope.topology import topology

    options: dict[str, Any] = {
        "mpi": mpi,
        "launcher.hosts": hosts.split(",") if hosts else None,
        "launcher.hostfile": hostfile,
        "launcher.ranks_per_host": ranks_per_host,
        "launcher.binding": binding,
        "launcher.interface": interface,
        "launcher.mpiexec": mpiexec,
        "launcher.agent": agent,
        "launcher.arguments": launcher_argument or None,
    }
    found, findings = _found(options, seed)
    text = topology.write(found.topology)
    if str(output) == "-":
        print(text, end="")
    else:
        write_text(output, text)
    if json:
        print(writer.dumps(_as_json(found, findings), indent=1))
    elif str(output) != "-":
        _tell(found, findings)
        typer.echo(f"written: {output}", err=True)
    if not found.check.passed:
        raise typer.Exit(1)


def show(
    file: Annotated[Path, typer.Argument(help="topology.toml", show_default=False)],
    html: Annotated[Path | None, typer.Option(help="Write one offline page instead.")] = None,
    json: Annotated[bool, typer.Option("--json", help="The file as an object.")] = False,
) -> None:
    """Draw a topology: groups, rates, what is shared, exceptions."""
    from scope.rundirectory import write_text
    from scope.topology import topology

    read = topology.read(file)
    if html is not None:
        from scope.report.topology import page as topology_page

        write_text(html, topology_page.render(read, file.name))
        typer.echo(f"written: {html}", err=True)
    elif json:
        print(read.model_dump_json(indent=1))
    else:
        _draw(read)


def _found(options: dict[str, Any], seed: int) -> tuple[Discovery, list[Finding]]:
    from scope.build import installations
    from scope.cli.run import built, ending_on_request
    from scope.errors import UsageError
    from scope.findings import topology as kinds
    from scope.findings.topology.facts import Facts
    from scope.lab.active import active
    from scope.launch import everywhere, launcher
    from scope.plan.experiment import resolve
    from scope.topology.discovery import discover as find
    from scope.topology.probe import started

    lab = active()
    asked = resolve(None, options)
    mpi = installations.find(asked.mpi)
    site = launcher.site(mpi, asked.launcher, "the command line")
    if len(site.hosts) < 2:
        only = site.hosts[0].name if site.hosts else "this one"
        raise UsageError(
            f"only one host ({only}): a topology needs at least two; --hosts a,b or --hostfile names them"
        )
    build = built(mpi)
    cluster = everywhere.look_at(site)
    crowded = lab is not None or max(cluster.place.slots) < 2
    with ending_on_request(), started(cluster, build.program, crowded) as probe, _telling() as say:
        say("inside a host")
        inside = probe.inside_host()
        found = find(probe, "measured" if lab is None else "emulated", inside, seed, say)
        hosts = [host for _, host in sorted((rank, host) for host, ranks in probe.ranks.items() for rank in ranks)]
    declared, by = _declared(cluster, lab, site.interface)
    return found, kinds.find_all(Facts(found, hosts, declared, by))


def _declared(cluster: Cluster, lab: ActiveLab | None, interface: str | None) -> tuple[dict[str, float], str]:
    """Return what the ports should do, in bytes per second, and who says so."""
    if lab is not None:
        description = lab.description
        rates = {
            host.name: description.group_of(host.group).port_mbit_per_s * 1e6 / 8 for host in description.hosts()
        }
        shared = {group.name: description.shared_mbit_per_s(group.plugged_into) for group in description.group}
        for host in description.hosts():
            medium = shared[host.group]
            if medium is not None:
                rates[host.name] = min(rates[host.name], medium * 1e6 / 8)
        return rates, "the rate in the lab file"
    # Without a name it is not known which interface the messages take; a single one is no question.
    rates = {}
    for facts in cluster.hosts:
        wired = [
            link.rate_bits_per_s / 8
            for link in facts.links
            if link.up and link.rate_bits_per_s and (interface is None or link.name == interface)
        ]
        if len(wired) == 1:
            rates[facts.name] = wired[0]
    return rates, "the link speed that the kernel reports"


def _tell(found: Discovery, findings: list[Finding]) -> None:
    from scope.report.terminal.console import console
    from scope.topology import drawing

    _draw(found.topology)
    out = console()
    out.print(f"\n{drawing.cost(found)}", markup=False)
    for finding in findings:
        out.print(f"\n{finding.severity}: {finding.title}", markup=False)
        out.print(f"  {finding.advice}", markup=False)


def _draw(topology: Topology) -> None:
    import sys

    from scope.report.terminal.console import console, draws
    from scope.topology import drawing

    console().print(drawing.text(topology, ascii_only=not draws(sys.stdout)), markup=False)


def _as_json(found: Discovery, findings: list[Finding]) -> dict[str, Any]:
    return {
        "topology": found.topology.model_dump(),
        "transfers": found.transfers,
        "echoes": found.echoes,
        "scatter": found.scatter,
        "check": {
            "passed": found.check.passed,
            "median_error": found.check.error,
            "transfers": len(found.check.transfers),
        },
        "notes": found.notes,
        "findings": [finding.model_dump() for finding in findings],
    }


@contextmanager
def _telling() -> Iterator[Callable[[str], None]]:
    """Yield what tells a person at a terminal what is being done."""
    import sys

    from rich.console import Console

    if not sys.stderr.isatty():
        yield lambda _text: None
        return
    with Console(stderr=True).status("measuring") as status:
        yield lambda text: status.update(f"measuring: {text}")


COMMANDS: dict[str, Callable[..., None]] = {"discover": discover, "show": show}
