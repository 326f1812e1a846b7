"""`scope topology`: how the hosts of a cluster are connected, and how that is drawn."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hpcscope import units
from hpcscope.cli.options import Json
from hpcscope.cli.output import attributes, print_json, written
from hpcscope.cli.settings import Given, takes
from hpcscope.settings.experiment import Experiment
from hpcscope.settings.table import chosen

if TYPE_CHECKING:
    from hpcscope.engine.topology import Discovered, Loaded
    from hpcscope.topology.topology import Topology


WHERE = chosen(
    Experiment,
    *("mpi", "hosts", "hostfile", "ranks_per_host", "binding", "interface", "mpiexec", "remote_shell"),
    "launcher_argument",
)


@takes(given=(*chosen(Experiment, "seed"), *WHERE))
def discover(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Topology file; - for standard output.")
    ] = Path("topology.toml"),
    json: Annotated[bool, typer.Option("--json", help="Print measurements, findings and cost as JSON.")] = False,
    *,
    given: Given,
) -> None:
    """Measure which hosts form groups, and the rates of their uplinks.

    The result is a topology.toml. No switch is queried. Scope infers groups from the rates of isolated transfers
    between pairs of hosts, and from slowdowns of concurrent transfers.
    """
    from hpcscope.cli.progress import stage_progress
    from hpcscope.engine import topology as engine
    from hpcscope.rundirectory import write_text
    from hpcscope.topology import topology

    discovered = engine.discover(given, stage_progress)
    text = topology.write(discovered.discovery.topology)
    if str(output) == "-":
        print(text, end="")
    else:
        write_text(output, text)
    if json:
        print_json(_as_json(discovered))
    elif str(output) != "-":
        _print(discovered)
        written(output)
    if not discovered.discovery.check.passed:
        raise typer.Exit(1)


@takes(given=WHERE)
def load(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A topology.toml.", show_default=False)],
    json: Json = False,
    *,
    given: Given,
) -> None:
    """Load trunks and bisection; check the rates in the file.

    Loads are 10, 50, 80 and 100 % of the predicted rate. The rate at which data arrive is compared with the
    prediction, and small messages are timed during the load.
    """
    from hpcscope.cli.progress import stage_progress
    from hpcscope.engine import topology as engine

    loaded = engine.load(file, given, stage_progress)
    if json:
        print_json(
            {
                "cuts": [asdict(cut) | {"predicted_bytes_per_s": cut.predicted} for cut in loaded.cuts],
                "findings": [finding.model_dump() for finding in loaded.findings],
            }
        )
    else:
        _print_loads(loaded)


def show(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A topology.toml, or a file of Slurm (topology.conf, .yaml), ibnetdiscover or lstopo (XML).",
            show_default=False,
        ),
    ],
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write only an offline HTML page.")] = None,
    json: Json = False,
) -> None:
    """Draw a topology: groups, rates, shared media, exceptions."""
    from hpcscope.rundirectory import write_text
    from hpcscope.topology import topology

    read = topology.read(file, rates=False)
    if html is not None:
        from hpcscope.report.topology import page

        write_text(html, page.render(read, file.name))
        written(html)
    elif json:
        print(read.model_dump_json(indent=1))
    else:
        _draw(read)


def _print_loads(loaded: Loaded) -> None:
    from hpcscope.findings.load.trunk_below_topology import DELIVERS
    from hpcscope.report.terminal.console import console

    screen = console()
    for loaded_cut in loaded.cuts:
        predicted = units.quantity(loaded_cut.predicted, "B/s")
        streams = units.count(len(loaded_cut.cut.transfers), "stream")
        screen.print(f"\n{loaded_cut.cut.name}, {loaded_cut.cut.direction}: {streams}, {predicted} predicted")
        for level in loaded_cut.levels:
            arrived, half = _interval(level.delivered_bytes_per_s, "B/s"), _interval(level.half_round_trips_s, "s")
            screen.print(f"  {units.share(level.share):>5}  {arrived:<28}  one-way latency {half}", markup=False)
    for finding in loaded.findings:
        screen.print(f"\n{finding.severity}: {finding.title}", markup=False)
        screen.print(f"  {finding.advice}", markup=False)
    if starved := [
        f"{loaded_cut.cut.name} ({loaded_cut.cut.direction})" for loaded_cut in loaded.cuts if loaded_cut.starved
    ]:
        names = ", ".join(starved)
        screen.print(f"\nScope does not judge {names}: full load needs more processors.", markup=False)
    elif not loaded.findings:
        screen.print(
            f"\nNo trunk delivers less than {units.share(DELIVERS)} of the predicted rate, at 95 % confidence.",
            markup=False,
        )


def _interval(values: list[float], unit: str) -> str:
    import numpy as np

    from hpcscope.statistics.order_statistics import median_interval

    found = median_interval(np.array(values))
    low, high = (found.low, found.high) if found else (None, None)
    return units.interval(float(np.median(values)), low, high, unit)


def _print(discovered: Discovered) -> None:
    from hpcscope.report.terminal.console import console
    from hpcscope.topology import drawing

    _draw(discovered.discovery.topology)
    screen = console()
    screen.print(f"\n{drawing.cost(discovered.discovery)}", markup=False)
    for finding in discovered.findings:
        screen.print(f"\n{finding.severity}: {finding.title}", markup=False)
        screen.print(f"  {finding.advice}", markup=False)


def _draw(topology: Topology) -> None:
    from hpcscope.report.terminal.console import console, draws
    from hpcscope.topology import drawing

    console().print(drawing.text(topology, ascii_only=not draws(sys.stdout)), markup=False)


def _as_json(discovered: Discovered) -> dict[str, Any]:
    discovery = discovered.discovery
    return {
        "topology": discovery.topology.model_dump(),
        **attributes(discovery, "transfers", "ping_pongs", "scatter"),
        "check": {
            "passed": discovery.check.passed,
            "median_error": discovery.check.error,
            "transfers": len(discovery.check.transfers),
        },
        "notes": discovery.notes,
        "findings": [finding.model_dump() for finding in discovered.findings],
    }


COMMANDS: dict[str, Callable[..., None]] = {"discover": discover, "load": load, "show": show}
