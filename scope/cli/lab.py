"""`scope lab`: clusters of network namespaces on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from scope.lab.emulation import Emulation

Name = Annotated[str, typer.Argument(metavar="LAB", help="A preset's name, or a .toml file.")]
Json = Annotated[bool, typer.Option("--json", help="For programs.")]


def list_labs(json: Json = False) -> None:
    """List the labs that come with Scope, and which are up."""
    from scope.lab import description, emulation

    running = {lab.state.name for lab in emulation.all_up()}
    rows = [
        {"name": name, "title": lab.title, "hosts": len(lab.hosts()), "up": name in running}
        for name, lab in map(description.read, description.presets())
    ]
    rows += [
        {"name": lab.state.name, "title": lab.state.description.title, "hosts": len(lab.state.hosts), "up": True}
        for lab in emulation.all_up()
        if lab.state.name not in description.presets()
    ]
    if json:
        _print_json(rows)
        return
    width = max(len(str(row["name"])) for row in rows)
    for row in rows:
        state = "up  " if row["up"] else "    "
        print(f"{row['name']:<{width}}  {state}  {row['hosts']:>3} hosts  {row['title']}")


def up(
    name: Name,
    check: Annotated[bool, typer.Option(help="Measure every kind of link.")] = True,
) -> None:
    """Bring a lab up; it stays until `scope lab down`. Every kind of link is measured at once."""
    from scope.lab import description, emulation

    known, lab = description.read(name)
    emulated = emulation.up(known, lab)
    try:
        _write_topology(emulated)
        emulated = _checked(emulated) if check else emulated
    except BaseException:
        emulation.down(known)
        raise
    _tell(emulated)
    if not all(_faithful(emulated)):
        raise typer.Exit(1)


def down(
    name: Annotated[str | None, typer.Argument(metavar="LAB")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every lab of this user.")] = False,
) -> None:
    """End a lab and every process inside it."""
    from scope.errors import UsageError
    from scope.lab import description, emulation

    if (name is None) == (not everything):
        raise UsageError("scope lab down: must have either a lab's name or --all")
    names = [lab.state.name for lab in emulation.all_up()] if name is None else [description.name_of(name)]
    for each in names:
        emulation.down(each)


def status(name: Name, json: Json = False) -> None:
    """Say what a lab consists of, what was measured of it, and what is wrong with it."""
    emulated = _up(name)
    if json:
        _print_json(emulated.state.model_dump() | {"facts": emulated.state.facts().model_dump()})
        return
    _tell(emulated)


def check(name: Name) -> None:
    """Measure every kind of link of a lab that is up."""
    emulated = _checked(_up(name))
    _tell(emulated)
    if not all(_faithful(emulated)):
        raise typer.Exit(1)


def exec_command(
    name: Name,
    host: Annotated[str, typer.Argument(help="For example hpc1.")],
    words: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="Run there, in this folder.")],
) -> None:
    """Run a command as on a host of a lab."""
    raise typer.Exit(_in_foreground(_up(name), host, words))


def within(
    name: Name,
    words: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="A command of scope.")],
) -> None:
    """Run a command of scope on a lab's first host: `scope lab within grid -- run` is `scope run --lab grid`.

    A lab that is not up is brought up for it, and taken down after it.
    """
    import sys

    with _present(name) as emulated:
        command = [sys.executable, "-m", "scope", *words]
        code = _in_foreground(emulated, emulated.state.hosts[0].name, command)
    raise typer.Exit(code)


def fault(
    name: Name,
    host: Annotated[str | None, typer.Option(help="For example hpc3.")] = None,
    trunk: Annotated[str | None, typer.Option(help="For example giza-router.")] = None,
    rate: Annotated[float | None, typer.Option(help="Mbit/s of the port or trunk instead of its own.")] = None,
    direction: Annotated[str, typer.Option(help="both, in or out: of a host's port.")] = "both",
    loss: Annotated[float | None, typer.Option(help="Share of frames that are lost.")] = None,
    dead: Annotated[bool, typer.Option("--dead", help="Nothing passes.")] = False,
    slow: Annotated[
        float | None, typer.Option(help="Share of time that the host's processes stand still.")
    ] = None,
    stop: Annotated[bool, typer.Option("--stop", help="The host's processes stand still.")] = False,
    clear: Annotated[bool, typer.Option("--clear", help="Mend everything.")] = False,
) -> None:
    """Let something go wrong in a lab that is up, or mend it."""
    from scope.errors import UsageError
    from scope.lab import faults

    emulated = _up(name)
    asked = [rate is not None, loss is not None, dead, slow is not None, stop, clear]
    if sum(asked) != 1:
        raise UsageError("scope lab fault: must have one of --rate, --loss, --dead, --slow, --stop, --clear")
    for option, share in (("--loss", loss), ("--slow", slow)):
        if share is not None and not 0 < share < 1:
            raise UsageError(f"{option} {share:g}: must be more than 0 and less than 1")
    if rate is not None and not 0.1 <= rate <= 10_000:
        raise UsageError(f"--rate {rate:g}: must be from 0.1 to 10000 Mbit/s")
    if direction not in ("both", "in", "out"):
        raise UsageError(f"--direction {direction}: must be both, in or out")
    if clear:
        emulated = faults.clear(emulated)
    elif (host is None) == (trunk is None):
        raise UsageError("scope lab fault: must have either --host or --trunk")
    elif host is not None:
        emulated = _harm_host(emulated, host, rate, direction, loss, dead, 1.0 if stop else slow)
    elif trunk is not None:
        if slow is not None or stop:
            raise UsageError("--slow, --stop: must go with --host")
        emulated = (
            faults.slow_trunk(emulated, trunk, rate)
            if rate is not None
            else faults.lossy_trunk(emulated, trunk, loss)
            if loss is not None
            else faults.dead_trunk(emulated, trunk)
        )
    harm = "; ".join(emulated.state.facts().faults)
    print(f"lab {emulated.state.name}: {harm or 'nothing is made to go wrong'}")


COMMANDS = {
    "list": list_labs,
    "up": up,
    "down": down,
    "status": status,
    "check": check,
    "exec": exec_command,
    "within": within,
    "fault": fault,
}


def _harm_host(
    emulated: Emulation,
    host: str,
    rate: float | None,
    direction: Any,
    loss: float | None,
    dead: bool,
    still: float | None,
) -> Emulation:
    from scope.lab import faults

    if rate is not None:
        return faults.slow_port(emulated, host, rate, direction)
    if loss is not None:
        return faults.lossy_port(emulated, host, loss)
    if dead:
        return faults.dead_port(emulated, host)
    assert still is not None
    return faults.slow_host(emulated, host, still)


def _up(name: str) -> Emulation:
    from scope.errors import UsageError
    from scope.lab import description, emulation

    found = emulation.find(description.name_of(name))
    if found is None:
        raise UsageError(f"lab {name}: is not up; scope lab up {name} brings it up")
    return found


@contextmanager
def _present(name: str) -> Iterator[Emulation]:
    """Yield the lab that is up under this name, else one for this context only, checked."""
    from scope.lab import description, emulation

    if (found := emulation.find(description.name_of(name))) is not None:
        yield found
        return
    known, lab = description.read(name)
    with emulation.temporary(known, lab) as emulated:
        _write_topology(emulated)
        yield _checked(emulated)


def _write_topology(emulated: Emulation) -> None:
    """Put what the lab declares where programs inside find it."""
    from scope.rundirectory import write_text
    from scope.topology import topology
    from scope.topology.declared import declared

    write_text(emulated.folder / "topology.toml", topology.write(declared(emulated.state.description)))


def _checked(emulated: Emulation) -> Emulation:
    import sys

    from scope.lab import proof

    terminal = sys.stderr.isatty()

    def heard(link: str) -> None:
        if terminal:
            print(f"\r\033[Kmeasuring the {link}", end="", file=sys.stderr, flush=True)

    emulated = proof.check_all(emulated, heard)
    if terminal:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    for link in emulated.state.checks:
        if not proof.faithful(link):
            why = "; the processors were busy" if proof.lacks_processors(link) else ""
            rate = f"{link.deviation:+.1%} of its declared rate"
            print(f"warning: lab {emulated.state.name} is not faithful: {link.link}: {rate}{why}", file=sys.stderr)
    return emulated


def _faithful(emulated: Emulation) -> list[bool]:
    from scope.lab import proof

    return [proof.faithful(link) for link in emulated.state.checks]


def _tell(emulated: Emulation) -> None:
    from scope import units

    state = emulated.state
    facts = state.facts()
    ranks = sum(host.slots for host in state.hosts)
    print(f"lab {state.name}: {len(state.hosts)} hosts, {ranks} ranks; {state.description.title}")
    print(f"hosts     {', '.join(_ranges(state.description))}")
    for link in facts.links:
        rate = units.quantity(link.measured_bytes_per_s, "B/s")
        print(f"measured  {link.link}: {rate}, {link.deviation:+.1%} of its declared rate")
    for relayed in facts.relayed:
        late = f"{relayed.late_median_us:.3g} us late (median), {relayed.late_p99_us:.3g} us (99 %)"
        carried = f"{relayed.frames} frames, delivered {late}" if relayed.frames else "nothing carried yet"
        print(f"relayed   {relayed.link}: {carried}")
    for each in facts.faults:
        print(f"fault     {each}")


def _ranges(lab: Any) -> list[str]:
    return [f"{group.name}1" + (f"..{group.name}{group.hosts}" if group.hosts > 1 else "") for group in lab.group]


def _in_foreground(emulated: Emulation, host: str, words: list[str]) -> int:
    """Run a command inside with this terminal; requests to end reach it."""
    import signal
    import subprocess

    from scope.lab.emulation import signal_command

    command = subprocess.Popen(emulated.command(words, host), env=emulated.environment)

    def pass_on(number: int, _frame: object) -> None:
        signal_command(command, number)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGHUP)}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        code = command.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code


def _print_json(value: object) -> None:
    import json

    print(json.dumps(value, indent=1, ensure_ascii=False))
