"""Labs, emulated clusters on this machine: listed, brought up and checked, entered, disturbed."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from hpcscope.errors import UsageError
from hpcscope.lab import description, emulation, faults, fidelity
from hpcscope.lab.entry import Emulation, signal_command
from hpcscope.lab.wiring import IMPAIRMENTS
from hpcscope.launch import active_messages, processes
from hpcscope.own_python import own_python
from hpcscope.programs.profiles.program import recognize
from hpcscope.rundirectory import write_text
from hpcscope.settings.fault import Disturbance
from hpcscope.settings.table import declared as declared_settings
from hpcscope.settings.transports import OF_COMMANDS
from hpcscope.signals import handled, leave_alone
from hpcscope.topology import topology
from hpcscope.topology.declared import declared

LinkProgress = Callable[[str], None]
"""Receives the name of each link before its measurement, and the empty string after the last."""


class LabRow(NamedTuple):
    """A lab in the list."""

    name: str
    title: str
    """Title of the lab or, if its state is damaged, what is wrong and how to end the lab."""
    hosts: int
    up: bool


def all_labs() -> list[LabRow]:
    """Return the labs that come with Scope, and others that are up."""
    running = emulation.all_up()
    rows = []
    for name, lab in map(description.read, description.presets()):
        rows.append(LabRow(name, lab.title, len(lab.hosts()), name in running))
    for name, error in running.items():
        if isinstance(error, UsageError):
            rows = [row for row in rows if row.name != name] + [LabRow(name, str(error), 0, True)]
        elif name not in description.presets():
            rows.append(LabRow(name, error.state.description.title, len(error.state.hosts), True))
    return rows


def up(name: str, check: bool, progress: LinkProgress) -> Emulation:
    """Bring a lab up, to stay until it is taken down, and if `check`, measure every kind of link."""
    known, lab = description.read(name)
    emulated = emulation.up(known, lab)
    try:
        _write_topology(emulated)
        return _checked(emulated, progress) if check else emulated
    except BaseException:
        emulation.down(known)
        raise


def down(name: str | None) -> None:
    """End a lab, or all labs of this user, with every process inside."""
    for lab in emulation.all_up() if name is None else [description.name_of(name)]:
        emulation.down(lab)


def find(name: str) -> Emulation:
    """Return the lab of this name that is up; UsageError if there is none."""
    found = emulation.find(description.name_of(name))
    if found is None:
        known = sorted({*description.presets(), *emulation.all_up()})
        if name not in known and not Path(name).is_file():
            raise UsageError(f"lab {name}: unknown lab: must be one of {', '.join(known)}, or a .toml file")
        raise UsageError(f"lab {name} is not up; start it with `scope lab up {name}`")
    return found


def check(name: str, progress: LinkProgress) -> Emulation:
    """Measure links of every kind of a lab that is up."""
    return _checked(find(name), progress)


@contextmanager
def present(name: str, progress: LinkProgress) -> Iterator[Emulation]:
    """Yield the lab of this name if it is up, else start, check and yield one for the time of the context."""
    if (found := emulation.find(description.name_of(name))) is not None:
        yield found
        return
    known, lab = description.read(name)
    with emulation.temporary(known, lab) as emulated:
        _write_topology(emulated)
        yield _checked(emulated, progress)


def run_scope(name: str, words: Sequence[str], progress: LinkProgress, told: Callable[[Emulation], None]) -> int:
    """Run a command of Scope on the first host with ranks of a lab and return its exit code.

    `told` gets the lab before the command starts, for example to warn if it is not faithful.
    """
    with present(name, progress) as emulated:
        told(emulated)
        first = next(host.name for host in emulated.state.hosts if host.slots)
        return run_on_host(emulated, first, own_python("-m", "hpcscope", *words))


def over_transport(
    emulated: Emulation, host: str, words: Sequence[str], transport: str
) -> tuple[Emulation, str, Sequence[str], dict[str, str]]:
    """Return the arguments of `run_on_host` with which a command sends its MPI messages over a transport.

    Raises UsageError if the command is not a launcher of an MPI that can do this.
    """
    if transport not in OF_COMMANDS:
        raise UsageError(f"--transport {transport}: must be one of {', '.join(OF_COMMANDS)}")
    if transport == "default":
        return emulated, host, words, {}
    program = recognize(words, None, emulated.environment, Path.cwd())
    messages = active_messages.around(program.mpi, transport, emulated.state)
    told, further = program.monitored({}, messages)
    return emulated, host, told, {**messages, **further}


def run_on_host(
    emulated: Emulation, host: str, words: Sequence[str], variables: Mapping[str, str] | None = None
) -> int:
    """Run a command on a host with this terminal, pass requests to stop on to it, and return its exit code.

    `variables` are set for it in addition to those of the lab.
    """
    terminal = os.isatty(0)
    started: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def pass_on(number: int, _frame: object) -> None:
        if started:
            signal_command(started[0], number)
        else:
            early.append(number)

    # Handlers are set before the command starts: a signal in between would orphan the command.
    # A terminal sends Ctrl-C to the command, too.
    on_interrupt = leave_alone if terminal else pass_on
    with handled({signal.SIGTERM: pass_on, signal.SIGHUP: pass_on, signal.SIGINT: on_interrupt}):
        started.append(
            subprocess.Popen(
                emulated.command(words, host),
                env={**emulated.environment, **(variables or {})},
                start_new_session=not terminal,
            )
        )
        for number in early:
            signal_command(started[0], number)
        processes.has_ended(started[0])
    code = started[0].wait()
    return code if code >= 0 else 128 - code


def _link_fault(asked: Disturbance) -> tuple[str, float]:
    """Return the kind of a link fault, and its amount."""
    amounts = {
        "slow": asked.rate_mbit_per_s,
        "queue": asked.queue_bytes,
        "half-duplex": asked.half_duplex,
        "dead": asked.dead,
        **{kind: getattr(asked, field) for kind, field in IMPAIRMENTS.items()},
    }
    return next((kind, float(amount)) for kind, amount in amounts.items() if amount)


def _refuse(asked: Disturbance) -> None:
    """Raise UsageError unless exactly one disturbance of a host or of a trunk is requested."""
    options = {setting.key: f"--{setting.option}" for setting in declared_settings(Disturbance)}
    where = {"host", "trunk", "direction"}
    given = {key for key in options if getattr(asked, key) not in (None, False)} - where
    if len(given) != 1:
        several = ", ".join(option for key, option in options.items() if key not in where)
        raise UsageError(f"fault: must have exactly one of {several}")
    if not asked.clear and (asked.host is None) == (asked.trunk is None):
        raise UsageError("fault: must have either --host or --trunk")
    if asked.trunk is not None and given & {"slow", "stop", "server_dead", "disk_full", "disk_mb_per_s"}:
        raise UsageError("--slow, --stop, --server-dead, --disk-full, --disk-rate: must go with --host")


def disturb(name: str, asked: Disturbance) -> Emulation:
    """Disturb a lab that is up, or remove all disturbances from it."""
    emulated = find(name)
    _refuse(asked)
    if asked.clear:
        return faults.clear(emulated)
    host = asked.host or ""
    if asked.server_dead:
        return faults.dead_server(emulated, host)
    if asked.disk_full:
        return faults.full_disk(emulated, host)
    if asked.disk_mb_per_s is not None:
        return faults.slow_disk(emulated, host, asked.disk_mb_per_s)
    if asked.slow is not None or asked.stop:
        return faults.slow_host(emulated, host, 1.0 if asked.slow is None else asked.slow)
    return faults.faulty_link(emulated, asked.trunk or host, *_link_fault(asked), asked.direction)


def _checked(emulated: Emulation, progress: LinkProgress) -> Emulation:
    try:
        return fidelity.check_all(emulated, progress)
    finally:
        progress("")


def _write_topology(emulated: Emulation) -> None:
    """Write the lab's declaration where programs inside find it."""
    write_text(emulated.folder / "topology.toml", topology.write(declared(emulated.state.description)))
